"""What a data set looks like, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from lipgnn.datasets.dataset import Dataset
from lipgnn.datasets.images import choose_split
from lipgnn.datasets.pictures import Pictures
from lipgnn.datasets.prepare import prepare_edges, prepare_types
from lipgnn.datasets.source import UNKNOWN, Source, Split
from lipgnn.datasets.trajectories import PathDataset


def describe(data: Dataset | Source) -> dict[str, Any]:
    """Statistics of a data set as its authors give it, ready for JSON.

    A duplicate is a listed edge that repeats an earlier one in the same direction, of the same type where edges have
    types; self-loops count once each.
    Where a node has several labels, a class is a task, its nodes are those whose answer is yes, and there is no
    homophily.

    Edges are counted without self-loops and duplicates: pairs if undirected, else ordered pairs. Homophily is
    the share of them whose two ends have known and equal labels, among those with two known labels. Degrees
    count neighbours (in-neighbours if directed), and components ignore direction.
    """
    source = data.source if isinstance(data, Dataset) else data
    distinct, links = _distinct(source), _links(prepare_edges(source))
    splits = {name: _sizes(split) for name, split in source.splits.items()}
    if isinstance(data, Dataset):
        splits["chosen"] = _sizes(data.split)
    return {
        "name": source.name,
        "directed": source.directed,
        "nodes": source.num_nodes,
        "edges": links.shape[1] if source.directed else links.shape[1] // 2,
        "edges_listed": source.edges.shape[1],
        "duplicates": source.edges.shape[1] - distinct.shape[1],
        "self_loops": distinct.shape[1] - _links(distinct).shape[1],
        **_types(source),
        "features": source.num_features,
        "feature_density": _density(source),
        "classes": _classes(source),
        "unlabelled": int((~source.labelled).sum()),
        "splits": splits,
        "homophily": None if source.several_labels else homophily(links, source.labels),
        **_components(links, source.num_nodes),
        **_degrees(links, source.num_nodes),
    }


def describe_paths(data: PathDataset) -> dict[str, Any]:
    """Statistics of trajectories, ready for JSON; edges are those given, without the self-loops of dead ends."""
    lengths, legs = data.lengths, np.diff(data.first_leg_edge)
    legs = legs[legs > 0]
    return {
        "name": data.name,
        "task": data.task,
        "directed": True,
        "nodes": data.num_nodes,
        "edges": data.given_edges,
        "dead_ends": len(data.sources) - data.given_edges,
        "features": data.shape[0],
        "edge_features": data.shape[1],
        "coordinates": data.coordinates is not None,
        "trajectories": len(lengths),
        "observations": {
            "total": len(data.observed_nodes),
            "nodes_each": data.observed_nodes.shape[1],
            **_spread(lengths),
        },
        "legs": {"total": len(legs), **_spread(legs)},
        "splits": {"public": _sizes(data.split)},
        "left_out": int(len(lengths) - sum(mask.sum() for mask in data.split.parts.values())),
        "out_degree": _spread(np.bincount(data.sources[: data.given_edges], minlength=data.num_nodes)),
    }


def homophily(links: np.ndarray, labels: np.ndarray) -> float | None:
    """The share of edges between nodes of one class, None if no edge has two labelled ends."""
    ends = labels[links]
    ends = ends[:, (ends != UNKNOWN).all(axis=0)]
    return float((ends[0] == ends[1]).mean()) if ends.size else None


def _links(edges: np.ndarray) -> np.ndarray:
    return edges[:, edges[0] != edges[1]]


def _distinct(source: Source) -> np.ndarray:
    """The listed edges, each once; by one number an edge, because numpy is slow at unique columns."""
    sources, targets = source.edges
    numbers, pairs = np.unique(targets * source.num_nodes + sources, return_inverse=True)
    if source.edge_types is not None:
        numbers = numbers[np.unique(pairs * source.num_edge_types + source.edge_types) // source.num_edge_types]
    return np.stack([numbers % source.num_nodes, numbers // source.num_nodes])


def _types(source: Source) -> dict[str, list[int]]:
    """How many of the prepared edges, without self-loops, are of every type; nothing where edges have no types."""
    if (types := prepare_types(source)) is None:
        return {}
    counts = np.bincount(types, minlength=source.num_edge_types + 1)[:-1]
    return {"edge_types": (counts if source.directed else counts // 2).tolist()}


def describe_images(pictures: Pictures) -> dict[str, Any]:
    """Statistics of images as their authors give them; their nodes are pixels, and a group and a reach make edges."""
    counts = np.bincount(pictures.labels, minlength=pictures.num_classes)
    return {
        "name": pictures.name,
        "task": "images",
        "images": len(pictures.images),
        "side": pictures.side,
        "nodes": pictures.side**2,
        "edges": None,
        "features": 1,
        "classes": [{"class": k, "images": int(count)} for k, count in enumerate(counts)],
        "published_test": int(pictures.test.sum()),
        "splits": {"public": _sizes(choose_split(pictures, "public"))},
    }


def _density(source: Source) -> float | None:
    features = source.features
    if features.shape[1] == 0:
        return None
    stored = features.nnz if sparse.issparse(features) else np.count_nonzero(features)
    return float(stored / (features.shape[0] * features.shape[1]))


def _classes(source: Source) -> list[dict[str, Any]]:
    if source.several_labels:
        counts = np.nansum(source.labels, axis=0, dtype=np.int64)
    else:
        counts = np.bincount(source.labels[source.labelled], minlength=source.num_classes)
    names = source.class_names or [None] * len(counts)
    return [{"class": k, "name": names[k], "nodes": int(count)} for k, count in enumerate(counts)]


def _sizes(split: Split) -> dict[str, int]:
    return {part: int(mask.sum()) for part, mask in split.parts.items()}


def _components(links: np.ndarray, num_nodes: int) -> dict[str, int]:
    ones = np.ones(links.shape[1], dtype=np.int8)
    adjacency = sparse.csr_array((ones, (links[0], links[1])), shape=(num_nodes, num_nodes))
    count, component = sparse.csgraph.connected_components(adjacency, directed=False)
    touched = np.zeros(num_nodes, dtype=bool)
    touched[links.ravel()] = True
    return {
        "components": int(count),
        "largest_component": int(np.bincount(component).max()),
        "isolated": int((~touched).sum()),
    }


def _degrees(links: np.ndarray, num_nodes: int) -> dict[str, Any]:
    degree = np.bincount(links[1], minlength=num_nodes)
    return {"degree": _spread(degree)}


def _spread(counts: np.ndarray) -> dict[str, Any]:
    return {
        "min": int(counts.min()),
        "median": float(np.median(counts)),
        "mean": float(counts.mean()),
        "max": int(counts.max()),
    }
