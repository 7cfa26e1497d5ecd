import os
import shlex
import subprocess
import sys

import pytest

from cli.streams import unbroken_streams
from lipgnn.errors import RunFailed

CODE = """
import subprocess, sys
from cli.streams import unbroken_streams
with unbroken_streams():
    for stream in (sys.stdout, sys.stderr):
        for _ in range(3):
            stream.write("x" * 100_000)
            stream.flush()
    subprocess.run([sys.executable, "-c", "print('a child', flush=True)"], check=True)
    open("done", "w").close()
"""


@pytest.mark.parametrize("gone", ["stdout", "stderr"])
def test_a_reader_that_left_stops_neither_the_work_nor_its_children(tmp_path, gone):
    kept = "stderr" if gone == "stdout" else "stdout"
    read, write = os.pipe()
    os.close(read)
    with open(tmp_path / "kept", "wb") as file:
        done = subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, **{gone: write, kept: file})
    os.close(write)
    assert done.returncode == 0
    assert (tmp_path / "done").exists()
    assert (tmp_path / "kept").stat().st_size >= 300_000


def test_streams_that_the_caller_closed_are_as_good_as_any(tmp_path):
    done = subprocess.run(["sh", "-c", f"{shlex.join([sys.executable, '-c', CODE])} >&- 2>&-"], cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "done").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_output_that_finds_no_room_is_said_at_the_end_and_by_the_code(program, tmp_path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*program, "datasets", "list"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert b"Could not write the output: No space left on device." in done.stderr
    assert b"Internal" not in done.stderr
    # Notes that find none are no reason to stop.
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*program, "datasets", "list"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 0 and b"cora" in done.stdout


def test_text_that_no_encoding_holds_is_spelled_out(tmp_path, monkeypatch):
    with open(tmp_path / "out", "w", encoding="ascii") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        patch.setattr(sys, "stderr", file)
        with unbroken_streams():
            print("\udc80 – x")
        assert sys.stdout is file
    assert (tmp_path / "out").read_text() == "\\udc80 \\u2013 x\n"


@pytest.mark.parametrize("fault", [ZeroDivisionError, RunFailed])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_an_error_of_the_work_is_not_hidden_by_one_of_the_output(monkeypatch, fault):
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        with pytest.raises(fault), unbroken_streams():
            print("x")
            if fault is ZeroDivisionError:
                raise ZeroDivisionError
