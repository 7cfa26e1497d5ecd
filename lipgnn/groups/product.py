"""The graph of points × group: attention on it, with a code for every type of edge, respects the group.

A node is a pair (i, h) of a point and a group element. An edge (j, ĥ) → (i, h) is there where points j and i are
related, and its type is

    ( h⁻¹·(j, i),  h⁻¹ĥ )

that is, the label of the pair as h sees it, and what leads from h to ĥ. For pixels the label is the offset x_j − x_i,
and h sees it turned by h⁻¹. Multiplying both ends by any g changes neither part of the type, and maps the edges onto
themselves; so whatever a layer computes from types and features alone is equivariant, with any weights.

This form is ours; it replaces the group layer of Romero & Cordonnier, "Group Equivariant Stand-Alone Self-Attention
For Vision", ICLR 2021, whose code of three group elements is not invariant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lipgnn.errors import UsageError
from lipgnn.groups.action import Action


@dataclass(frozen=True, eq=False)
class Relation:
    """Pairs of points that see each other, with a label for how they lie to each other.

    Attributes
    ----------
    sources, targets : (K,) int64; a pair (j, i), each once, in which i looks at j.
    labels : (K,) int64 from 0 on, such as the number of an offset.
    """

    sources: np.ndarray
    targets: np.ndarray
    labels: np.ndarray

    @property
    def num_labels(self) -> int:
        return int(self.labels.max()) + 1


@dataclass(frozen=True, eq=False)
class ProductGraph:
    """Edges between pairs of a point and a group element; pair (p, h) of n elements is node p·n + h.

    Attributes
    ----------
    action : of the group on the points.
    sources, targets, types : (E,) int64, ordered by target and source.
    num_types : one more than the largest type there may be.
    """

    action: Action
    sources: np.ndarray
    targets: np.ndarray
    types: np.ndarray
    num_types: int

    @property
    def num_nodes(self) -> int:
        return self.action.points * self.action.group.order


def product_graph(action: Action, relation: Relation) -> ProductGraph:
    """The graph whose edges carry the type ( h⁻¹·(j, i), h⁻¹ĥ ), numbered label·n + quotient.

    Raises
    ------
    UsageError : the group does not act on the related pairs: one is moved to a pair that is none, or two pairs of one
        label to pairs of different ones.
    """
    group, size = action.group, action.group.order
    seen = moved_labels(action, relation)[group.inverses]  # (n, K): the labels as every h sees them
    pairs, own, other = np.indices((len(relation.labels), size, size)).reshape(3, -1)
    sources = relation.sources[pairs] * size + other
    targets = relation.targets[pairs] * size + own
    types = seen[own, pairs] * size + group.quotients[own, other]
    order = np.lexsort((sources, targets))
    return ProductGraph(action, sources[order], targets[order], types[order], relation.num_labels * size)


def moved_labels(action: Action, relation: Relation) -> np.ndarray:
    """(n, K): the label that every pair has where an element has moved both of its points; errors as above."""
    points, labels = action.points, relation.labels
    label_of = np.full(points * points, -1)
    label_of[relation.sources * points + relation.targets] = labels
    moved = label_of[action.moves[:, relation.sources] * points + action.moves[:, relation.targets]]
    if (moved < 0).any():
        element, pair = np.argwhere(moved < 0)[0]
        raise _refused(
            action, f"element {element} moves the pair of points {_pair(relation, pair)} to one that is none"
        )
    first = np.zeros(relation.num_labels, dtype=np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    if (differing := moved != moved[:, first[labels]]).any():
        element, pair = np.argwhere(differing)[0]
        raise _refused(
            action,
            f"element {element} gives the pairs of points {_pair(relation, first[labels[pair]])} and "
            f"{_pair(relation, pair)} different labels, and they have one",
        )
    return moved


def _pair(relation: Relation, number: int) -> str:
    return f"({relation.sources[number]}, {relation.targets[number]})"


def _refused(action: Action, reason: str) -> UsageError:
    return UsageError(
        f"Group {action.group.name!r} does not act on the pairs of points that see each other: {reason}.",
        "Relate points in a way that the group leaves alone.",
    )
