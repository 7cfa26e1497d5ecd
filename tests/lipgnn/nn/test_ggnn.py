"""GGNNConv against one gated step written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.nn import GGNNConv


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gru(state: dict[str, np.ndarray], a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """One step of the gated unit with input a and memory x; the three gates lie one below the other."""
    from_input = np.split(a @ state["gru.weight_ih"].T + state["gru.bias_ih"], 3, axis=1)
    from_memory = np.split(x @ state["gru.weight_hh"].T + state["gru.bias_hh"], 3, axis=1)
    reset = sigmoid(from_input[0] + from_memory[0])
    keep = sigmoid(from_input[1] + from_memory[1])
    new = np.tanh(from_input[2] + reset * from_memory[2])
    return (1 - keep) * new + keep * x


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_one_gated_step_over_the_summed_messages(data, reference):
    graph = data.draw(reference.graphs())
    conv = reference.redraw(GGNNConv(3, 3), seed=1)
    state = reference.arrays(conv)
    x = reference.normal(2, graph.num_nodes(), 3)
    total = np.zeros((graph.num_nodes(), 3))
    for j, i in reference.edges_of(graph):
        total[i] += state["linears.0.weight"] @ x[j].numpy() + state["linears.0.bias"]
    np.testing.assert_allclose(conv(graph, x).detach(), gru(state, total, x.numpy()), atol=1e-10)


def test_narrower_features_are_padded_with_zeros(reference):
    graph = reference.small_graph()
    conv = reference.redraw(GGNNConv(2, 3), seed=1)
    state = reference.arrays(conv)
    x = np.hstack([reference.normal(2, 7, 2).numpy(), np.zeros((7, 1))])
    total = np.zeros((7, 3))
    for j, i in reference.edges_of(graph):
        total[i] += state["linears.0.weight"] @ x[j] + state["linears.0.bias"]
    np.testing.assert_allclose(conv(graph, reference.normal(2, 7, 2)).detach(), gru(state, total, x), atol=1e-10)
