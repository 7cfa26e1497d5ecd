import json
import signal

import pytest

from lipgnn.child import Child

# Reads JSON from its input until that is closed, prints it, and knows nothing of signals.
READER = "json.tool"


@pytest.fixture
def child():
    child = Child(READER, threads=1)
    yield child
    child.end()


def test_what_it_is_told_arrives_and_it_ends_with_its_input(child):
    child.tell({"stop": True})
    child.process.stdin.close()
    assert json.loads(child.process.stdout.read()) == {"stop": True}
    child.process.wait()
    assert (child.fate(), child.last_words()) == ("ended with exit code 0", [])


def test_its_last_words_are_kept(child):
    child.process.stdin.write(b"no JSON")
    child.process.stdin.close()
    child.process.wait()
    assert child.fate() == "ended with exit code 1"
    assert child.last_words() == ["Expecting value: line 1 column 1 (char 0)"]


def test_a_polite_signal_waits_until_it_is_let_through(child):
    child.process.send_signal(signal.SIGTERM)
    child.tell({})
    child.end()
    assert child.fate() == "ended with exit code 0"


def test_its_fate_names_the_signal_and_telling_the_dead_is_no_error(child):
    child.process.kill()
    child.process.wait()
    child.tell({"stop": True})
    assert child.fate() == "killed by signal 9 (SIGKILL)"


def test_one_that_does_not_end_is_killed(child, monkeypatch):
    monkeypatch.setattr("lipgnn.child._GRACE_SECONDS", 0.1)
    child.process.send_signal(signal.SIGSTOP)
    child.end()
    assert child.process.returncode == -signal.SIGKILL
    assert child.process.stdin.closed and child.process.stdout.closed
