"""`lipgnn report`: results to tables and figures that can be printed and defended."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.options import debug_option, json_option, results_option
from cli.outputs import OutputFile, check_picture
from cli.report_update import update_page
from lipgnn.errors import UsageError
from lipgnn.files import write_atomic
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.canvas import SUFFIXES as PICTURES
from lipgnn.report.request import STUDY_FIGURE, Report, ReportRequest, make_report
from lipgnn.report.view import formats
from lipgnn.report.view.paper import WIDE, blocks

if TYPE_CHECKING:
    from lipgnn.report.view.printed import Printed

EPILOG = """\b
Examples:
  lipgnn report
  lipgnn report --sweep last
  lipgnn report --rows norm --cols dataset,missing --best layers --published
  lipgnn report --where lr=0.005 --compare none -o table.tex
  lipgnn report --figure depth -o depth.pdf --figure-data
  lipgnn report old/results new/results.csv --html report.html
  lipgnn report --study missing --published
  lipgnn report --study depth --scale paper -o depth.pdf
  lipgnn report --update README.md
"""

RANKS = click.Choice(("best", "second", "none"))


class Names(click.ParamType):
    """A comma-separated list of names."""

    name = "field,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(name.strip() for name in value.split(",") if name.strip())


@click.command("report", epilog=EPILOG)
@click.argument("sources", metavar="[RESULTS]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--study", metavar="NAME", help="Show the runs of a study that ships, laid out as it says.")
@click.option(
    "--scale",
    metavar="[small|decide|paper]",
    help="Take the study at this scale.  [default: the first that has results]",
)
@click.option("--protocol", metavar="NAME", help="Take the study with this protocol.  [default: its first]")
@click.option("--sweep", metavar="[last|NAME]", help="Take only the runs of this sweep; last is the latest one.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Take only runs with this tag; this may be repeated.")
@click.option(
    "--rows", type=Names(), help="Make the rows of these fields.  [default: model, norm, as far as they vary]"
)
@click.option(
    "--cols",
    type=Names(),
    help="Make the columns of these fields.  [default: dataset, missing, layers, as far as they vary]",
)
@click.option(
    "--value",
    metavar="NAME",
    help="Show this number; log10_growth is the growth of recorded gradients from the last layer to the first.  "
    "[default: test_score; for a figure of recorded numbers, the first of these]",
)
@click.option("--over", type=Names(), help="Average over these fields.  [default: seed]")
@click.option(
    "--best",
    type=Names(),
    help="Choose these fields in every cell by the mean validation score, where diverged runs count as 0.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE,…",
    help="Take only runs with one of these values; this may be repeated.",
)
@click.option(
    "--sort", metavar="FIELD", help="Order the rows by a row field, or by value; a leading - reverses the order."
)
@click.option(
    "--bold",
    type=RANKS,
    default="best",
    show_default=True,
    help="Print the best or the second number of every column in bold.",
)
@click.option(
    "--underline",
    type=RANKS,
    default="second",
    show_default=True,
    help="Underline the best or the second number of every column.",
)
@click.option(
    "--compare",
    metavar="NORM|FIELD=VALUE",
    help="Add the paired difference to this norm, or to that value of another field, with p-value.",
)
@click.option(
    "--caption", metavar="TEXT", help="Give the table this caption; what its numbers are then stands below the table."
)
@click.option("--label", metavar="NAME", help="Give a LaTeX table this label, for \\ref.")
@click.option(
    "--wide",
    type=click.Choice(WIDE),
    help="Make a wide LaTeX table fit the page: break it into blocks of columns, or turn it on its side.",
)
@click.option(
    "--published", is_flag=True, help="Put the numbers of papers beside ours; with a study, their whole tables."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", *formats.FORMATS)),
    help="Print the table in this format.  [default: text]",
)
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    metavar="FILE",
    help="Write to this file; its suffix chooses the format.",
)
@click.option("--figure", metavar=f"[{'|'.join(FIGURES)}]", help="Draw this figure into --output, in place of a table.")
@click.option("--figure-data", is_flag=True, help="Write the numbers of the figure as CSV into a file beside it.")
@click.option(
    "--html",
    "page",
    type=OutputFile(),
    metavar="FILE",
    help="Write a page with table, figures and all runs into this file as well.",
)
@click.option(
    "--update",
    metavar="FILE.md",
    type=click.Path(path_type=Path),
    help="Bring the tables in this page up to date, and do nothing else.",
)
@results_option
@json_option
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    update: Path | None,
    form: str | None,
    output: Path | None,
    figure: str | None,
    figure_data: bool,
    page: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Average results over seeds into a table, or draw a figure.

    RESULTS are stores, results.csv files, or both; the default is the store of --results, and for a study the rows
    that are archived of it there as well.
    """
    if update:
        return update_page(ctx, update)
    form = _form(form, output, figure, as_json=as_json, of_study=options["study"] is not None)
    _check_form(form, figure_data=figure_data, **{name: options[name] for name in ("caption", "label", "wide")})
    wanted = (figure or STUDY_FIGURE) if form == "figure" else None
    report = make_report(ReportRequest(figure=wanted, **options))
    for note in report.notes:
        console.note(note)
    typed = shlex.join(["lipgnn", *sys.argv[1:]])
    if form == "figure":
        _write(output, report.picture(_suffix(output)))
        if figure_data:
            _write(output.with_suffix(".csv"), formats.to_csv(report.points()).encode())
    else:
        _write_table(report, form, output, typed)
    if page:
        _write(page, report.page(typed))
    elif not as_json:
        console.print_next(f"{typed} --html report.html")
    return 0


def _form(form: str | None, output: Path | None, figure: str | None, *, as_json: bool, of_study: bool) -> str:
    """The format asked for, by option or by suffix; "figure" for a picture, which a study may choose."""
    suffix = _suffix(output) if output else None
    tables = ", ".join(f".{name}" for name in formats.SUFFIXES)
    if figure:
        check_picture(figure, output)
    if figure or (form is None and suffix in PICTURES and of_study):
        if form or as_json:
            asked = f"--format {form}" if form else "--json"
            raise UsageError(
                f"{asked} is of tables, and into {str(output)!r} a figure is drawn.",
                "Leave it out; --figure-data writes the numbers of a figure as CSV.",
            )
        return "figure"
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other.", "Leave one of them out.")
    if form == "text" and output:
        raise UsageError("Text is for the terminal.", f"Name a file with {tables}.")
    if as_json or form:
        return form or "json"
    if suffix is not None and suffix not in formats.SUFFIXES:
        hint = "Choose a format with --format" + (", or a --figure." if suffix in PICTURES else ".")
        raise UsageError(f"The suffix {output.suffix!r} is none of {tables}.", hint)
    return formats.SUFFIXES.get(suffix, "text")


def _check_form(form: str, *, figure_data: bool, caption: str | None, label: str | None, wide: str | None) -> None:
    """Refuse what the chosen format does not have.

    Raises
    ------
    UsageError : it has no such thing.
    """
    if figure_data and form != "figure":
        raise UsageError("--figure-data needs a figure.", "For example: --figure depth -o depth.pdf")
    for name, value in (("label", label), ("wide", wide)):
        if value is not None and form != "latex":
            raise UsageError(f"--{name} is of LaTeX tables.", "For example: -o table.tex")
    if caption is not None and form in ("figure", "csv", "json"):
        kind = "A figure" if form == "figure" else f"A {form} file"
        raise UsageError(f"{kind} has no caption.", "Leave --caption out.")


def _suffix(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def _write_table(report: Report, form: str, output: Path | None, typed: str) -> None:
    if form == "text":
        _show(report.printed)
        return
    if form == "json" and output is None:
        console.print_json(formats.to_dict(report.table))
        return
    if form == "latex" and len(blocks(report.printed)) > 1 and report.printed.wide is None:
        console.note("The table is wider than a page; --wide break or --wide turn makes it fit.")
    text = formats.render(form, report.table, report.printed, typed)
    if output:
        _write(output, text.encode())
    else:
        click.echo(text, nl=False)


def _write(path: Path, content: bytes) -> None:
    write_atomic(path, content)
    console.note(f"Written: {path}")


def _show(printed: Printed) -> None:
    def pieces(labels: Sequence[str], entries: Sequence[Any]) -> list[list[tuple[str, str | None]]]:
        return [*([(label, None)] for label in labels), *([(e.text, e.mark), (e.remark, None)] for e in entries)]

    # A terminal shows every header on one line, in cells with a space to either side and one between them.
    flat = replace(printed, headers=[[(text, 1) for text in formats.flat_headers(printed)]])
    parts = blocks(flat, console.width_of_data() - 1, between=3)
    for place, part in enumerate(parts, start=1):
        columns = [*part.row_fields, *(text for text, _ in part.headers[0])]
        below = (part.caption, *part.notes) if place == len(parts) else ()
        rows = (pieces(*row) for row in part.rows)
        console.print_styled(columns, rows, labels=len(part.row_fields), below=below)
