import json

import pytest

TINY = ["--nodes", 60, "--edges", 200, "--heads", 2, "--width", 2, "--threads", 1, "--repeats", 1, "--what", "dgl"]


def test_points_and_their_fit(invoke):
    code, out, _ = invoke("bench", "scaling", *TINY, "--against", "edges,heads", "--points", 3, "--json")
    rows = json.loads(out)
    assert code == 0
    assert [row["edges"] for row in rows if row["against"] == "edges" and row["ms"]] == [200, 400, 800]
    assert [row["heads"] for row in rows if row["against"] == "heads" and row["ms"]] == [2, 4, 8]
    fits = [row for row in rows if row["exponent"] is not None]
    assert [(row["what"], row["against"]) for row in fits] == [("fit dgl", "edges"), ("fit dgl", "heads")]
    assert all(row["stderr"] >= 0 for row in fits)


def test_for_people_epochs_are_called_epochs(invoke):
    code, out, _ = invoke("bench", "scaling", *TINY, "--against", "depth", "--points", 2)
    assert code == 0
    assert "dgl: epochs by DGL's message passing" in out and "edge part" not in out
    assert "layers" in out and "cost = c · size^exponent" in out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--against", "edgs"], "Did you mean 'edges'?"),
        (["--nodes", 100, "--edges", 50], "100 nodes cannot have 50 edges"),
        (["--points", 1], "--points"),
    ],
)
def test_wrong_use_is_exit_2(invoke, arguments, message):
    code, out, err = invoke("bench", "scaling", *arguments)
    assert (code, out) == (2, "")
    assert message in err and "Traceback" not in err
