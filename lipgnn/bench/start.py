"""How long the program takes until it answers: imports and help pages, each in a fresh process. No torch here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from lipgnn.bench.compare import Candidate, Tell, interleave, ratio_rows, rows_of
from lipgnn.bench.rows import Report, Row

PYTHON = "python"
IMPORTS = ("lipgnn", "torch", "dgl")
HELP_PAGES = ("--help", "train --help", "report --help")


def commands(program: Sequence[str]) -> dict[Candidate, list[str]]:
    """What is started, by name.

    Parameters
    ----------
    program : words that call `lipgnn`.
    """
    named = {PYTHON: [sys.executable, "-c", ""]}
    named |= {f"import {name}": [sys.executable, "-c", f"import {name}"] for name in IMPORTS}
    named |= {f"lipgnn {page}": [*program, *page.split()] for page in HELP_PAGES}
    return {Candidate(name): words for name, words in named.items()}


def bench_start(program: Sequence[str], repeats: int, tell: Tell) -> Report:
    """Start everything in turn; the first round only fills the cache of the disk.

    Raises
    ------
    subprocess.CalledProcessError : a command failed; its time would mean nothing.
    """
    template = Row(bench="start", measures="process", repeats=repeats)
    steps = {candidate: _starter(words) for candidate, words in commands(program).items()}
    times = interleave(steps, repeats, tell)
    page, torch = Candidate(f"lipgnn {HELP_PAGES[0]}"), Candidate("import torch")
    pairs = [(page, Candidate(PYTHON)), (torch, page)]
    return Report([*rows_of(times, {}, template), *ratio_rows(times, pairs, template)], [])


def _starter(words: list[str]) -> Callable[[], None]:
    # DGL writes into the home directory and on stdout where it is not told its backend.
    environment = {**os.environ, "DGLBACKEND": "pytorch"}

    def start() -> None:
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)

    return start
