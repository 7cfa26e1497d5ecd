"""Which layers ever send their gradients, from the result of a run."""

from lipgnn.diagnose.sent import sent_parts, silent_parts
from lipgnn.results.store import Store
from lipgnn.training.loop import train


def run_of(spec, load_for, folder):
    store = Store(folder / "results")
    (*_, finished) = train(spec, load_for(spec), store)
    return store.run(finished.result["run_id"])


def test_a_run_that_compressed_its_gradients_says_what_every_part_sent(small_spec, load_for, tmp_path):
    spec = small_spec.with_values(epochs=2, compress="topk:1", optimizer="sgd")
    parts = sent_parts(run_of(spec, load_for, tmp_path).best_path)
    assert [part["part"] for part in parts] == ["encoder", "layer 1", "layer 2", "decoder"]
    shares = [part["share"] for part in parts]
    assert all(share is None or 0 <= share <= 1 for share in shares)
    # Two steps sent two coordinates of four parts.
    assert 0 in shares
    assert any(shares)
    silent = silent_parts(parts)
    assert silent.startswith("Of the gradients of ")
    assert all((part["part"] in silent) == (part["share"] == 0) for part in parts)


def test_a_run_that_sent_all_says_nothing_of_it(small_spec, load_for, tmp_path):
    run = run_of(small_spec.with_values(epochs=1), load_for, tmp_path)
    assert sent_parts(run.best_path) is None
    assert sent_parts(None) is None
    assert sent_parts(tmp_path / "elsewhere.safetensors") is None


def test_a_sentence_names_one_or_several():
    parts = [{"part": name, "share": share} for name, share in (("encoder", 0.5), ("layer 1", 0), ("layer 2", None))]
    assert silent_parts(parts) == "Of the gradients of layer 1 nothing was ever sent, so layer 1 was never trained."
    assert silent_parts(parts[:1]) is None
    assert "layer 1 and layer 3 were never" in silent_parts([*parts, {"part": "layer 3", "share": 0}])
