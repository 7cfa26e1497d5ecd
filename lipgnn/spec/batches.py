"""What can be trained in batches, and what among workers; no torch here."""

from __future__ import annotations

from lipgnn.errors import UsageError


def check_batches(stack: str, batch_size: int) -> None:
    """Refuse to sample neighbours for a reversible stack.

    Raises
    ------
    UsageError : every layer of a sample has fewer nodes than the one before, which leaves nothing to invert.
    """
    if batch_size and stack == "reversible":
        raise UsageError(
            f"A reversible stack needs the same nodes in every layer, which samples of batch_size {batch_size} lack.",
            "Use --batch-size 0, or --stack plain.",
        )


def check_workers(workers: int, batch_size: int) -> None:
    """Refuse to divide a graph that is trained on as a whole.

    Raises
    ------
    UsageError : says what divides it.
    """
    if workers > 1 and not batch_size:
        raise UsageError(
            f"A step on a whole graph is one item, which {workers} workers cannot divide among them.",
            "Use --batch-size 512, say: batches of nodes, with samples of their neighbours, are divided.",
        )
