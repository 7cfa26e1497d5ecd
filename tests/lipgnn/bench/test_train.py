import json

import pytest

from lipgnn.bench import train
from lipgnn.bench.compare import Candidate
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.measurements import TRAIN
from lipgnn.bench.train import TrainComparison, diagnosis, epoch, main, spec_for
from lipgnn.errors import RunFailed, UsageError
from lipgnn.training.divergence import Diverged
from lipgnn.training.state import Training

CHOICE = GraphChoice("planted")


@pytest.fixture
def small():
    return spec_for(CHOICE, layers=2, heads=2, hidden=2)


@pytest.fixture
def comparison(small):
    """Epochs of a small network: comparison("none", "lip")."""
    return lambda *norms: TrainComparison(CHOICE, CHOICE.training_data(small), small, norms)


def test_the_network_has_the_defaults_of_its_data_and_model():
    assert (spec_for(GraphChoice("texas")).split, spec_for(CHOICE, model="gt").kappa) == ("geom-gcn:0", 1.0)
    assert spec_for(GraphChoice(nodes=10, edges=20)).device == "cpu"


def test_epochs_of_kernels_and_norms_are_compared_with_their_products(comparison):
    report = comparison("none", "lip").times(["dgl", "gemm"], 2, 1, lambda text: None)
    assert [(each.what, each.norm) for each in report.measurements] == [
        ("dgl", "none"),
        ("dgl", "lip"),
        ("gemm", None),
        ("dgl / gemm", "none"),
        ("dgl lip / dgl none", None),
        ("dgl / gemm", "lip"),
    ]
    assert all(each.ms > 0 for each in report.measurements[:3]) and all(m.ratio > 0 for m in report.measurements[3:])
    described = {(m.graph, m.nodes, m.layers, m.heads, m.width, m.measures, m.stack) for m in report.measurements}
    assert described == {("planted", 400, 2, 2, 2, "epoch", "plain")}


def test_every_name_trains_or_looks_at_its_kernel(comparison, monkeypatch):
    made = []
    monkeypatch.setattr(train, "diagnosis", lambda spec, dataset: made.append((spec.kernel, "diagnosis")))
    monkeypatch.setattr(train, "replay", lambda calls: made.append("products"))
    monkeypatch.setattr(train, "products", lambda step: None)
    monkeypatch.setattr(train, "epoch", lambda spec, dataset, recorded=None: made.append((spec.kernel, recorded)))
    comparison("lip").steps([Candidate(what, None if what == "gemm" else "lip") for what in TRAIN])
    assert made == [
        ("fused", False),
        ("fused", True),
        ("fused", "diagnosis"),
        ("dgl", False),
        ("dgl", None),
        "products",
    ]


def test_a_recorded_epoch_records(small, monkeypatch):
    ended = []
    monkeypatch.setattr(train.GradientRecorder, "end_epoch", lambda self, number: ended.append(number))
    step = epoch(small.with_values(kernel="dgl"), CHOICE.training_data(small), recorded=True)
    step()
    step()
    assert ended == [1, 2]


def test_a_diagnosis_looks_at_the_network_and_at_a_new_graph_every_time(small, monkeypatch):
    seen = []
    monkeypatch.setattr(train, "profile", lambda network, data: seen.append((network, data.graph, data.labels)))
    dataset = CHOICE.training_data(small)
    step = diagnosis(small, dataset)
    step()
    step()
    (network, graph, labels), (again, other, _) = seen
    assert network is again and len(network.blocks) == small.layers and len(labels) == dataset.num_nodes
    assert graph is not other and graph.num_edges() == other.num_edges() == dataset.edges.shape[1]


def test_memory_is_asked_for_kernels_alone(comparison):
    jobs = {what: comparison("lip").job(Candidate(what, "lip")) for what in TRAIN}
    assert [what for what, job in jobs.items() if job] == ["fused", "dgl"]
    spec = jobs["dgl"]["spec"]
    assert (spec["kernel"], spec["norm"], spec["layers"]) == ("dgl", "lip", 2)
    with pytest.raises(UsageError, match="Nothing is left to measure"):
        comparison("lip").peaks(["gemm"], 1, lambda text: None)


def test_a_kernel_that_is_not_there_is_left_out(comparison, monkeypatch):
    monkeypatch.setattr(train.fused, "obstacle", lambda device: "it is not built")
    candidates, left_out = comparison("lip").candidates(["fused", "dgl"])
    assert (candidates, left_out) == ([("dgl", "lip")], ["fused is left out: it is not built."])


def test_a_network_that_diverges_is_no_measurement(small, monkeypatch):
    def diverge(self):
        raise Diverged("gradient of the loss")

    monkeypatch.setattr(Training, "step", diverge)
    with pytest.raises(RunFailed, match="diverged, gradient of the loss"):
        epoch(small, CHOICE.training_data(small))()


def test_more_layers_take_more_memory(capsys, small):
    peaks = []
    for layers in (1, 30):
        spec = small.with_values(layers=layers, hidden=64, heads=8, kernel="dgl")
        job = {"graph": {"dataset": "planted"}, "spec": spec.to_dict(), "threads": 1}
        main(json.dumps(job))
        peaks.append(json.loads(capsys.readouterr().out))
    # Every layer keeps at least its input and its projected features.
    assert peaks[1] > peaks[0] + 29 * 2 * 400 * 8 * 64 * 4 / 2**20
