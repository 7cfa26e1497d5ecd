"""Values and files that nobody would give on purpose: one sentence and code 2 or 4, never an internal error."""

import json

import pytest

LONG = "x" * 300
DIGITS = "9" * 400
BIDI = "\u202e\u2066\x1b[31m\x07é"


@pytest.mark.parametrize(
    "text",
    [
        f"lr = {DIGITS}",
        f"lr = -{DIGITS}",
        f"lr = 1e{DIGITS}",
        f"layers = {DIGITS}",
        f"hidden = {DIGITS}",
        f"epochs = {'9' * 5000}",
        f"epochs = 0x{'f' * 5000}",
        f"seed = {DIGITS}",
        f"x = {'[' * 5000}",
        f"x = {'{a = ' * 3000}",
        f"{'a.' * 5000}b = 1",
        'dataset = "a\\u0000b"',
        f'dataset = "{LONG}"',
        'split = "\\u0000"',
        "lr = nan",
        "lr = inf",
        "lr = 1979-05-27",
        "layers = [[1]]",
        "layers = {a = 1}",
        "layers = true",
        "lr = 1\nlr = 2",
        "\ufeff[a",
    ],
)
def test_a_configuration_of_nonsense(invoke, tmp_path, text):
    (tmp_path / "a.toml").write_text(text)
    code, out, err = invoke("train", "--config", "a.toml", "--print-config")
    if code == 0:
        assert LONG in out
        code, _, err = invoke("train", "--config", "a.toml")
        assert code == 4
    assert code in (2, 4) and "Internal error" not in err, err
    (tmp_path / "a.toml").write_text(f"[grid]\n{text}")
    code, _, err = invoke("sweep", "a.toml", "--dry-run")
    assert code in (2, 4) and "Internal error" not in err, err


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (("sweep", "--seeds", "0-4294967295", "--dry-run"), 2, "4,294,967,296, and a sweep has at most 100,000 runs"),
        (("sweep", "--seeds", f"0-{DIGITS}", "--dry-run"), 2, "seed must be a whole number"),
        (
            ("sweep", "--seeds", "0-99", "--layers", "1-100", "--lr", ",".join(f"0.{k}" for k in range(1, 13))),
            2,
            "runs",
        ),
        (("sweep", "--set", f"epochs=1-{10**17}"), 2, "at most 100,000 runs"),
        (("train", "--layers", "10000000"), 2, "at most 10000, got '10000000'"),
        (("train", "--hidden", "99999999999999999999"), 2, "below 2^63"),
        (("train", "--dataset", "a\0b"), 2, "NUL"),
        (("train", "--dataset", LONG), 4, "No such file"),
        (("train", "--dataset", f"./{LONG}"), 4, "No such file"),
        (("train", "--dataset", f"{LONG}/{LONG}.npz"), 4, "No such file"),
        (("train", "--results", LONG, "--dataset", "planted"), 2, "File name too long"),
        (("train", "--config", LONG), 2, "File name too long"),
        (("train", "--config", "a\0b"), 2, "NUL"),
        (("sweep", LONG), 2, "File name too long"),
        (("report", LONG), 2, "File name too long"),
        (("report", "--results", LONG), 2, "File name too long"),
        (("report", "--update", LONG), 2, "File name too long"),
        (("evaluate", LONG), 2, "No run"),
        (("diagnose", LONG), 2, "No run"),
        (("datasets", "show", LONG), 4, "No such file"),
        (("datasets", "import", LONG), 4, "File name too long"),
        (("datasets", "import", f"{LONG}.csv", "--edges", LONG), 4, "File name too long"),
        (("datasets", "fetch", LONG), 2, "Unknown data set"),
        (("report", "-o", "absent/table.csv"), 2, "There is no folder 'absent'"),
        (("report", "-o", f"{LONG}.csv"), 2, "File name too long"),
        (("report", "-o", "."), 2, "is a folder"),
        (("report", "--html", "absent/page.html"), 2, "There is no folder 'absent'"),
        (("diagnose", "--init", "--csv", "absent/rows.csv"), 2, "There is no folder 'absent'"),
    ],
    ids=lambda value: " ".join(value)[:60].replace("\0", "NUL") if isinstance(value, tuple) else None,
)
def test_paths_and_numbers_that_cannot_be(invoke, tmp_path, arguments, code, words):
    found, out, err = invoke(*arguments)
    assert (found, out) == (code, ""), err
    assert words in err and "Internal error" not in err
    assert err.startswith("Error: ") and err.count("\n") <= 2
    assert list(tmp_path.rglob("*")) == []


def test_control_and_bidi_characters_reach_no_terminal(invoke, result_row, write_store, tmp_path):
    write_store(tmp_path / "results", [result_row(dataset=BIDI, seed=seed) for seed in (0, 1)])
    for form in ("text", "markdown", "latex", "csv", "html", "json"):
        code, out, _ = invoke("report", "--rows", "dataset", "--cols", "norm", "--format", form)
        assert code == 0
        assert not set(BIDI[:3] + "\x1b\x07") & set(out), form
    found = json.loads(invoke("report", "--rows", "dataset", "--cols", "norm", "--json")[1])
    assert found["cells"][0]["row"]["dataset"] == BIDI


def test_json_is_ascii_whatever_it_says(invoke, result_row, write_store, tmp_path):
    write_store(tmp_path / "results", [result_row(dataset=BIDI)])
    for arguments in (("report", "--rows", "dataset", "--json"), ("datasets", "show", "planted", "--json")):
        out = invoke(*arguments)[1]
        assert out.isascii() and out.count("\n") == 1
        assert not [c for c in out[:-1] if not c.isprintable()]
