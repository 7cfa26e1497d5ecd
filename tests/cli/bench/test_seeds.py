import json

import pytest
import torch


def test_seeds_as_json(invoke):
    threads = torch.get_num_threads()
    try:
        code, out, _ = invoke(
            "bench", "seeds", "--dataset", "planted", "--layers", 1, "--seeds", 2, "--repeats", 1, "--json"
        )
    finally:
        torch.set_num_threads(threads)
    rows = json.loads(out)
    assert code == 0
    assert [row["what"] for row in rows] == ["separate", "stacked", "separate / stacked"]
    assert rows[0]["ms"] / rows[1]["ms"] == pytest.approx(rows[2]["ratio"], rel=1e-4)


def test_one_seed_is_no_stack(invoke):
    assert invoke("bench", "seeds", "--seeds", 1)[0] == 2
