"""Names and descriptions of what task paths is made of (Cordonnier & Loukas, IJCAI 2019)."""

from __future__ import annotations

from lipgnn.catalog.entry import Entry

PREDICTIONS: dict[str, Entry] = {
    "next": Entry("the observation after those given"),
    "between": Entry("each observation but the first, of one more than are given, from all the others"),
    "destination": Entry("the last observation of the trajectory"),
    "start-to-target": Entry("the last observation, from the first ones alone"),
}

WALKS: dict[str, Entry] = {
    "nb": Entry("non-backtracking: a walker does not go back along the edge that it came by"),
    "plain": Entry("a walker chooses among all out-edges of its node"),
}

PATH_LOSSES: dict[str, Entry] = {
    "nll": Entry("the negative log-likelihood of the true path, by the out-edges of each of its nodes"),
    "nll-nb": Entry("the same of a walker that does not go back"),
    "target": Entry("the negative logarithm of the probability of the target's nodes, weighted as observed"),
}

TRANSITIONS: dict[str, Entry] = {
    "uniform": Entry("the out-edges of a node have equal shares"),
    "learned": Entry("the shares are a softmax of a learned function of the edge and its nodes"),
}

# What is compared: the walk of a model, and two that know nothing.
WALKERS: dict[str, Entry] = {
    "model": Entry("by the probabilities of the model"),
    "uniform": Entry("all out-edges of a node alike"),
    "uniform-nb": Entry("all edges alike, but that by which the walker came"),
}


def horizon_words(horizon: str) -> str:
    """How many steps a walk has, by the option of that name."""
    if horizon == "given":
        return "given, the walk has as many steps as the true path"
    factor = horizon.partition(":")[2]
    return f"{horizon}, {factor} times the edges of a shortest path from start to target, which does not know the path"
