"""Data sets that are made when they are loaded.

GENERATED has those that are one graph, by name; trees are many, and a task of their own loads them.
"""

from collections.abc import Callable

from lipgnn.datasets.generated import complete, planted
from lipgnn.datasets.source import Source

GENERATED: dict[str, Callable[[], Source]] = {"planted": planted.generate, "complete": complete.generate}
