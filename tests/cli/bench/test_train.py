import json

import pytest

TINY = ["--heads", 2, "--width", 2, "--threads", 1, "--repeats", 1, "--what", "dgl,gemm"]


def test_rows_by_layers_on_a_data_set(invoke):
    code, out, _ = invoke("bench", "train", "--dataset", "planted", "--layers", "1,2", *TINY, "--json")
    rows = json.loads(out)
    assert code == 0
    assert [(row["layers"], row["what"], row["norm"]) for row in rows if row["ms"]] == [
        (layers, what, norm) for layers in (1, 2) for what, norm in (("dgl", "lip"), ("gemm", None))
    ]
    assert {(row["bench"], row["graph"], row["measures"]) for row in rows} == {("train", "planted", "epoch")}


def test_options_of_a_run_are_handed_on(invoke):
    given = ["--layers", 2, "--stack", "reversible", "--model", "gt", "--norm", "lip+layer"]
    rows = json.loads(invoke("bench", "train", "--nodes", 50, "--edges", 200, *TINY, *given, "--json")[1])
    assert (rows[0]["graph"], rows[0]["stack"], rows[0]["model"]) == ("power-law", "reversible", "gt")
    assert rows[0]["norm"] == "lip+layer"


def test_memory_is_measured_in_a_process_of_its_own(invoke):
    arguments = ["--dataset", "planted", "--layers", 2, "--width", 2, "--threads", 1, "--peak", "--what", "dgl"]
    (row,) = json.loads(invoke("bench", "train", *arguments, "--json")[1])
    assert row["ms"] is None and row["peak_mb"] > 0.1


def test_a_breakdown_as_a_table_and_as_json(invoke):
    command = ("bench", "train", "--dataset", "planted", "--layers", 2, *TINY, "--breakdown")
    code, out, _ = invoke(*command)
    assert code == 0 and "share" in out and "dgl: everything else" in out
    rows = json.loads(invoke(*command, "--json")[1])
    assert len(rows) == 13 and {(row["bench"], row["norm"]) for row in rows} == {("breakdown", "lip")}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--dataset", "coar"], "Did you mean 'cora'?"),
        (["--norm", "lib"], "Did you mean 'lip'?"),
        (["--breakdown", "--what", "gemm"], "Nothing is left to measure"),
        (["--nodes", 100, "--edges", 50], "100 nodes cannot have 50 edges"),
        (["--what", "pyg"], "Valid: fused, fused recorded, diagnose, dgl, gemm."),
    ],
)
def test_wrong_use_is_exit_2(invoke, arguments, message):
    code, out, err = invoke("bench", "train", *arguments)
    assert (code, out) == (2, "")
    assert message in err and "Traceback" not in err
