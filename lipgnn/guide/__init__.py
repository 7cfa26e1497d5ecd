"""The guide: pages in Markdown that ship with the program, readable on the web and by `lipgnn guide`. No torch here.

A page begins with its title, a blank line, and one line that says what is on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from lipgnn.catalog import check_name

# In the order in which a newcomer meets them.
TOPICS = (
    "first-run",
    "student",
    "engineer",
    "teacher",
    "python",
    "your-data",
    "predict",
    "depth",
    "heads",
    "paths",
    "extrapolate",
    "images",
    "sweeps",
    "tables",
    "diagnose",
    "speed",
    "gpu",
    "workers",
    "memsgd",
    "trackers",
    "results-and-files",
    "faults",
    "library",
    "extending",
    "studies",
    "commands",
    "changes",
)


@dataclass(frozen=True)
class Page:
    """One page of the guide.

    Attributes
    ----------
    topic : its name, by which it is asked for.
    title : its heading.
    summary : the line below the heading: what is on the page.
    text : all of it, in Markdown.
    """

    topic: str
    title: str
    summary: str
    text: str


def read(topic: str) -> Page:
    """The page of a topic.

    Raises
    ------
    UsageError : there is no such page; the error names the nearest one.
    """
    check_name("topic", topic, TOPICS)
    text = files(__name__).joinpath(f"{topic}.md").read_text(encoding="utf-8")
    heading, _, summary = text.splitlines()[:3]
    return Page(topic, heading.removeprefix("# "), summary, text)


def pages() -> list[Page]:
    """All pages, in the order of `TOPICS`."""
    return [read(topic) for topic in TOPICS]
