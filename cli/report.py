"""`lipgnn report`: results to tables and figures that can be printed and defended."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cli import console
from cli.options import debug_option, json_option, results_option
from cli.report_study import merge_conditions, read_runs
from cli.report_update import update_page
from lipgnn.errors import UsageError
from lipgnn.files import to_json, write_atomic
from lipgnn.results.recordings import RECORDS, record_of

if TYPE_CHECKING:
    from lipgnn.report.table.cells import Table
    from lipgnn.report.view.printed import Printed
    from lipgnn.results.rows import Results

EPILOG = """\b
Examples:
  lipgnn report
  lipgnn report --rows norm --cols dataset,missing --best layers --published
  lipgnn report --where lr=0.005 --compare none -o table.tex
  lipgnn report --figure depth -o depth.pdf --figure-data
  lipgnn report old/results new/results.csv --html report.html
  lipgnn report --study missing --published
  lipgnn report --study depth --scale paper -o depth.pdf
  lipgnn report --update README.md
"""

FORMATS = ("text", "markdown", "latex", "csv", "json", "html")
SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".html": "html"}
# Figures of what runs have recorded; the table behind them only says which runs belong together.
RECORDED = ("heat", "largest", "profile")
FIGURES = ("depth", "curve", "box", *RECORDED, "scatter")
PICTURES = (".png", ".svg", ".pdf")
RANKS = click.Choice(("best", "second", "none"))


class Names(click.ParamType):
    """A comma-separated list of names."""

    name = "field,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(name.strip() for name in value.split(",") if name.strip())


@click.command("report", epilog=EPILOG)
@click.argument("sources", metavar="[RESULTS]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--study", metavar="NAME", help="The runs of a study that ships, laid out as it says.")
@click.option("--scale", metavar="[small|paper]", help="Of the study.  [default: the first that has results]")
@click.option("--protocol", metavar="NAME", help="Of the study.  [default: its first]")
@click.option("--rows", type=Names(), help="Fields that make the rows.  [default: model, norm, as far as they vary]")
@click.option(
    "--cols", type=Names(), help="Fields that make the columns.  [default: dataset, missing, layers likewise]"
)
@click.option(
    "--value",
    default="test_score",
    metavar="NAME",
    help="The number shown; log10_growth is that of recorded gradients from the last layer to the first.  "
    f"[default: test_score; for --figure {', '.join(RECORDED)} the first that is recorded]",
)
@click.option("--over", type=Names(), default="seed", show_default=True, help="Fields to average over.")
@click.option("--best", type=Names(), default="", help="Fields to choose in every cell by mean validation accuracy.")
@click.option("--where", multiple=True, metavar="KEY=VALUE,…", help="Only runs with one of these values; repeatable.")
@click.option("--sort", metavar="FIELD", help="Order of the rows: a row field, or value; a leading - reverses.")
@click.option("--bold", type=RANKS, default="best", show_default=True, help="What is bold in every column.")
@click.option("--underline", type=RANKS, default="second", show_default=True, help="What is underlined.")
@click.option(
    "--compare",
    "baseline",
    metavar="NORM|FIELD=VALUE",
    help="Add the paired difference to this norm, or to that value of another field, with p-value.",
)
@click.option("--published", is_flag=True, help="Put numbers of papers beside ours; of a study, their whole table.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Format of the table.  [default: text]")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write; its suffix chooses the format.")
@click.option("--figure", type=click.Choice(FIGURES), help="Draw a figure into --output instead.")
@click.option("--figure-data", is_flag=True, help="Also write the figure's numbers beside it as CSV.")
@click.option("--html", "page", type=click.Path(path_type=Path), help="Also write one page with everything.")
@click.option("--update", metavar="FILE.md", type=click.Path(path_type=Path), help="Print the tables of a page anew.")
@results_option
@json_option
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    sources: tuple[Path, ...],
    study: str | None,
    scale: str | None,
    protocol: str | None,
    update: Path | None,
    results: Path,
    where: tuple[str, ...],
    form: str | None,
    output: Path | None,
    figure: str | None,
    figure_data: bool,
    page: Path | None,
    as_json: bool,
    bold: str,
    underline: str,
    **options: Any,
) -> int:
    """Average results over seeds into a table; draw figures.

    RESULTS are stores, results.csv files, or both; the default is the store of --results, and for a study the rows
    that are kept of it there as well.
    """
    if update:
        return update_page(ctx, update)
    from lipgnn.report.figures.profiles import with_growth
    from lipgnn.report.table.layout import keep_where
    from lipgnn.report.table.values import GROWTH
    from lipgnn.report.view.printed import as_printed

    found, defaults = read_runs(study, scale, protocol, results, sources)
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if figure is None and form is None and output and output.suffix.lower() in PICTURES:
        figure = defaults.get("figure")
    if figure and figure == defaults.get("figure"):
        defaults["value"] = defaults.get("figure_value", defaults["value"])
    options |= {name: value for name, value in defaults.items() if name in options and name not in given}
    where = merge_conditions(where, defaults.get("where", ()))
    form = _form(form, output, figure, as_json)
    if figure_data and not figure:
        raise UsageError("--figure-data needs a figure.", "For example: --figure depth -o depth.pdf")
    value = options["value"]
    if figure in RECORDED:
        records = defaults.get("record") or ("similarity" if figure == "profile" else "gradients",)
        value = value if record_of(value) or "value" in given else RECORDS[records[0]][0]
        options["value"] = "test_score"
    papers = defaults.get("papers", ("",))
    runs = keep_where(found.rows, where)
    if options["value"] == GROWTH:
        runs = with_growth(runs, found)
    table = _table(runs, **options, whole=study is not None, papers=papers)
    for note in found.notes:
        console.note(note)
    if failures := len(found.failures()):
        console.note(f"Failed runs, not in the table: {failures}. A page (--html) lists them.")
    typed = shlex.join(["lipgnn", *sys.argv[1:]])
    if figure:
        _write_figure(table, found, figure, value, output, with_data=figure_data)
    else:
        _write_table(table, as_printed(table, bold=bold, underline=underline), form, output, typed)
    if page:
        from lipgnn.report.view.page import render_page

        _write(page, render_page(table, as_printed(table, bold=bold, underline=underline), found, typed))
    elif not as_json:
        console.print_next(f"{typed} --html report.html")
    return 0


def _table(
    runs: list[dict[str, Any]],
    *,
    sort: str | None,
    baseline: str | None,
    published: bool,
    whole: bool,
    papers: tuple[str, ...],
    **layout: Any,
) -> Table:
    from lipgnn.report.table.beside import add_published, complete_published
    from lipgnn.report.table.cells import build_table, compare, sort_rows
    from lipgnn.report.table.layout import choose_layout
    from lipgnn.report.table.papers import read_papers

    table = build_table(runs, choose_layout(runs, **layout))
    if baseline:
        table = compare(table, baseline)
    if published:
        known = [entry for entry in read_papers() if entry.paper.startswith(papers)]
        table = add_published(table, known)
        table = complete_published(table, known) if whole else table
    return sort_rows(table, sort) if sort else table


def _form(form: str | None, output: Path | None, figure: str | None, as_json: bool) -> str:
    """The format asked for, by option or by suffix."""
    suffix = output.suffix.lower() if output else None
    if figure:
        if suffix not in PICTURES:
            raise UsageError(f"--figure needs -o FILE with {', '.join(PICTURES)}.", f"For example: -o {figure}.pdf")
        return "figure"
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other.", "Leave one of them out.")
    if form == "text" and output:
        raise UsageError("Text is for the terminal.", f"Name a file with {', '.join(SUFFIXES)}.")
    if as_json or form:
        return form or "json"
    if suffix is not None and suffix not in SUFFIXES:
        hint = "Choose a format with --format" + (", or a --figure." if suffix in PICTURES else ".")
        raise UsageError(f"The suffix {suffix!r} is none of {', '.join(SUFFIXES)}.", hint)
    return SUFFIXES.get(suffix, "text")


def _write_table(table: Table, printed: Printed, form: str, output: Path | None, typed: str) -> None:
    from lipgnn.report.view import formats

    if form == "text" and output is None:
        _show(printed)
        return
    if form == "json" and output is None:
        console.print_json(formats.to_dict(table))
        return
    text = {
        "markdown": lambda: formats.markdown(printed),
        "latex": lambda: formats.latex(printed, typed),
        "csv": lambda: formats.csv_table(table),
        "json": lambda: to_json(formats.to_dict(table)).decode(),
        "html": lambda: formats.html_table(printed),
    }[form]()
    if output:
        _write(output, text.encode())
    else:
        click.echo(text, nl=False)


def _write_figure(table: Table, found: Results, kind: str, value: str, output: Path, *, with_data: bool) -> None:
    from lipgnn.report.figures.draw import draw
    from lipgnn.report.figures.gradients import gradient_panels
    from lipgnn.report.figures.profiles import profile_panels, scatter_panels
    from lipgnn.report.figures.series import panels_of, records
    from lipgnn.report.view.formats import to_csv

    make = {
        "heat": lambda: gradient_panels("heat", table, found, value),
        "largest": lambda: gradient_panels("largest", table, found, value),
        "profile": lambda: profile_panels(table, found, value),
        "scatter": lambda: scatter_panels(table, found),
    }
    panels = make.get(kind, lambda: panels_of(kind, table, found))()
    _write(output, draw(kind, panels, value, output.suffix.lower().removeprefix(".")))
    if with_data:
        _write(output.with_suffix(".csv"), to_csv(records(kind, panels)).encode())


def _write(path: Path, content: bytes) -> None:
    write_atomic(path, content)
    console.note(f"Written: {path}")


def _show(printed: Printed) -> None:
    from lipgnn.report.view.formats import flat_headers

    def pieces(labels: Sequence[str], entries: Sequence[Any]) -> list[list[tuple[str, str | None]]]:
        return [*([(label, None)] for label in labels), *([(e.text, e.mark), (e.remark, None)] for e in entries)]

    columns = [*printed.row_fields, *flat_headers(printed)]
    rows = (pieces(*row) for row in printed.rows)
    console.print_styled(columns, rows, labels=len(printed.row_fields), below=(printed.caption, *printed.notes))
