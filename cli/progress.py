"""What is shown while work goes on: bars and lines on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.console import Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column
from rich.text import Text

from cli.console import DASH, clean, err, note, redraws, size, whole_words

# Characters that a bar takes at least, and the time left beside it with the spaces between.
_BAR, _TIME = 10, 9


def _never() -> bool:
    return False


class _EpochColumn(ProgressColumn):
    """Epoch, loss, accuracies and gradient of the last epoch, as far as bar and time left leave room for them."""

    # Drawn as often as the rest: it says at once that a run is about to stop.
    max_refresh = None

    def __init__(self, width: Callable[[], int], stopping: Callable[[], bool]):
        super().__init__(Column(no_wrap=True))
        self.width, self.stopping = width, stopping

    def render(self, task: Task) -> Text:
        # Numbers are filled up with spaces in front, and names are not.
        parts = re.split("  (?=[a-z])", task.fields["status"])
        if self.stopping():
            parts = [parts[0], "stopping after this epoch"]
        while len(parts) > 1 and len("  ".join(parts)) > self.width() - _BAR - _TIME:
            parts.pop()
        return Text("  ".join(parts))


class EpochProgress:
    """Live progress of a run: a bar on a terminal, a line every few epochs elsewhere, nothing if quiet.

    Parameters
    ----------
    quiet : show nothing.
    every_epoch : a line for every epoch instead of the bar.
    stopping : whether the run has been asked to stop, which the bar then says.
    """

    def __init__(self, *, quiet: bool, every_epoch: bool, stopping: Callable[[], bool] = _never):
        self.quiet, self.every_epoch = quiet, every_epoch
        self.stride = self.epochs = 1
        console = err()
        self.live = redraws(console) and not quiet and not every_epoch
        # The bar takes what the figures leave of the line.
        status = _EpochColumn(lambda: console.width, stopping)
        columns = (status, BarColumn(bar_width=None), TimeRemainingColumn())
        self.bar = Progress(*columns, console=console, expand=True)
        self.task = self.bar.add_task("", total=None, status="")

    def __enter__(self) -> EpochProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.bar.stop()

    def begin(self, epochs: int) -> None:
        """A run of at most so many epochs begins; there may be one before it, from which it starts."""
        self.epochs = epochs
        self.stride = 1 if self.every_epoch else max(1, epochs // 10)
        self.bar.reset(self.task, total=epochs, start=self.live, status="")

    def update(self, epoch: int, status: str) -> None:
        """Show that `epoch` is over."""
        if self.live:
            self.bar.start()
            self.bar.update(self.task, completed=epoch, status=status)
        elif not self.quiet and (epoch % self.stride == 0 or epoch in (1, self.epochs)):
            note(status)


class _Bar:
    """A bar that is there as long as its work goes on, where it is live."""

    bar: Progress
    live: bool

    def __enter__(self) -> _Bar:
        if self.live:
            self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.bar.stop()


class ByteProgress(_Bar):
    """Progress of a download: a bar on a terminal, a line every tenth elsewhere. Called with the bytes so far.

    Parameters
    ----------
    total : bytes in all, None if unknown.
    """

    def __init__(self, total: int | None):
        self.total = total
        self.shown = -1
        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=err())
        self.task = self.bar.add_task("", total=total)
        self.live = redraws(err())

    def __call__(self, done: int) -> None:
        tenth = 10 * done // self.total if self.total else 0
        if self.live:
            self.bar.update(self.task, completed=done)
        elif tenth != self.shown:
            self.shown = tenth
            note(f"{size(done)} of {size(self.total)}")


class LiveLines:
    """A bar over all runs and a line a worker, on a terminal; nothing elsewhere.

    Parameters
    ----------
    total : runs in all.
    workers : lines below the bar.
    shown : whether to show anything at all.
    left : the share of all work that is done, and the time that is left, in words.
    last_words : what stands below all lines.
    """

    def __init__(
        self,
        total: int,
        workers: int,
        *,
        shown: bool,
        left: Callable[[], tuple[float, str]],
        last_words: Callable[[], str],
    ):
        self.console = console = err()
        self.on_terminal = redraws(console) and shown
        self.total, self.ended = total, 0
        self.left, self.last_words = left, last_words
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[left]}"))
        self.bar = Progress(*columns, console=console, expand=True)
        self.task = self.bar.add_task("", total=1.0, left="")
        self.lines = [""] * workers
        self.screen = Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True)
        if self.on_terminal:
            self.screen.start()

    def overall(self, ended: int) -> None:
        """So many runs have ended."""
        self.ended = ended

    def worker(self, number: int, line: str) -> None:
        """What a worker does now."""
        self.lines[number] = clean(line)

    def stop(self) -> None:
        """Take the lines off the screen."""
        if self.on_terminal:
            self.screen.stop()

    def _render(self) -> Group:
        # Always as many lines: a display that shrinks leaves remains on the screen.
        share, left = self.left()
        self.bar.update(self.task, completed=share, description=f"{self.ended}/{self.total} runs", left=left)
        lines = [f"  {number}: {line or DASH}" for number, line in enumerate(self.lines, start=1)]
        lines.append(f"  {clean(self.last_words())}")
        return Group(self.bar, *(Text(whole_words(line, self.console.width), no_wrap=True) for line in lines))


class StatusLine:
    """A line on stderr that says what is going on, on a terminal; nothing elsewhere. Called with the text."""

    def __init__(self) -> None:
        console = err()
        # Drawn when it changes, not by a thread of its own: that would take its share of what is being measured.
        self.live = Live(console=console, auto_refresh=False, transient=True) if redraws(console) else None

    def __enter__(self) -> StatusLine:
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, text: str) -> None:
        if self.live:
            self.live.update(Text(clean(text), no_wrap=True, overflow="ellipsis"), refresh=True)


class LayerProgress(_Bar):
    """A bar over the layers of a network, on a terminal; nothing elsewhere.

    Called with how many layers are done, of how many, and what is done to them.

    Parameters
    ----------
    shown : whether to show anything at all.
    """

    def __init__(self, *, shown: bool):
        console = err()
        columns = (TextColumn("{task.description}: {task.completed} of {task.total} layers"), BarColumn())
        self.bar = Progress(*columns, console=console, transient=True)
        self.task = self.bar.add_task("", total=None)
        self.live = redraws(console) and shown

    def __call__(self, done: int, total: int, what: str) -> None:
        if self.live:
            self.bar.update(self.task, description=clean(what), completed=done, total=total)
