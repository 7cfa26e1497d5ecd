"""What of a data set nothing can be learned from, in words."""

from __future__ import annotations

import numpy as np

from lipgnn.datasets.source import UNKNOWN, Source, Split

# So many classes are named; of more, how many there are.
_NAMED = 5


def unlearnable(source: Source, split: Split | None = None) -> tuple[str, ...]:
    """What a reader should know before training, a sentence each; mostly nothing.

    Parameters
    ----------
    split : by which it is trained on; classes are looked for in its parts alone.
    """
    found = []
    if not (source.edges[0] != source.edges[1]).any():
        found.append(f"{source.name!r} has no edge between two nodes, so every layer sees each node alone.")
    if source.several_labels:
        return tuple(found)
    known = np.unique(source.labels[source.labels != UNKNOWN])
    if len(known) == 1:
        found.append(f"All labels of {source.name!r} are of one class, so there is nothing to tell apart.")
    elif split is not None and len(untrained := _untrained(source.labels, split)):
        named = _named(source, untrained)
        found.append(f"No training node of {source.name!r} is of {named}, and validation or test nodes are.")
    return tuple(found)


def _untrained(labels: np.ndarray, split: Split) -> np.ndarray:
    """The classes of nodes that are scored, of which none is trained on."""
    scored = labels[(split.val | split.test) & (labels != UNKNOWN)]
    return np.setdiff1d(scored, labels[split.train])


def _named(source: Source, classes: np.ndarray) -> str:
    if len(classes) > _NAMED:
        return f"one of {len(classes)} classes"
    names = source.class_names
    return "class " + " or ".join(repr(names[one]) if names else str(one) for one in classes.tolist())
