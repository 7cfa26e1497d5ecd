"""Where the weights of a run start, by name; no torch here."""

from __future__ import annotations

import re

from lipgnn.errors import UsageError, did_you_mean

SCRATCH = "scratch"
COMPRESSED = "compressed"
_MODEL = re.compile("model:[0-9a-f]{16}")


def model_start(digest: str) -> str:
    """The start of a run that goes on from a saved model.

    Parameters
    ----------
    digest : SHA-256 of the file, in hexadecimal digits; the first 16 tell models apart.
    """
    return f"model:{digest[:16]}"


def check_start_name(start: str) -> None:
    """Refuse a start that is none.

    Raises
    ------
    UsageError : says which there are.
    """
    if start not in (SCRATCH, COMPRESSED) and not _MODEL.fullmatch(start):
        raise UsageError(
            f"start must be {SCRATCH} or {COMPRESSED}, got {start!r}.",
            f"{did_you_mean(start, (SCRATCH, COMPRESSED))}Use --from RUN|FILE to start from a model.",
        )


def check_start(start: str, finetune: int, head_sharing: str) -> None:
    """Refuse a start that does not go with the rest of a run.

    Raises
    ------
    UsageError : says why.
    """
    if start == COMPRESSED and head_sharing != "collab":
        raise UsageError(
            f"--start {COMPRESSED} makes collaborative heads of plain ones, and head_sharing is {head_sharing!r}.",
            "Use --head-sharing collab.",
        )
    if finetune and start != COMPRESSED:
        raise UsageError(
            f"--finetune {finetune} trains a network on that was compressed, and start is {start!r}.",
            f"Use --start {COMPRESSED}, or --epochs.",
        )
