"""`lipgnn sweep --pack` and `--unpack`: a run that is half computed, from one place to another."""

from __future__ import annotations

from pathlib import Path

from cli import console
from cli.options import results_words
from lipgnn.errors import UsageError
from lipgnn.results.packing import SUFFIX, pack, unpack
from lipgnn.results.store import Store
from lipgnn.spec.sources import command_for


def hand_on(packed: str | None, unpacked: Path | None, results: Path, *, force: bool) -> int:
    """Pack a run of a store, or unpack one into it.

    Raises
    ------
    UsageError : both are asked for.
    """
    if packed and unpacked:
        raise UsageError("--pack and --unpack are two steps, in two places.", "Give one of them.")
    return pack_run(packed, results) if packed else unpack_run(unpacked, results, force=force)


def pack_run(reference: str, results: Path) -> int:
    """Write a run of a store into a file of the current folder, and say what to do with it."""
    run = Store(results).find(reference)
    path = Path(run.id + SUFFIX)
    epoch = pack(run, path)
    size = path.stat().st_size / 1e6
    console.note(f"Packed: run {run.id} after epoch {epoch} is in {path} ({size:.1f} MB).")
    console.print_next(f"lipgnn sweep --unpack {path}")
    return 0


def unpack_run(path: Path, results: Path, *, force: bool) -> int:
    """Put the run of a file into a store, and say what goes on with it."""
    run_id, spec, epoch = unpack(path, Store(results), force=force)
    console.note(f"Unpacked: run {run_id} is here with its state after epoch {epoch}.")
    console.print_next(command_for(spec, *results_words(results)))
    return 0
