"""What the cells of a table differ in beyond the fields that make its rows and columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from lipgnn.errors import UsageError
from lipgnn.report.table.cells import DATA_FIELDS, Key, Table, choices_between
from lipgnn.report.table.layout import GROUPS
from lipgnn.results.conditions import order
from lipgnn.spec.run import HOW

# Numbers of other data, measured in another way, or trained for another time are of another experiment.
_EXPERIMENT = (*DATA_FIELDS, "metric", "epochs")


def check_one_experiment(table: Table) -> None:
    """Refuse a table that would put numbers of different experiments side by side without a word.

    What follows from data that the table names, such as epochs that go with a data set, is of one experiment.

    Raises
    ------
    UsageError : says what differs, and the choices that there are.
    """
    shown = (*table.layout.rows, *table.layout.cols)
    varying = _varying(table, [name for name in shown if name in DATA_FIELDS])
    varying = {name: values for name, values in varying.items() if name in _EXPERIMENT}
    if "dataset" in varying:
        # Most of the others follow from it.
        others = _varying(table, ["dataset", *shown])
        varying = {name: values for name, values in varying.items() if name == "dataset" or name in others}
    if varying:
        raise UsageError(
            "The table would join different experiments: "
            f"{' and '.join(_values(name, counts) for name, counts in varying.items())}.",
            f"{', or '.join([*choices_between(varying, table.layout), 'report one sweep alone: --sweep last'])}.",
        )


def further_differences(table: Table) -> list[str]:
    """In what else the runs of a table differ, each with its values by column or by row where it goes with these."""
    texts = []
    for name, counts in _varying(table, ()).items():
        for place in (1, 0):
            if (by_key := _by_key(table, name, place)) is not None:
                texts.append(f"{name} ({'; '.join(_at(*pair) for pair in by_key.items())})")
                break
        else:
            texts.append(_values(name, counts))
    return texts


def _varying(table: Table, known: Sequence[str]) -> dict[str, Counter]:
    """The fields, in no place of the table, that have several values where the `known` ones have the same."""
    layout = table.layout
    placed = {*layout.rows, *layout.cols, *layout.over, *layout.best, *table.following, *HOW, "fingerprint", "version"}
    found = {}
    for name in GROUPS:
        if name in placed or name in known:
            continue
        by_known: dict[Key, set] = defaultdict(set)
        for cell in table.cells.values():
            by_known[tuple(cell.spec.get(other) for other in known)].add(cell.spec[name])
        if any(len(values) > 1 for values in by_known.values()):
            found[name] = Counter(cell.spec[name] for cell in table.cells.values())
    return found


def _by_key(table: Table, name: str, place: int) -> dict[str, list[Key]] | None:
    """For every value of a field the columns (place 1) or rows (0) that have it; None where one has several."""
    values: dict[Key, object] = {}
    for keys, cell in table.cells.items():
        if values.setdefault(keys[place], cell.spec[name]) != cell.spec[name]:
            return None
    found: dict[str, list[Key]] = defaultdict(list)
    for key in (table.row_keys, table.col_keys)[place]:
        found[_text(values[key])].append(key)
    return dict(found)


def _at(value: str, keys: Sequence[Key]) -> str:
    """A value with the rows or columns that have it."""
    return f"{value} at {', '.join('/'.join(map(_text, key)) for key in keys)}"


def _values(name: str, counts: Mapping[object, int]) -> str:
    return f"{name} ({', '.join(_text(value) for value in sorted(counts, key=lambda v: order(name, v))[:8])})"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
