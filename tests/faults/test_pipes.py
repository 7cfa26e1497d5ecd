"""Row 43 of the fault table: whoever reads our output may leave; the work is done all the same."""

import csv
import os
import subprocess

import pytest

SMALL = ("--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--epochs", "3")


def rows(folder):
    with open(folder / "results" / "results.csv", newline="") as file:
        return list(csv.DictReader(file))


def run_unread(program, folder, *arguments, gone):
    """Run a command with nobody at the other end of the streams in `gone`; the others are kept as text."""
    read, write = os.pipe()
    os.close(read)
    streams = {name: write if name in gone else subprocess.PIPE for name in ("stdout", "stderr")}
    done = subprocess.run([*program, *arguments], cwd=folder, **streams, timeout=300)
    os.close(write)
    return done


@pytest.mark.parametrize("gone", [("stderr",), ("stdout", "stderr")], ids="+".join)
def test_a_sweep_whose_output_is_cut_by_head_computes_every_run(program, tmp_path, gone):
    done = run_unread(program, tmp_path, "sweep", *SMALL, "--seeds", "0-1", "--jobs", "1", gone=gone)
    assert done.returncode == 0
    assert [row["status"] for row in rows(tmp_path)] == ["done"] * 2


def test_training_whose_output_is_cut_by_head_is_trained_to_the_end(program, tmp_path):
    done = run_unread(program, tmp_path, "train", "-v", *SMALL, gone=("stdout", "stderr"))
    assert done.returncode == 0
    assert [(row["status"], row["epochs_run"]) for row in rows(tmp_path)] == [("done", "3")]


def test_the_shell_s_own_head_changes_nothing(program, tmp_path):
    line = f"set -o pipefail; '{program[0]}' '{program[-1]}' train -v {' '.join(SMALL)} 2>&1 | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")
    assert [row["status"] for row in rows(tmp_path)] == ["done"]


def test_the_code_is_the_true_one_though_nobody_reads(program, tmp_path):
    for arguments, code in ((("train", "--norm", "lib"), 2), (("train", "--dataset", "./none.npz"), 4)):
        assert run_unread(program, tmp_path, *arguments, gone=("stdout", "stderr")).returncode == code
    wild = ("--layers", "40", "--lr", "1000", "--norm", "none", "--activation", "none", "--residual", "identity")
    diverging = ("train", *SMALL, *wild, "--json")
    assert run_unread(program, tmp_path, *diverging, gone=("stdout", "stderr")).returncode == 1
