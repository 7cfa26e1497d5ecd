import json

import pytest
from matplotlib.figure import Figure

import lipgnn
from lipgnn.errors import UsageError


def test_it_is_that_of_the_command_line(run, invoke):
    theirs = json.loads(invoke("diagnose", run.id, "--json")[1])
    ours = lipgnn.diagnose(run)
    plain = json.loads(json.dumps(ours.to_dict()))
    plain["model"] = theirs["model"] = None
    assert plain == theirs
    assert ours.verdict == theirs["verdict"] and list(ours.evidence) == theirs["evidence"]
    assert [one["option"] for one in ours.options] == [one["option"] for one in theirs["options"]]
    assert ours.to_pandas()["layer"].tolist() == [0, 1, 2]


def test_a_new_network_and_its_figure(tmp_path):
    found = lipgnn.diagnose(data="planted", layers=32, residual="identity", norm="none", hidden=4)
    assert found.verdict != "healthy" and found.words in repr(found)
    page = found._repr_html_()
    assert "verdict" in page and "grad_norm" in page and page.count("<table>") == 2
    figure = found.figure()
    assert isinstance(figure, Figure) and len(figure.axes) == 4
    figure.savefig(tmp_path / "layers.svg")
    option = found.options[0]
    assert lipgnn.diagnose(data="planted", **{"layers": 32, "hidden": 4, **option["values"]})


def test_before_the_training_and_what_else_can_be_asked(run):
    before = lipgnn.diagnose(run, init=True, ablate="skip", reach=2)
    assert before.to_dict()["at"] == "initialization" and before.to_dict()["ablation"]
    assert before.figure().axes[0].get_xlabel() == "distance in hops"
    named = lipgnn.diagnose(data="planted", init="torch-ends", layers=2)
    assert named.to_dict()["spec"]["init"] == "torch-ends"


def test_data_in_memory(small, own):
    run = lipgnn.train(own, **small)
    assert run.diagnose().to_dict()["fingerprint"] == run.result["fingerprint"]
    assert lipgnn.diagnose(data=own, **small).to_dict()["spec"]["dataset"] == "memory:mine"


def test_a_run_has_its_own_options(run):
    with pytest.raises(UsageError, match="has its own layers"):
        lipgnn.diagnose(run, layers=3)
