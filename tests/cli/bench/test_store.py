import json


def test_a_store_is_measured_at_two_sizes(invoke):
    code, out, err = invoke("bench", "store", "--runs", 100, "--repeats", 1, "--json")
    facts = json.loads(out)
    assert (code, err, facts["runs"], facts["repeats"]) == (0, "", 100, 1)
    assert [(step["step"], step["runs"]) for step in facts["steps"]] == [
        (step, runs) for step in ("plan", "csv", "report") for runs in (10, 100)
    ]
    assert all(step["seconds"]["median"] > 0 and step["memory_mb"]["median"] > 0 for step in facts["steps"])


def test_for_people_it_is_a_table(invoke):
    code, out, _ = invoke("bench", "store", "--runs", 20, "--repeats", 1)
    assert code == 0
    assert "A store of 20 made-up runs; medians of 1" in out
    assert "KB a further run" in out
