"""`lipgnn datasets fetch`: data sets from the web into the data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.options import debug_option, json_option
from cli.progress import ByteProgress

if TYPE_CHECKING:
    from lipgnn.datasets.fetching.fetch import Offer

EPILOG = """\b
Examples:
  lipgnn datasets fetch ogbn-arxiv
  lipgnn datasets fetch minesweeper roman-empire coauthor-cs
"""


@click.command("fetch", epilog=EPILOG)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Fetch a data set again that is already there, and replace it.")
@json_option
@debug_option
def fetch(names: tuple[str, ...], force: bool, as_json: bool) -> int:
    """Download data sets; the same command goes on where it was interrupted.

    They are those of OGB, of heterophilous-graphs such as minesweeper, and of gnn-benchmark such as coauthor-cs.
    """
    from lipgnn.datasets.fetching.fetch import place_of

    # A wrong name is refused before the first byte of a right one.
    places = {name: place_of(name) for name in names}
    rows = []
    for name, place in places.items():
        if place.exists() and not force:
            console.note(f"{name} is there already: {place}; --force fetches it again.")
            rows.append({"name": name, "status": "there", "path": str(place)})
        else:
            rows.append(_fetch(name))
    if as_json:
        console.print_json(rows)
    console.print_next(*(f"lipgnn datasets show {name}" for name in places))
    return 0


def _fetch(name: str) -> dict[str, Any]:
    from lipgnn.datasets.fetching import fetch as library

    offer = library.make_offer(name)
    console.note(f"{name}: {offer.url}")
    for line in _facts(offer):
        console.note(f"  {line}")
    with ByteProgress(offer.size) as progress:
        digest = library.fetch(offer, progress)
    console.note(f"Fetched {name}: {offer.place}, sha256 {digest}")
    return {
        "name": name,
        "status": "fetched",
        "path": str(offer.place),
        "url": offer.url,
        "size": offer.size,
        "sha256": digest,
    }


def _checksum(offer: Offer) -> str:
    """What the download is held against."""
    if offer.sha256:
        return f"sha256 {offer.sha256}, {'as published' if offer.published else 'as it was when first fetched here'}"
    way = "" if offer.url.startswith("https:") else ", and the way is not encrypted"
    return f"none published{way}; the sha256 of this first download is kept, and later ones are held against it"


def _facts(offer: Offer) -> list[str]:
    return [
        f"size      {console.size(offer.size)}" + (f", {console.size(offer.have)} here already" if offer.have else ""),
        f"checksum  {_checksum(offer)}",
        f"place     {offer.place}",
    ]
