"""One report: what is asked for, what a study says where nothing is asked, and the table, figure and page of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lipgnn.errors import UsageError, unknown_name
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import draw, rows_of
from lipgnn.report.figures.panel import Panel
from lipgnn.report.recorded import with_distance, with_growth
from lipgnn.report.table.beside import add_published, complete_published
from lipgnn.report.table.cells import Table, build_table, compare, sort_rows
from lipgnn.report.table.joined import check_one_experiment, further_differences
from lipgnn.report.table.layout import choose_layout, keep_where
from lipgnn.report.table.papers import read_papers
from lipgnn.report.table.values import DISTANCE, GROWTH
from lipgnn.report.view.page import render_page
from lipgnn.report.view.paper import for_paper
from lipgnn.report.view.printed import Printed, as_printed, differing_words
from lipgnn.results.archive import results_of_study
from lipgnn.results.columns import Row
from lipgnn.results.labels import read_labels
from lipgnn.results.recordings import record_of
from lipgnn.results.rows import Results, read_results
from lipgnn.results.sweeps import find_sweep
from lipgnn.spec.study import check_within_study, read_study

# In place of the name of a figure: the one that the study has.
STUDY_FIGURE = "of the study"
# What a study can say instead, with what holds where it does not.
_DEFAULTS = {
    "rows": None,
    "cols": None,
    "value": "test_score",
    "over": ("seed",),
    "best": (),
    "sort": None,
    "compare": None,
}


@dataclass(frozen=True)
class ReportRequest:
    """What a report shows; what is None is as the study says, or else as by default.

    Attributes
    ----------
    sources : stores and results.csv files, in place of what `results` has.
    results : a folder of results: its store, and for a study the archive as well.
    study, scale, protocol : the runs of a study that ships, laid out as it says.
    sweep : only the runs of this sweep, which was begun in `results`; `last` is the one that began last.
    tags : only runs that have all of these.
    rows, cols : fields that make rows and columns; by default the usual ones, as far as they vary.
    value : the number shown, by default the test score; of a figure of what runs recorded, the array.
    over : fields to average over, by default the seed.
    best : fields to choose in every cell by mean validation score, diverged runs counting as 0; by default none.
    where : conditions `key=value,…`, which replace those of the study for the same keys.
    sort : the order of the rows (see `sort_rows`).
    compare : a baseline to show differences to (see `compare`).
    published : whether numbers of papers stand beside ours; of a study without conditions, their whole table.
    bold, underline : which rank in a column is marked so: best, second or none.
    caption, label, wide : what an author wants of the table (see `lipgnn.report.view.paper.for_paper`).
    figure : the name of a figure, or STUDY_FIGURE.
    """

    sources: tuple[Path, ...] = ()
    results: Path = Path("results")
    study: str | None = None
    scale: str | None = None
    protocol: str | None = None
    sweep: str | None = None
    tags: tuple[str, ...] = ()
    rows: tuple[str, ...] | None = None
    cols: tuple[str, ...] | None = None
    value: str | None = None
    over: tuple[str, ...] | None = None
    best: tuple[str, ...] | None = None
    where: tuple[str, ...] = ()
    sort: str | None = None
    compare: str | None = None
    published: bool = False
    bold: str = "best"
    underline: str = "second"
    caption: str | None = None
    label: str | None = None
    wide: str | None = None
    figure: str | None = None


@dataclass(frozen=True)
class Report:
    """What came of a request.

    Attributes
    ----------
    table : the numbers.
    results : what was read, also runs that no cell shows.
    notes : what a reader should know of it, a sentence each.
    figure : the name of the figure asked for, if any.
    value : what that figure draws.
    """

    request: ReportRequest
    table: Table
    results: Results
    notes: tuple[str, ...]
    figure: str | None
    value: str

    @cached_property
    def printed(self) -> Printed:
        """The table as it is printed."""
        own = self.request
        printed = as_printed(self.table, bold=own.bold, underline=own.underline)
        return for_paper(printed, caption=own.caption, label=own.label, wide=own.wide)

    @cached_property
    def panels(self) -> list[Panel]:
        """The data of the figure."""
        return FIGURES[self.figure].panels(self.table, self.results, self.value)

    def picture(self, suffix: str) -> bytes:
        """The figure as a file: png, svg or pdf."""
        return draw(FIGURES[self.figure], self.panels, self.value, suffix, self.table.metrics)

    def points(self) -> list[dict[str, Any]]:
        """The numbers of the figure, a row a point."""
        return rows_of(FIGURES[self.figure], self.panels)

    def page(self, command: str) -> bytes:
        """One page of HTML with everything; `command` is shown on it as what made it."""
        return render_page(self.table, self.printed, self.results, command)


def make_report(request: ReportRequest) -> Report:
    """Read the results and lay them out.

    Raises
    ------
    UsageError : an unknown name, no results, or cells that would average what does not belong together.
    DataError : a result that cannot be used.
    """
    found, of_study, heading = _read(request)
    figure = _figure(request.figure, of_study)
    if figure is not None and figure == of_study.get("figure"):
        of_study["value"] = of_study.get("figure_value", of_study["value"])
    asked = {name: given for name in _DEFAULTS if (given := getattr(request, name)) is not None}
    options = {name: asked.get(name, of_study.get(name, default)) for name, default in _DEFAULTS.items()}
    drawn = options["value"]
    recorded = FIGURES[figure].default_value(of_study.get("record", ())) if figure is not None else None
    if recorded is not None:
        # The table behind it only says which runs belong together.
        drawn = drawn if request.value or record_of(drawn) else recorded
        options["value"] = _DEFAULTS["value"]
    runs = keep_where(_wanted(found, request), merge_conditions(request.where, of_study.get("where", ())))
    table = _table(runs, found, options)
    if request.study is None:
        # A study says itself what its runs are, and that they belong together.
        check_one_experiment(table)
        table = replace(table, differing=tuple(further_differences(table)))
    if request.published:
        papers = of_study.get("papers", ("",))
        known = [number for number in read_papers() if number.paper.startswith(papers)]
        table = add_published(table, known)
        whole = request.study is not None and not request.where
        table = complete_published(table, known) if whole else table
    if options["sort"]:
        table = sort_rows(table, options["sort"])
    # A picture has no lines below it.
    differing = [differing_words(table)] if figure is not None and table.differing else []
    return Report(request, table, found, _notes([*heading, *differing], found), figure, drawn)


def _wanted(found: Results, request: ReportRequest) -> list[Row]:
    """The rows that are of the sweep and have the tags asked for.

    Raises
    ------
    UsageError : there is no such sweep, or no row is left.
    """
    rows, of = found.rows, []
    if request.sweep is not None:
        sweep = find_sweep(request.results, request.sweep)
        rows, of = [row for row in rows if row["run_id"] in set(sweep.runs)], [f"of sweep {sweep.name!r}"]
    for tag in request.tags:
        runs = ((row, found.run(row["run_id"])) for row in rows)
        rows = [row for row, run in runs if run is not None and tag in read_labels(run.path).tags]
        of.append(f"with tag {tag!r}")
    if not rows:
        raise UsageError(f"No finished run {' and '.join(of)} is among {len(found.rows)}.", "See them: lipgnn runs")
    return rows


def merge_conditions(given: Sequence[str], of_study: Sequence[str]) -> tuple[str, ...]:
    """Conditions `key=value` that are given, and those of the study for other keys."""
    keys = {condition.partition("=")[0] for condition in given}
    return (*given, *(condition for condition in of_study if condition.partition("=")[0] not in keys))


def _read(request: ReportRequest) -> tuple[Results, dict[str, Any], list[str]]:
    """The results asked for, what their study says of its report and of what its runs record, and its heading."""
    check_within_study(request.study, request.scale, request.protocol)
    if request.study is None:
        return read_results(request.sources or [request.results]), {}, []
    study = read_study(request.study)
    found, choice = results_of_study(
        study, request.results, request.sources, scale=request.scale, protocol=request.protocol
    )
    value = study.values.get(choice.protocol) or study.report.get("value", _DEFAULTS["value"])
    return found, {**study.report, "value": value, "record": study.record}, [choice.heading]


def _figure(asked: str | None, of_study: Mapping[str, Any]) -> str | None:
    name = of_study.get("figure") if asked == STUDY_FIGURE else asked
    if asked == STUDY_FIGURE and name is None:
        raise UsageError("The study has no figure of its own.", f"Choose a --figure: {', '.join(FIGURES)}.")
    if name is not None and name not in FIGURES:
        raise unknown_name("figure", name, FIGURES)
    return name


def _table(runs: list[Row], results: Results, options: Mapping[str, Any]) -> Table:
    found_in_recordings = {GROWTH: with_growth, DISTANCE: with_distance}
    if options["value"] in found_in_recordings:
        runs = found_in_recordings[options["value"]](runs, results)
    names = ("rows", "cols", "value", "over", "best")
    table = build_table(runs, choose_layout(runs, **{name: options[name] for name in names}))
    return compare(table, options["compare"]) if options["compare"] else table


def _notes(heading: Sequence[str], results: Results) -> tuple[str, ...]:
    failures = len(results.failures())
    failed = [f"Failed runs, not in the table: {failures}. A page (--html) lists them."] if failures else []
    return (*heading, *results.notes, *failed)
