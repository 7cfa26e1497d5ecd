"""Data sets that are made when they are loaded.

GENERATED has those that are one graph, by name, FAMILIES those whose name goes on with a colon and numbers, by what
stands before it; trees are many graphs, and a task of their own loads them.
"""

from collections.abc import Callable

from lipgnn.datasets.generated import complete, digits_parity, minesweeper, planted
from lipgnn.datasets.source import Source

GENERATED: dict[str, Callable[[], Source]] = {
    "planted": planted.generate,
    "complete": complete.generate,
    "digits-parity": digits_parity.generate,
}
FAMILIES: dict[str, Callable[[str], Source]] = {"minesweeper": minesweeper.generate}
