"""GraphML and GEXF files, as Gephi, yEd, igraph and networkx write them.

Attributes of nodes and edges are taken as the columns of two tables (see `lipgnn.datasets.formats.tables`): one is the
class, one the split, and all others are features. The `label` of a GEXF node is the text to be shown beside it and no
class; a class there is an attribute of another name, such as `class`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lipgnn.datasets.formats.records import Columns
from lipgnn.datasets.formats.roles import IGNORE, Given
from lipgnn.datasets.formats.tables import from_columns
from lipgnn.datasets.limits import check_memory
from lipgnn.datasets.source import Source, damaged

# Bytes of memory that a byte of such a file takes at most, as networkx's dictionaries.
_GROWTH = 30
# What a program draws a node or an edge by, and what GEXF numbers its edges with.
_DRAWING = {"viz", "label", "id"}


def read_graph_file(path: Path, given: Given | None = None) -> Source:
    """Read a file in either format, by its suffix.

    Raises
    ------
    DataError : the file is missing or damaged, or its attributes are no columns of such tables.
    """
    graph = _load(path)
    drawing = _DRAWING if path.suffix.lower() == ".gexf" else set()
    nodes = _columns(((("id", str(node)), *data.items()) for node, data in graph.nodes(data=True)), drawing - {"id"})
    edges = _columns(
        ((("source", str(u)), ("target", str(v)), *data.items()) for u, v, data in graph.edges(data=True)), drawing
    )
    if "weight" not in (named := given or {}) and "weight" not in named.get(IGNORE, ()):
        edges = _without_ones(edges)
    return from_columns((path, nodes), (path, edges), name=path.stem, given=given, directed=graph.is_directed())


class GraphFiles:
    """GraphML and GEXF as a `lipgnn.datasets.formats.Format`."""

    description = "a GraphML or GEXF file"
    read = staticmethod(read_graph_file)

    def recognizes(self, path: Path) -> bool:
        return path.is_file() and path.suffix.lower() in (".graphml", ".gexf")


def _load(path: Path) -> Any:
    """The graph of networkx, whose parser neither runs code nor follows references to other files."""
    import networkx

    readers: Mapping[str, Callable[[Path], Any]] = {".graphml": networkx.read_graphml, ".gexf": networkx.read_gexf}
    try:
        size = path.stat().st_size
        check_memory(path, _GROWTH * size, size)
        return readers[path.suffix.lower()](path)
    except (OSError, ValueError, TypeError, KeyError, SyntaxError, AttributeError, networkx.NetworkXError) as error:
        # A parse error of XML is a SyntaxError.
        raise damaged(path, f"it is no {path.suffix[1:]} file ({error})") from error


def _columns(rows: Iterable[Iterable[tuple[str, Any]]], left_out: set[str]) -> Columns:
    """Rows of pairs as columns; where a row has no value there is a hole."""
    rows = [dict(row) for row in rows]
    names = dict.fromkeys(name for row in rows for name in row if name not in left_out)
    return {name: [row.get(name) for row in rows] for name in names} or {"id": [], "source": [], "target": []}


def _without_ones(edges: Columns) -> Columns:
    """GEXF gives every edge the weight 1 where it has none; that says nothing."""
    ones = all(weight in (None, 1, 1.0) for weight in edges.get("weight", ()))
    return {name: column for name, column in edges.items() if not (name == "weight" and ones)}
