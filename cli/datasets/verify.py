"""`lipgnn datasets verify`: whether data sets are whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.datasets.show import available
from cli.options import debug_option, json_option
from lipgnn.catalog import DATASETS, DatasetEntry, FileEntry, dataset_entry
from lipgnn.errors import DataError, LipgnnError, UsageError

if TYPE_CHECKING:
    from lipgnn.datasets import Source


@click.command("verify")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
@debug_option
def verify(names: tuple[str, ...], as_json: bool) -> int:
    """Check whether data sets are whole.

    Every data set is read from end to end. Those that ship, or were fetched, are compared with what is known of them.
    """
    rows = [_verdict(name) for name in names or [name for name, _, _ in available()]]
    if as_json:
        console.print_json(rows)
    else:
        console.print_table(("name", "verdict", "detail"), (row.values() for row in rows))
    return DataError.exit_code if any(row["verdict"] == "damaged" for row in rows) else 0


def _verdict(name: str) -> dict[str, Any]:
    from lipgnn.datasets import read
    from lipgnn.datasets.images import form_of, has_images, read_pictures
    from lipgnn.datasets.paths import has_trajectories, read_paths
    from lipgnn.tasks import identify

    try:
        if has_images(name):
            pictures = read_pictures(form_of(name)[0])
            fingerprint = identify(name)
            detail = f"{len(pictures.images):,} images, fingerprint {fingerprint}"
            return _known(name, fingerprint) or {"name": name, "verdict": "readable", "detail": detail}
        if has_trajectories(name):
            data = read_paths(name)
            detail = f"{data.num_nodes:,} nodes, {len(data.lengths):,} trajectories, fingerprint {data.fingerprint}"
            return {"name": name, "verdict": "readable", "detail": detail}
        source = read(name)
        known = DATASETS[name].fingerprint if name in DATASETS else None
        return _known(name, identify(name)) if known else {"name": name, **_compared(source, dataset_entry(name))}
    except UsageError:
        raise
    except LipgnnError as error:
        return {"name": name, "verdict": "damaged", "detail": error.message}


def _known(name: str, fingerprint: str) -> dict[str, str] | None:
    """The verdict on a data set whose fingerprint is known; None for others."""
    expected = DATASETS[name].fingerprint if name in DATASETS else None
    if expected is None:
        return None
    if fingerprint != expected:
        return {"name": name, "verdict": "damaged", "detail": f"fingerprint {fingerprint}, not {expected}"}
    return {"name": name, "verdict": "whole", "detail": f"fingerprint {fingerprint}"}


def _compared(source: Source, entry: DatasetEntry | None) -> dict[str, str]:
    """A data set without a known fingerprint: its file beside the published one, or its files as they were fetched."""
    from lipgnn.datasets.fetching.download import sha256_of_file
    from lipgnn.datasets.fetching.placing import changed_files

    if isinstance(entry, FileEntry) and entry.sha256 and Path(source.origin).is_file():
        digest = sha256_of_file(Path(source.origin))
        if digest == entry.sha256:
            return {"verdict": "whole", "detail": "the file as it is published"}
        return {"verdict": "damaged", "detail": f"sha256 {digest}, and {entry.sha256} is published"}
    changed = changed_files(Path(source.origin))
    if changed is None:
        return {"verdict": "readable", "detail": f"{source.num_nodes:,} nodes"}
    if changed:
        return {"verdict": "damaged", "detail": f"not as it was fetched: {', '.join(changed)}"}
    return {"verdict": "whole", "detail": "every file as it was fetched"}
