import numpy as np
import pytest
import torch

import lipgnn
from lipgnn.datasets import load as load_data
from lipgnn.errors import DataError, UsageError
from lipgnn.runtime import dgl


def test_a_model_is_loaded_from_anything_that_names_it(run):
    for reference in (run, run.id, run.id[:4], run.path, run.path / "best.safetensors", str(run.path), run.model):
        model = lipgnn.load(reference)
        assert model.spec.layers == 2 and model.num_features == 32 and model.classes == ("0", "1", "2", "3")
    assert model.num_parameters == run.result["parameters"]
    assert not model.network.training
    assert "planted" in repr(model) and "planted" in model._repr_html_()


def test_every_form_of_a_graph_is_predicted_alike(run):
    """The same graph and features as a name, a data set, arrays, and graphs of other libraries."""
    data = load_data("planted")
    source, features = data.source, data.source.features
    both = np.concatenate([source.edges, source.edges[::-1]], axis=1)
    graph = dgl.graph((torch.tensor(both[0]), torch.tensor(both[1])), num_nodes=400)
    from scipy import sparse

    adjacency = sparse.coo_array((np.ones(both.shape[1]), tuple(both)), shape=(400, 400)).tocsr()
    adjacency.data[:] = 1
    expected = np.asarray(run.model.predict("planted"))
    for given in (source, graph, adjacency, source.edges, torch.tensor(source.edges)):
        found = run.model.predict(given, features)
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-6, err_msg=str(type(given)))
    np.testing.assert_array_equal(run.model.predict().probabilities, expected)


def test_its_own_data_in_memory_is_known_to_the_run_alone(small, own):
    run = lipgnn.train(own, **small)
    found = run.predict()
    assert found.ids[7] == "n7" and found.classes == ("a", "b", "c", "d")
    assert set(found.predicted) <= set("abcd")
    with pytest.raises(DataError, match="given from Python"):
        lipgnn.load(run.id).predict()
    np.testing.assert_array_equal(lipgnn.load(run.id).predict(own).probabilities, found.probabilities)


def test_batches_and_radii_are_passed_on(run):
    found = run.predict(batch_size=50, certify=True)
    assert (found.radius > 0).any()
    np.testing.assert_allclose(found.probabilities, run.predict().probabilities, atol=1e-6)


def test_features_that_do_not_fit_are_refused(run):
    with pytest.raises(DataError, match="takes 32 features"):
        run.predict([[0, 1], [1, 2]], np.ones((3, 31)))
    with pytest.raises(UsageError, match="there is none"):
        run.predict(features=np.ones((400, 32)))
    with pytest.raises(DataError, match="brings its features along"):
        run.predict("planted", np.ones((400, 32)))


def test_export_from_a_file(run, tmp_path):
    files = lipgnn.load(run.path / "best.safetensors").export(tmp_path / "handed on")
    assert np.array_equal(lipgnn.load(files["model"]).predict("planted").probabilities, run.predict().probabilities)
