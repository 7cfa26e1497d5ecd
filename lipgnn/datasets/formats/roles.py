"""Which column of a table is what: by its own name, by a usual one, or as the user says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from lipgnn.datasets.source import damaged
from lipgnn.errors import UsageError, unknown_name

# Usual names of what a table has, in small letters; the first is the one that is written here.
NODE_ROLES = {
    "id": ("id", "node", "node_id", "nodeid", "key"),
    "label": ("label", "class", "y", "category", "subject"),
    "split": ("split", "fold", "part", "partition"),
}
EDGE_ROLES = {
    "source": ("source", "src", "from", "u"),
    "target": ("target", "dst", "to", "v"),
    "type": ("type", "edge_type", "relation"),
    "weight": ("weight", "edge_weight", "w"),
}
# A column with this role is left out; several may have it.
IGNORE = "ignore"

Given = Mapping[str, tuple[str, ...]]


def parse_columns(text: str) -> dict[str, tuple[str, ...]]:
    """What `--columns id=paper,label=topic,ignore=title` says: for every role the columns that have it.

    Raises
    ------
    UsageError : an unknown role, or something that is no pair.
    """
    roles = (*NODE_ROLES, *EDGE_ROLES, IGNORE)
    found: dict[str, tuple[str, ...]] = {}
    for pair in text.split(","):
        role, equals, column = (part.strip() for part in pair.partition("="))
        if not (equals and column):
            raise UsageError(f"--columns takes pairs like label=topic, got {pair!r}.", "Separate them by commas.")
        if role not in roles:
            raise unknown_name("role of a column", role, roles)
        if role in found and role != IGNORE:
            raise UsageError(f"--columns gives the role {role} twice.", "Only ignore may be given several times.")
        found[role] = (*found.get(role, ()), column)
    return found


def find_roles(
    path: Path, header: Iterable[str], synonyms: Mapping[str, tuple[str, ...]], given: Given, required: Iterable[str]
) -> dict[str, str]:
    """For every role the column that has it, where there is one.

    Parameters
    ----------
    synonyms : NODE_ROLES or EDGE_ROLES.
    given : what the user says, which beats all names.
    required : roles without which the table is none.

    Raises
    ------
    DataError : a required role has no column, several columns could have one, or a column given is not there.
    """
    header = list(header)
    found = {}
    for role, names in synonyms.items():
        if role in given:
            (column,) = given[role]
            if column not in header:
                raise damaged(path, f"it has no column {column!r}", f"Its columns: {', '.join(header[:20])}.")
            found[role] = column
            continue
        free = [column for column in header if column not in given.get(IGNORE, ())]
        exact = [column for column in free if column == names[0]]
        usual = exact or [column for column in free if column.strip().lower() in names]
        if len(usual) > 1:
            raise damaged(path, f"columns {usual[0]!r} and {usual[1]!r} could both be the {role}", _say(role, usual[0]))
        if usual:
            found[role] = usual[0]
    if missing := next((role for role in required if role not in found), None):
        free = [column for column in header if column not in (*found.values(), *given.get(IGNORE, ()))]
        hint = _say(missing, free[0]) if free else f"Add a column {missing!r}."
        raise damaged(path, f"no column is the {missing}; it has {', '.join(map(repr, header[:8]))}", hint)
    return found


def check_ignored(path: Path, headers: Iterable[Iterable[str]], given: Given) -> None:
    """Refuse to leave out a column that is in none of the tables; the one that was meant would become a feature.

    Raises
    ------
    DataError : says which, and what there is.
    """
    columns = list(dict.fromkeys(column for header in headers for column in header))
    if absent := next((column for column in given.get(IGNORE, ()) if column not in columns), None):
        hint = f"Columns of nodes and edges: {', '.join(columns[:20])}."
        raise damaged(path, f"there is no column {absent!r} to ignore", hint)


def guessed(roles: Mapping[str, str], given: Given) -> list[str]:
    """What was taken for what by a usual name that is not its own, in words."""
    return [f"{column!r} as {role}" for role, column in roles.items() if role not in given and column != role]


def _say(role: str, column: str) -> str:
    return f"Say which: lipgnn datasets import … --columns {role}={column}"
