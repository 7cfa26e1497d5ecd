import errno
import json
import os

import pytest

from lipgnn import files
from lipgnn.errors import DataError, RunFailed
from lipgnn.results.claims import Held
from lipgnn.results.run import Run, epochs_to_90, parse_log_line
from lipgnn.spec.run import RunSpec

ID = "ab0000000000"
DEEP = "[" * 100_000


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "runs" / ID)


@pytest.fixture
def begun(run):
    run.begin(RunSpec(), "f")
    return run


def test_a_run_says_what_it_computes(run):
    spec = RunSpec(layers=4, norm="lip+pair")
    run.begin(spec, "f")
    written = json.loads(run.spec_path.read_text())
    assert (RunSpec.from_mapping(written["spec"]), written["fingerprint"]) == (spec, "f")


def test_the_first_result_stays(begun, result_row):
    begun.finish(result_row(test_score=0.5))
    begun.finish(result_row(test_score=0.9))
    assert begun.result() == result_row(test_score=0.5)


def test_a_failed_attempt_leaves_a_note_that_success_removes(begun):
    begun.fail("out of memory", 3)
    assert json.loads(begun.failure_path.read_text())["reason"] == "out of memory"
    assert begun.result() is None
    begun.finish({})
    assert not begun.failure_path.exists()


def test_no_failure_is_noted_of_a_run_that_has_its_result(begun, result_row, monkeypatch):
    """The disk fails after the result got its name and before that is certain: the run is done, and did not fail."""
    begun.fail("an earlier attempt", 3)

    def fail(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_sync_directory", fail)
    with pytest.raises(RunFailed, match="No space left"):
        begun.finish(result_row())
    monkeypatch.undo()
    noted = begun.failure_path.read_bytes()
    begun.fail("No space left", 4)
    assert begun.result() == result_row()
    assert begun.failure_path.read_bytes() == noted
    begun.forget_failure()
    assert not begun.failure_path.exists()


def test_a_torn_last_line_is_dropped_at_every_byte(begun):
    for epoch in (1, 2, 3):
        begun.append_log({"epoch": epoch, "loss": 0.25})
    whole = begun.log_path.read_bytes()
    start_of_last = whole.rstrip(b"\n").rindex(b"\n") + 1
    for cut in range(start_of_last, len(whole)):
        begun.log_path.write_bytes(whole[:cut])
        assert [line["epoch"] for line in begun.read_log()] == [1, 2]
    begun.rewind_log(2)
    begun.append_log({"epoch": 3, "loss": 0.25})
    assert begun.log_path.read_bytes() == whole


@pytest.mark.parametrize(
    "line",
    [
        *('{"epo', "[]", "7", "null", "{}", '{"epoch": "1"}', '{"epoch": true}', '{"epoch": 1, "lr": []}', DEEP),
        *('{"epoch": 1, "lr": NaN}', '{"epoch": 1.5}', "1" * 5000),
    ],
)
def test_damage_inside_the_log_is_an_error_with_its_line(begun, line):
    begun.log_path.write_text(f'{{"epoch": 1}}\n{line}\n{{"epoch": 3}}\n')
    with pytest.raises(DataError, match="Line 2"):
        begun.read_log()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "7", "null", "{}", DEEP, '{"schema": 99}', '{"schema": []}', '{"schema": 1, "a": [1]}']
)
def test_a_damaged_result_is_named(begun, content):
    begun.result_path.write_text(content)
    with pytest.raises(DataError) as caught:
        begun.result()
    assert str(begun.result_path) in caught.value.message


def test_epochs_to_90_is_the_first_with_that_score():
    log = [{"epoch": epoch, "train_score": score} for epoch, score in ((1, 0.5), (2, 0.9), (3, 1.0))]
    assert (epochs_to_90(log), epochs_to_90(log[:1])) == (2, None)


def test_a_run_is_claimed_by_one_at_a_time(run):
    with run.claim(), pytest.raises(Held, match=f"Run {ID} is being computed by process"), run.claim():
        pass
    with run.claim():
        pass


def test_clearing_a_run_keeps_only_the_claim(begun):
    (begun.path / "folder").mkdir()
    begun.finish({})
    with begun.claim():
        begun.clear()
        assert [path.name for path in begun.path.iterdir()] == ["claim"]


WRITES = {
    "begin": lambda run: run.begin(RunSpec(), "f"),
    "append": lambda run: run.append_log({"epoch": 2}),
    "rewind": lambda run: run.rewind_log(0),
    "sync": lambda run: run.sync_log(),
    "fail": lambda run: run.fail("why", 1),
    "finish": lambda run: run.finish({}),
    "clear": lambda run: run.clear(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("gone", [False, True], ids=["taken", "removed"])
def test_whoever_lost_the_claim_writes_and_removes_nothing(begun, write, gone):
    begun.append_log({"epoch": 1})
    with begun.claim():
        claim = begun.path / "claim"
        claim.unlink()
        if not gone:
            claim.write_bytes(b"another's")
        before = {path.name: path.read_bytes() for path in begun.path.iterdir()}
        with pytest.raises(Held, match="nothing more is written"):
            write(begun)
    assert {path.name: path.read_bytes() for path in begun.path.iterdir()} == before


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_the_folder_of_a_run_is_never_a_link(run, tmp_path, write):
    """What a link in its place points to is neither cleared nor written to."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("dear")
    run.path.parent.mkdir()
    run.path.symlink_to(outside)
    if write not in (WRITES["append"], WRITES["rewind"], WRITES["sync"], WRITES["finish"]):
        with pytest.raises(DataError, match="is a link"):
            write(run)
    with pytest.raises(DataError, match="is a link"), run.claim():
        pass
    assert [path.name for path in outside.iterdir()] == ["mine.txt"]


def test_links_within_a_run_are_removed_and_not_followed(begun, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "mine.txt").write_text("dear")
    (begun.path / "folder").symlink_to(tmp_path / "outside")
    begun.log_path.symlink_to(tmp_path / "outside" / "mine.txt")
    with pytest.raises(RunFailed, match="Could not write"):
        begun.append_log({"epoch": 1})
    with begun.claim():
        begun.clear()
    assert (tmp_path / "outside" / "mine.txt").read_text() == "dear"


def test_what_a_killed_writer_left_goes_when_the_run_is_begun_again(begun):
    for name in ("last.json", "claim", "failure.json"):
        (begun.path / f".tmp-{name}-0123").write_bytes(b"half")
    begun.begin(RunSpec(), "f")
    # Of these there may be a writer who does not hold the claim, for some minutes.
    assert {path.name for path in begun.path.glob(".tmp-*")} == {".tmp-claim-0123", ".tmp-failure.json-0123"}
    for path in begun.path.glob(".tmp-*"):
        os.utime(path, (0, 0))
    begun.begin(RunSpec(), "f")
    assert not list(begun.path.glob(".tmp-*"))


@pytest.mark.parametrize("text", ['{"epoch": 1, "x": 1e999}', '{"epoch": 1, "x": -1e999}', f'{{"epoch": {"9" * 400}}}'])
def test_a_log_line_with_a_number_that_is_none_is_damaged(text):
    assert parse_log_line(f"{text}\n".encode()) is None
    assert parse_log_line(b'{"epoch": 1, "x": 1e300}\n') == {"epoch": 1, "x": 1e300}
