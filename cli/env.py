"""`lipgnn env`: what is installed, what it can do, and what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cli import console
from cli.options import debug_option, json_option, results_option
from lipgnn.errors import EnvironmentBroken

EPILOG = """\b
Examples:
  lipgnn env
  lipgnn env --json
"""


@click.command("env", epilog=EPILOG)
@results_option
@json_option
@debug_option
def command(results: Path, as_json: bool) -> int:
    """Show versions, devices, paths, and how to fix what is wrong."""
    console.loading()

    from lipgnn import __version__
    from lipgnn.datasets.cache import cache_directory
    from lipgnn.datasets.locate import data_directory, shipped_directory
    from lipgnn.runtime import describe_environment

    facts = {"lipgnn": __version__, **describe_environment()}
    if facts["dgl_fits_torch"]:
        from lipgnn.kernels import obstacles

        facts["kernels"] = obstacles()
    facts["paths"] = {
        "shipped data": str(shipped_directory()),
        "data": str(data_directory()),
        "cache": str(cache_directory()),
        "results": str(results.absolute()),
    }
    facts["variables"] = {name: value for name, value in sorted(os.environ.items()) if name.startswith("LIPGNN_")}
    if as_json:
        console.print_json(facts)
    else:
        _show(facts)
    return EnvironmentBroken.exit_code if facts["problems"] else 0


def _show(facts: dict) -> None:
    cuda = facts.get("cuda")
    rows = [("lipgnn", facts["lipgnn"]), ("Python", facts["python"])]
    rows += [(package, version or "not installed") for package, version in facts["versions"].items()]
    rows += [
        ("DGL fits torch", "yes: imported, and messages pass" if facts["dgl_fits_torch"] else "no"),
        ("cores", str(facts["cores"])),
        ("threads", str(facts.get("threads", console.DASH))),
        ("CUDA", "unknown" if cuda is None else f"{'yes' if cuda['usable'] else 'no'}: {cuda['reason']}"),
        *(
            (f"kernel {name}", f"no: {reason}" if reason else "yes")
            for name, reason in facts.get("kernels", {}).items()
        ),
        *facts["paths"].items(),
        *facts["variables"].items(),
    ]
    console.print_panel("Environment", rows, good=not facts["problems"])
    for problem in facts["problems"]:
        console.fail(problem["what"], problem["fix"])
    if not facts["problems"]:
        console.note("All is well.")
