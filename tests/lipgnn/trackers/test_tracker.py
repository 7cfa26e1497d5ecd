import json

import pytest

from lipgnn.trackers.tracker import FILE, Tracked, tracking_id


def test_an_id_stays_until_its_file_goes(tmp_path):
    first = tracking_id(tmp_path, "0123456789ab")
    assert first.startswith("0123456789ab-") and tracking_id(tmp_path, "0123456789ab") == first
    (tmp_path / FILE).unlink()
    assert tracking_id(tmp_path, "0123456789ab") != first


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"id": 3}', b'{"id": "another-run"}', b"\xff"])
def test_a_damaged_file_is_replaced(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    own = tracking_id(tmp_path, "0123456789ab")
    assert own.startswith("0123456789ab-")
    assert json.loads((tmp_path / FILE).read_bytes()) == {"schema": 1, "id": own}


def test_what_has_no_value_is_not_known(tmp_path):
    run = Tracked("i", "t", tmp_path, tmp_path, {"lr": 0.1, "finetune": None}, {"parameters": 3})
    assert run.known == {"lr": 0.1, "parameters": 3}
