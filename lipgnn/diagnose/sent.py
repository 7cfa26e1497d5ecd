"""Which layers ever send their gradients, of a run that compresses them; no torch here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lipgnn.results.run import Run


def sent_parts(model: Path | None) -> list[dict[str, Any]] | None:
    """Of encoder, layers and decoder, the `share` of their gradients that was ever sent, each with its `part`.

    A part that has no gradient has None. None where there is no such run: the model is not in the folder of one, or
    all of every gradient was sent.

    Parameters
    ----------
    model : the file of a run's model; None for a new network.
    """
    result = Run(model.parent).result() if model is not None and model.parent.is_dir() else None
    if not result or not result.get("sent_shares"):
        return None
    shares = [None if word == "-" else float(word) for word in result["sent_shares"].split()]
    parts = ["encoder", *(f"layer {number}" for number in range(1, len(shares) - 1)), "decoder"]
    return [{"part": part, "share": share} for part, share in zip(parts, shares, strict=True)]


def silent_parts(parts: Sequence[dict[str, Any]]) -> str | None:
    """A sentence about parts that never sent anything; None where all did."""
    silent = [part["part"] for part in parts if part["share"] == 0]
    if not silent:
        return None
    names = silent[0] if len(silent) == 1 else f"{', '.join(silent[:-1])} and {silent[-1]}"
    was = "was" if len(silent) == 1 else "were"
    return f"Of the gradients of {names} nothing was ever sent, so {names} {was} never trained."
