"""Graphs of other libraries as data sets: DGL, PyTorch Geometric, networkx. None of them is imported here."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from lipgnn.api.arrays import PARTS, Masks, from_arrays, from_scipy, to_array
from lipgnn.datasets import Source
from lipgnn.errors import DataError

MASKS = ("train_mask", "val_mask", "test_mask")


def from_dgl(
    graph: Any,
    features: Any = "feat",
    labels: Any = "label",
    masks: Masks = MASKS,
    *,
    ignore: Collection[str] = (),
    name: str = "dgl",
    **further: Any,
) -> Source:
    """A data set from a DGL graph.

    Parameters
    ----------
    graph : a `dgl.DGLGraph` of one type of nodes and one of edges. Types of edges in `graph.edata["edge_type"]` are
        taken along. A graph that has every edge in both directions is undirected.
    features, labels : the name of node data, or an array (see `from_arrays`). A name that is not there means none.
    masks : three names of node data, or as in `from_arrays`; None for no split.
    ignore : names of edge data to leave out, such as weights, which lipgnn does not use.
    name, further : as in `from_arrays`.

    Raises
    ------
    DataError : a graph of several types, edge data that would be lost, or parts that do not fit.

    Examples
    --------
    >>> import dgl, torch, lipgnn
    >>> ring = dgl.graph(([0, 1, 2], [1, 2, 0]))
    >>> ring.ndata["feat"], ring.ndata["label"] = torch.eye(3), torch.tensor([0, 1, 1])
    >>> lipgnn.from_dgl(ring)
    <dgl: 3 nodes, 3 listed edges, 3 features, 2 classes, splits none>
    """
    if len(graph.ntypes) != 1 or len(graph.etypes) != 1:
        raise DataError(
            f"The graph has {len(graph.ntypes)} types of nodes and {len(graph.etypes)} of edges, and lipgnn takes one.",
            "Make it one graph with dgl.to_homogeneous.",
        )
    _refuse_lost(set(graph.edata) - {"edge_type", "_ID"}, ignore, "edge data")

    def found(value: Any) -> Any:
        return graph.ndata.get(value) if isinstance(value, str) else value

    further = {"directed": None, **further}
    return from_arrays(
        tuple(graph.edges(order="eid")),
        found(features),
        found(labels),
        masks=_masks(masks, found),
        edge_types=graph.edata.get("edge_type"),
        num_nodes=graph.num_nodes(),
        name=name,
        **further,
    )


def from_pyg(
    data: Any, *, masks: Masks = MASKS, ignore: Collection[str] = (), name: str = "pyg", **further: Any
) -> Source:
    """A data set from a `Data` of PyTorch Geometric.

    Parameters
    ----------
    data : with `edge_index`, and as far as it has them `x`, `y`, `edge_type` and the masks. A graph that has every edge
        in both directions is undirected.
    masks : three names of attributes, or as in `from_arrays`; None for no split.
    ignore : `"edge_weight"` or `"edge_attr"` to leave these out: lipgnn does not use them, and does not lose them in
        silence.
    name, further : as in `from_arrays`; `features=` and `labels=` take the place of `x` and `y`.

    Raises
    ------
    DataError : several types of nodes, no `edge_index`, what would be lost, or parts that do not fit.

    Examples
    --------
    >>> import torch, lipgnn
    >>> from torch_geometric.data import Data
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> lipgnn.from_pyg(Data(x=torch.eye(3), edge_index=edges, y=torch.tensor([0, 1, 1])))
    <pyg: 3 nodes, 4 listed edges, 3 features, 2 classes, splits none>
    """
    if hasattr(data, "node_types") or getattr(data, "edge_index", None) is None:
        raise DataError(
            f"A {type(data).__name__} without one edge_index cannot be used.",
            "Give a homogeneous Data: of several types, data.to_homogeneous(); of adj_t, ToEdgeIndex.",
        )
    lost = {one for one in ("edge_weight", "edge_attr") if getattr(data, one, None) is not None}
    _refuse_lost(lost, ignore, "attribute")

    def found(value: Any) -> Any:
        return getattr(data, value, None) if isinstance(value, str) else value

    further = {"directed": None, "features": found("x"), "labels": found("y"), **further}
    return from_arrays(
        data.edge_index,
        masks=_masks(masks, found),
        edge_types=found("edge_type"),
        num_nodes=data.num_nodes,
        name=name,
        **further,
    )


def from_networkx(
    graph: Any,
    features: Any = "x",
    labels: Any = "label",
    *,
    split: str = "split",
    masks: Masks = None,
    ignore: Collection[str] = (),
    name: str = "networkx",
    **further: Any,
) -> Source:
    """A data set from a networkx graph; what its nodes are called stays in predictions.

    Parameters
    ----------
    graph : any of networkx's; a directed one stays directed. The edge attribute `type`, any text, is taken along.
    features : a node attribute with a number or a list of numbers; a list of attributes with a number each; or an
        array in the order of `graph.nodes`. Attributes that no node has mean none.
    labels : a node attribute with a number or a text, or an array.
    split : the node attribute that says `train`, `val` or `test`, if any node has it.
    masks : in place of it, as in `from_arrays`.
    ignore : `"weight"` to leave weights of edges out, which lipgnn does not use.
    name, further : as in `from_arrays`.

    Raises
    ------
    DataError : an attribute that some nodes lack, weights that would be lost, or parts that do not fit.

    Examples
    --------
    >>> import networkx, lipgnn
    >>> club = networkx.karate_club_graph()
    >>> lipgnn.from_networkx(club, labels="club", ignore=["weight"])
    <networkx: 34 nodes, 78 listed edges, 0 features, 2 classes, splits none>
    """
    nodes = list(graph.nodes)
    place = {node: number for number, node in enumerate(nodes)}
    edges = list(graph.edges(data=True))
    _refuse_lost({"weight"} if any("weight" in data for *_, data in edges) else set(), ignore, "edge attribute")
    ends = np.array([[place[u], place[v]] for u, v, _ in edges], dtype=np.int64).reshape(-1, 2).T
    types = [data["type"] for *_, data in edges if "type" in data]
    if types and len(types) != len(edges):
        raise DataError(f"{len(types)} of {len(edges)} edges have the attribute 'type', and it is all or none.")
    further = {"directed": graph.is_directed(), "node_ids": list(map(str, nodes)), **further}
    return from_arrays(
        ends,
        _node_features(graph, features),
        _attribute(graph, labels, partly=True) if isinstance(labels, str) else labels,
        masks=_parts(_attribute(graph, split, partly=True)) if masks is None else masks,
        edge_types=np.unique([str(one) for one in types], return_inverse=True)[1] if types else None,
        num_nodes=len(nodes),
        name=name,
        **further,
    )


def as_data(data: Any, features: Any = None) -> str | Source:
    """Whatever a user has: the name or path of a data set as text, all else as a `Source`.

    Parameters
    ----------
    data : a name, a path, a `Source`, a graph of DGL, PyTorch Geometric or networkx, a SciPy sparse matrix, or edges.
    features : in place of those that the graph brings along.

    Raises
    ------
    DataError : it is nothing of that kind.
    """
    own = {} if features is None else {"features": features}
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        if own:
            raise DataError(f"Data set {str(data)!r} brings its features along.", "Leave features out.")
        return str(data)
    if isinstance(data, Source):
        return data if features is None else _with_features(data, features)
    if hasattr(data, "edge_index"):
        return from_pyg(data, **own)
    if hasattr(data, "ndata") and hasattr(data, "etypes"):
        return from_dgl(data, **own)
    if hasattr(data, "adjacency") and hasattr(data, "is_directed"):
        return from_networkx(data, **own)
    if hasattr(data, "tocoo"):
        return from_scipy(data, features)
    if isinstance(data, np.ndarray | list | tuple) or hasattr(data, "detach"):
        return from_arrays(data, features)
    raise DataError(
        f"A {type(data).__name__} is no data set.",
        "Give a name, a path, a graph of DGL, PyTorch Geometric or networkx, or use lipgnn.from_arrays.",
    )


def _with_features(source: Source, features: Any) -> Source:
    return dataclasses.replace(source, features=from_arrays([], features).features)


def _refuse_lost(names: Collection[str], ignore: Collection[str], what: str) -> None:
    ignored = {ignore} if isinstance(ignore, str) else set(ignore)
    if lost := sorted(set(names) - ignored):
        raise DataError(
            f"The {what} {lost[0]!r} would be lost, because lipgnn does not use it.",
            f"Leave it out with ignore=[{lost[0]!r}].",
        )


def _masks(masks: Masks, found: Any) -> Masks:
    """Masks by their names, all of them or none; others as they are."""
    if masks is None or not (isinstance(masks, Sequence) and all(isinstance(one, str) for one in masks)):
        return masks
    arrays = dict(zip(PARTS, map(found, masks), strict=True))
    if all(array is None for array in arrays.values()):
        return None
    if missing := [name for name, array in zip(masks, arrays.values(), strict=True) if array is None]:
        raise DataError(f"The graph has no {missing[0]!r} beside its other masks.")
    return arrays


def _attribute(graph: Any, name: str, *, partly: bool = False) -> list[Any] | None:
    """The values of a node attribute; None where no node has it."""
    values = [data.get(name) for _, data in graph.nodes(data=True)]
    lacking = sum(value is None for value in values)
    if lacking == len(values):
        return None
    if lacking and not partly:
        raise DataError(f"{lacking} of {len(values)} nodes lack the attribute {name!r}.")
    if lacking and all(isinstance(value, int) for value in values if value is not None):
        return [-1 if value is None else value for value in values]
    return values


def _node_features(graph: Any, features: Any) -> Any:
    if isinstance(features, str):
        values = _attribute(graph, features)
        return None if values is None else np.stack([np.atleast_1d(to_array(value)) for value in values])
    if isinstance(features, list | tuple) and features and all(isinstance(name, str) for name in features):
        columns = {name: _attribute(graph, name) for name in features}
        if missing := [name for name, column in columns.items() if column is None]:
            raise DataError(f"No node has the attribute {missing[0]!r}.")
        return np.array(list(columns.values()), dtype=np.float32).T
    return features


def _parts(words: list[Any] | None) -> Masks:
    if words is None:
        return None
    if unknown := sorted({str(word) for word in words if word} - set(PARTS)):
        raise DataError(f"The attribute 'split' is {unknown[0]!r} at a node, and none of train, val and test.")
    return {part: np.array([word == part for word in words]) for part in PARTS}
