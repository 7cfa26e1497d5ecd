"""`lipgnn.report`: results to tables and figures that can be printed and defended. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.api.display import shown
from lipgnn.api.places import Place, store_at
from lipgnn.errors import unknown_name
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import sheet_of
from lipgnn.report.request import STUDY_FIGURE, Report, ReportRequest, make_report
from lipgnn.report.view import formats
from lipgnn.report.view.paper import WIDE, for_paper

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Names = str | Sequence[str] | None
Where = Mapping[str, Any] | str | Sequence[str]


class Table:
    """Results averaged into a table.

    Attributes
    ----------
    found : the report as the rest of the library has it.
    """

    def __init__(self, found: Report, call: str = ""):
        self.found = found
        self._call = call

    @property
    def caption(self) -> str:
        """What the numbers are: the metric, over which seeds, how many."""
        return self.found.printed.caption

    @property
    def notes(self) -> list[str]:
        """What else a reader must know, a sentence each."""
        return [*self.found.notes, *self.found.printed.notes]

    def to_pandas(self) -> pandas.DataFrame:
        """A row for every cell: the fields of its row and column, then mean, std, n and so on, not rounded."""
        import pandas

        rows = [{**one["row"], **one["col"], **_numbers(one)} for one in self.to_dict()["cells"]]
        return pandas.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Every cell with its numbers and the ids of its runs: the object of `lipgnn report --json`."""
        return formats.to_dict(self.found.table)

    def to_latex(self, *, caption: str | None = None, label: str | None = None, wide: str | None = None) -> str:
        r"""A `table` for \usepackage{booktabs}, the best in bold and the second underlined.

        Parameters
        ----------
        caption : in place of the one that says what the numbers are, which then stands below the table.
        label : the name for \ref, such as "tab:depth".
        wide : "break" the columns of a wide table into blocks, or "turn" it on its side.

        Raises
        ------
        UsageError : a label that LaTeX would not take, or another word for `wide`.
        """
        if wide not in (None, *WIDE):
            raise unknown_name("form of a wide table", wide, WIDE)
        return formats.latex(for_paper(self.found.printed, caption=caption, label=label, wide=wide), self._call)

    def to_markdown(self) -> str:
        """A table of pipes with its caption and notes."""
        return formats.markdown(self.found.printed)

    def to_csv(self) -> str:
        """A line for every cell, with its numbers as they are."""
        return formats.csv_table(self.found.table)

    def to_html(self) -> str:
        """A `<table>` with its caption and notes."""
        return formats.html_table(self.found.printed)

    def figure(self, name: str | None = None, *, value: str | None = None) -> Figure:
        """A figure of the same runs, as an object of matplotlib.

        Parameters
        ----------
        name : one of `lipgnn.report.figures.FIGURES`, such as "depth", "box" or "curve"; by default that of the study,
            or "depth".
        value : what is drawn, by default what the table shows.

        Raises
        ------
        UsageError : an unknown name, or runs that lack what the figure shows.

        Examples
        --------
        >>> import lipgnn
        >>> for layers in (2, 4):
        ...     run = lipgnn.train("planted", layers=layers, epochs=2)
        >>> table = lipgnn.report(rows="norm", cols="layers", where={"dataset": "planted", "epochs": 2})
        >>> table.figure("depth").savefig("depth.pdf")
        """
        request = self.found.request
        chosen = name or (STUDY_FIGURE if request.study else "depth")
        drawn = make_report(replace(request, figure=chosen, value=value or request.value))
        return shown(sheet_of(FIGURES[drawn.figure], drawn.panels, drawn.value, drawn.table.metrics))

    def __repr__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return self.to_html()


def report(
    *sources: Place,
    results: Place | None = None,
    study: str | None = None,
    scale: str | None = None,
    protocol: str | None = None,
    sweep: str | None = None,
    tags: Names = None,
    rows: Names = None,
    cols: Names = None,
    value: str | None = None,
    over: Names = None,
    best: Names = None,
    where: Where = (),
    sort: str | None = None,
    compare: str | None = None,
    published: bool = False,
    bold: str = "best",
    underline: str = "second",
) -> Table:
    """Average results over seeds into a table.

    Parameters
    ----------
    sources : stores and results.csv files, in place of the store of `results`.
    results : the store; by default that of the command line.
    study, scale, protocol : the runs of a study that ships, laid out as it says.
    sweep : only the runs of the sweep of this name; "last" is the one that began last.
    tags : only runs that have all of these.
    rows, cols : a field or several, whose values make the rows and the columns; by default the usual ones that vary.
    value : the number shown, by default "test_score".
    over : fields to average over, by default the seed.
    best : fields to choose in every cell by the mean validation score.
    where : which runs: `{"lr": 0.005, "norm": ["none", "lip"]}`, or texts such as "lr=0.005".
    sort : a row field, or "value"; a leading - reverses the order.
    compare : a norm, or "field=value", to show paired differences to.
    published : put the numbers of papers beside ours.
    bold, underline : which rank of every column is marked so: best, second or none.

    Returns
    -------
    a table with `to_pandas`, `to_latex`, `to_markdown`, `to_csv`, `to_html` and `figure`; a notebook shows it.

    Raises
    ------
    UsageError : an unknown name, no results, or cells that would average what does not belong together.
    DataError : a result that cannot be used.

    Examples
    --------
    >>> import lipgnn
    >>> for seed in range(2):
    ...     run = lipgnn.train("planted", layers=2, epochs=3, seed=seed)
    >>> table = lipgnn.report(rows="norm", cols="layers", where={"dataset": "planted", "epochs": 3})
    >>> table.to_pandas()["n"].tolist()
    [2]
    """
    given = {
        **{"study": study, "scale": scale, "protocol": protocol, "sweep": sweep, "tags": _names(tags) or ()},
        **{"rows": _names(rows), "cols": _names(cols), "value": value, "over": _names(over), "best": _names(best)},
        **{"where": _conditions(where), "sort": sort, "compare": compare, "published": published},
        **{"bold": bold, "underline": underline},
    }
    request = ReportRequest(tuple(map(Path, sources)), store_at(results).root, **given)
    defaults = ReportRequest()
    said = ", ".join(f"{name}={one!r}" for name, one in given.items() if one != getattr(defaults, name))
    return Table(make_report(request), f"lipgnn.report({said})")


def _names(names: Names) -> tuple[str, ...] | None:
    if names is None:
        return None
    return tuple(name.strip() for name in names.split(",") if name.strip()) if isinstance(names, str) else tuple(names)


def _conditions(where: Where) -> tuple[str, ...]:
    if isinstance(where, str):
        return (where,)
    if not isinstance(where, Mapping):
        return tuple(where)
    several = (list, tuple, set, range)
    values = {key: one if isinstance(one, several) else [one] for key, one in where.items()}
    return tuple(f"{key}={','.join(map(str, one))}" for key, one in values.items())


def _numbers(one: Mapping[str, Any]) -> dict[str, Any]:
    """What a cell has beside its place; a difference to the baseline and a paper's number as columns of their own."""
    numbers = {name: one[name] for name in ("metric", "mean", "std", "n", "diverged")}
    numbers |= {f"best_{name}": chosen for name, chosen in (one["best"] or {}).items()}
    for name in ("difference", "published"):
        numbers |= {f"{name}_{key}": number for key, number in (one.get(name) or {}).items()}
    return {**numbers, "runs": one["runs"]}
