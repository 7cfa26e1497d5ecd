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


def test_earlier_handlers_come_back():
    before = [signal.getsignal(number) for number in POLITE_SIGNALS]
    with StopRequest():
        assert [signal.getsignal(number) for number in POLITE_SIGNALS] != before
    assert [signal.getsignal(number) for number in POLITE_SIGNALS] == before
