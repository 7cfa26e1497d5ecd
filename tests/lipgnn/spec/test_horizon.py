import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.horizon import check_horizon


@pytest.mark.parametrize("text", ["given", "shortest:1", "shortest:1.25"])
def test_horizons(text):
    check_horizon(text)


@pytest.mark.parametrize("text", ["", "givn", "shortest", "shortest:", "shortest:x", "shortest:-1", "shortest:1."])
def test_what_is_none_is_refused(text):
    with pytest.raises(UsageError, match="horizon must be given or shortest:X") as caught:
        check_horizon(text)
    assert caught.value.hint.startswith("Did you mean 'given'?") == (text == "givn")
