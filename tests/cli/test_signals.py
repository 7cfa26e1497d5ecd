import os
import signal

import pytest

from cli.signals import StopRequest
from lipgnn.runtime import POLITE_SIGNALS


@pytest.mark.parametrize("number", POLITE_SIGNALS)
def test_the_first_signal_asks_and_the_second_insists(capfd, number):
    with StopRequest() as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop()
        assert "once more" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_what_is_said_is_the_callers_and_nothing_where_something_else_says_it(capfd):
    with StopRequest("The sweep stops.") as stop:
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop() and capfd.readouterr().err == "\nThe sweep stops.\n"
    with StopRequest() as stop:
        stop.silent = True
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop() and capfd.readouterr().err == ""


def test_earlier_handlers_come_back():
    before = [signal.getsignal(number) for number in POLITE_SIGNALS]
    with StopRequest():
        assert [signal.getsignal(number) for number in POLITE_SIGNALS] != before
    assert [signal.getsignal(number) for number in POLITE_SIGNALS] == before
