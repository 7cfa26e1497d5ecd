import torch
from team_jobs import talk
from teamwork import together

from lipgnn.training.distributed.team import Team


def test_all_hear_the_same_and_worker_0_collects(tmp_path):
    found = together(3, tmp_path, talk)
    for one in found:
        assert one["total"] == [3, 1.5]
        assert one["any"] == [True, False]
        assert one["said"] == {"text": "ü", "number": 1 / 3}
        assert one["spread"] == [b"\x00\xff" * 1000, b""]
        assert torch.equal(one["rows"], torch.tensor([[10.0, 11], [20, 21], [22, 23]]))
    assert [one["collected"] for one in found] == [[b"", b"x", b"xx"], [], []]


def test_who_is_alone_talks_to_itself():
    team = Team()
    assert team.leads and team.size == 1
    assert team.total([2, 3]) == [2, 3] and team.any(True) and not team.any(False)
    assert team.say({"a": [1.5]}) == {"a": [1.5]}
    assert team.collect(b"a") == [b"a"] and team.spread(b"b") == b"b"
    rows = torch.ones(2, 3)
    assert team.rows(rows) is rows
    assert team.order("step") is None
