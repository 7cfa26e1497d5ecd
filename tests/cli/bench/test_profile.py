import json


def test_profile_as_a_table_and_as_json(invoke):
    command = ("bench", "profile", "--dataset", "planted", "--layers", 2, "--top", 3, "--threads", 1)
    code, out, _ = invoke(*command)
    assert code == 0 and "operation" in out and "share" in out and "everything else" in out
    rows = json.loads(invoke(*command, "--json")[1])
    assert len(rows) == 4 and {row["bench"] for row in rows} == {"profile"}


def test_a_kernel_that_is_not_there_is_refused(invoke):
    assert invoke("bench", "profile", "--kernel", "cuda")[0] == 2
