import json

import pytest

from lipgnn.bench import train
from lipgnn.bench.compare import Candidate, Effort
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.train import bench_train, choose_candidates, diagnosis, epoch, main, spec_for
from lipgnn.errors import RunFailed, UsageError
from lipgnn.training.state import Diverged, Training

CHOICE = GraphChoice("planted")


@pytest.fixture
def small():
    return spec_for(CHOICE, layers=2, heads=2, hidden=2, recompute_every="0")


def test_the_network_has_the_defaults_of_its_data_and_model():
    assert (spec_for(GraphChoice("texas")).split, spec_for(CHOICE, model="gt").kappa) == ("geom-gcn:0", 1.0)
    assert spec_for(GraphChoice(nodes=10, edges=20)).device == "cpu"


def test_epochs_of_kernels_and_norms_are_compared_with_their_products(small):
    report = bench_train(
        CHOICE,
        CHOICE.training_data(small),
        small,
        whats=["dgl", "gemm"],
        norms=["none", "lip"],
        effort=Effort(repeats=2, threads=1, peak=False),
        tell=lambda text: None,
    )
    assert [(row.what, row.norm) for row in report.rows] == [
        ("dgl", "none"),
        ("dgl", "lip"),
        ("gemm", None),
        ("dgl / gemm", "none"),
        ("dgl / gemm", "lip"),
        ("dgl lip / dgl none", None),
    ]
    assert all(row.ms > 0 for row in report.rows[:3]) and all(row.ratio > 0 for row in report.rows[3:])
    described = {(r.graph, r.nodes, r.layers, r.heads, r.width, r.measures, r.stack) for r in report.rows}
    assert described == {("planted", 400, 2, 2, 2, "epoch", "plain")}


def test_recording_is_compared_with_the_same_epochs_without(small, monkeypatch):
    made = []
    monkeypatch.setattr(train, "choose_candidates", lambda whats, norms: ([Candidate(w, "lip") for w in whats], []))
    monkeypatch.setattr(
        train, "epoch", lambda spec, dataset, recorded: made.append((spec.kernel, recorded)) or (lambda: None)
    )
    monkeypatch.setattr(train, "peak_in_child", lambda module, job, threads: 7.5)
    report = bench_train(
        CHOICE,
        CHOICE.training_data(small),
        small,
        whats=["fused", "fused recorded"],
        norms=["lip"],
        effort=Effort(repeats=1, threads=1),
        tell=lambda text: None,
    )
    assert made == [("fused", False), ("fused", True)]
    assert [(row.what, row.peak_mb) for row in report.rows] == [
        ("fused", 7.5),
        ("fused recorded", None),
        ("fused recorded / fused", None),
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


def test_memory_alone_times_nothing_and_has_no_products(small, monkeypatch):
    jobs = []
    monkeypatch.setattr(train, "peak_in_child", lambda module, job, threads: jobs.append((module, job)) or 7.5)
    monkeypatch.setattr(train, "epoch", lambda *_, **__: pytest.fail("an epoch was prepared"))
    report = bench_train(
        CHOICE,
        CHOICE.training_data(small),
        small,
        whats=["dgl", "gemm"],
        norms=["lip"],
        effort=Effort(repeats=0, threads=1),
        tell=lambda text: None,
    )
    assert [(row.what, row.ms, row.peak_mb) for row in report.rows] == [("dgl", None, 7.5)]
    ((module, job),) = jobs
    assert (module, job["spec"]["kernel"], job["spec"]["norm"]) == ("lipgnn.bench.train", "dgl", "lip")


def test_a_kernel_that_is_not_there_is_left_out(monkeypatch):
    monkeypatch.setattr(train.fused, "obstacle", lambda device: "it is not built")
    candidates, left_out = choose_candidates(["fused", "dgl"], ["lip"])
    assert (candidates, left_out) == ([("dgl", "lip")], ["fused is left out: it is not built."])
    with pytest.raises(UsageError, match="Nothing is left to measure"):
        choose_candidates(["fused"], ["lip"])


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
