"""`lipgnn guide`: the pages of the manual."""

from __future__ import annotations

import click

from cli import console
from cli.options import debug_option
from lipgnn.guide import pages, read

EPILOG = """\b
Examples:
  lipgnn guide
  lipgnn guide first-run
  lipgnn guide depth | less
"""


@click.command("guide", epilog=EPILOG)
@click.argument("topic", metavar="[TOPIC]", required=False)
@debug_option
def command(topic: str | None) -> int:
    """Show a page of the guide, or list the pages.

    A terminal shows the page rendered; a pipe or a file gets it as Markdown.
    """
    if topic is None:
        console.print_table(("topic", "what is on the page"), ((page.topic, page.summary) for page in pages()))
        console.print_next("lipgnn guide first-run")
    else:
        console.print_markdown(read(topic).text)
    return 0
