import json

import pytest

from lipgnn.bench.measurements import ATTENTION, COLUMNS

TINY = ["--nodes", 60, "--edges", 300, "--threads", 1, "--repeats", 1, "--what", "dgl,gather"]


def test_rows_for_every_shape_and_norm(invoke):
    code, out, _ = invoke("bench", "attention", *TINY, "--heads", "2", "--width", "2,3", "--json")
    rows = json.loads(out)
    assert code == 0 and all(list(row) == list(COLUMNS) for row in rows)
    assert [(row["width"], row["what"], row["norm"]) for row in rows if row["ms"]] == [
        (width, what, norm) for width in (2, 3) for what, norm in (("dgl", "none"), ("dgl", "lip"), ("gather", None))
    ]
    assert {(row["graph"], row["nodes"], row["edges"], row["measures"]) for row in rows} == {
        ("power-law", 60, 300, "forward+backward")
    }
    assert rows[0]["command"] == (
        "lipgnn bench attention --nodes 60 --edges 300 --heads 2 --width 2,3 --what dgl,gather --repeats 1 --threads 1"
    )


def test_for_people_names_are_explained(invoke):
    code, out, err = invoke("bench", "attention", *TINY, "--width", 2, "--norm", "lip", "--model", "gt")
    assert (code, err) == (0, "")
    assert "forward+backward of gt, 8 heads, width 2" in " ".join(out.split())
    assert f"gather: {ATTENTION['gather']}" in out and "dgl / gather" in out


def test_shared_heads_beside_heads_that_share_nothing(invoke):
    shared = ["--model", "gt", "--head-sharing", "collab", "--shared-dim", 4, "--width", 2, "--what", "layer dgl,dgl"]
    rows = json.loads(invoke("bench", "attention", *TINY[:8], *shared, "--norm", "lip", "--json")[1])
    assert {(row["model"], row["what"]) for row in rows} == {("gt collab:4", "layer dgl"), ("gt collab:4", "dgl")}
    assert "--head-sharing collab --shared-dim 4" in rows[0]["command"]


def test_a_data_set_can_be_measured_on(invoke):
    arguments = ["--dataset", "planted", *TINY[4:], "--width", 2]
    rows = json.loads(invoke("bench", "attention", *arguments, "--json")[1])
    assert {(row["graph"], row["nodes"]) for row in rows} == {("planted", 400)}


def test_three_sizes_tell_how_the_cost_grows(invoke):
    tiny = ["--heads", 2, "--width", 2, "--threads", 1, "--repeats", 1, "--what", "dgl", "--norm", "lip"]
    rows = json.loads(invoke("bench", "attention", "--nodes", 60, "--edges", "200,400,800", *tiny, "--json")[1])
    assert [(row["nodes"], row["edges"]) for row in rows if row["ms"]] == [(60, 200), (60, 400), (60, 800)]
    (fit,) = (row for row in rows if row["exponent"] is not None)
    assert (fit["what"], fit["against"], fit["nodes"], fit["edges"]) == ("dgl", "edges", 60, None)
    assert fit["stderr"] >= 0
    code, out, _ = invoke("bench", "attention", "--nodes", "100,200,400", *tiny)
    assert code == 0 and "cost = c · size^exponent" in out


def test_memory_is_measured_in_place_of_time(invoke):
    arguments = [*TINY[:6], "--what", "gather", "--heads", 2, "--width", 2, "--peak", "--json"]
    (row,) = json.loads(invoke("bench", "attention", *arguments)[1])
    assert row["ms"] is None and row["peak_mb"] >= 0


def test_every_name_is_in_the_help(invoke):
    _, out, _ = invoke("bench", "attention", "--help")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert all(f"{name} {text}" in lines for name, text in ATTENTION.items())


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--dataset", "coar"], "Did you mean 'cora'?"),
        (["--nodes", 100, "--edges", 50], "100 nodes cannot have 50 edges"),
        (["--norm", "pair"], "Unknown norm 'pair'"),
        (["--what", "fusd"], "Did you mean 'fused'?"),
        (["--width", "wide"], "no list of whole numbers"),
        (["--model", "gcn"], "gcn"),
        (["--repeats", 0], "--repeats"),
        (["--head-sharing", "collab"], "Heads of model 'gat' cannot share queries and keys"),
        (
            ["--model", "gt", "--head-sharing", "collab", "--shared-dim", 65, "--width", 8],
            "at most heads × hidden = 64",
        ),
        (["--model", "gt", "--shared-dim", 8], "while they share none"),
        (["--dataset", "cora", "--nodes", 100], "has its own nodes and edges"),
    ],
)
def test_wrong_use_is_exit_2(invoke, arguments, message):
    code, out, err = invoke("bench", "attention", *arguments)
    assert (code, out) == (2, "")
    assert message in err and "Traceback" not in err


def test_edges_can_have_types(invoke):
    arguments = [*TINY, "--width", 2, "--norm", "lip", "--edge-types", 5]
    code, out, _ = invoke("bench", "attention", *arguments, "--model", "gt", "--json")
    rows = json.loads(out)
    assert code == 0 and {row["graph"] for row in rows} == {"power-law, 5 edge types"}
    assert "--edge-types 5" in rows[0]["command"]
    code, _, err = invoke("bench", "attention", *arguments, "--model", "gat")
    assert (
        code == 2 and "Layers of 'gat' with head sharing 'none' do not tell types of edges apart, and there are" in err
    )
