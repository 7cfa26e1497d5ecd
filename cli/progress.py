"""What is shown while work goes on: bars and lines on a terminal, now and then a line elsewhere."""

from __future__ import annotations

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

from cli.console import DASH, clean, err, note, size


class _EpochColumn(ProgressColumn):
    """Epoch, loss, accuracies and gradient of the last epoch."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["status"])


class EpochProgress:
    """Live progress of a run: a bar on a terminal, a line every few epochs elsewhere, nothing if quiet.

    Parameters
    ----------
    quiet : show nothing.
    every_epoch : a line for every epoch instead of the bar.
    """

    def __init__(self, *, quiet: bool, every_epoch: bool):
        self.quiet, self.every_epoch = quiet, every_epoch
        self.stride = self.epochs = 1
        console = err()
        self.live = console.is_terminal and not quiet and not every_epoch
        # The bar takes what the figures leave of the line, so that no terminal is too narrow for them.
        columns = (_EpochColumn(Column(no_wrap=True)), BarColumn(bar_width=None), TimeRemainingColumn())
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
        self.live = err().is_terminal

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
    """

    def __init__(self, total: int, workers: int, *, shown: bool):
        console = err()
        self.on_terminal = console.is_terminal and shown
        self.bar = Progress(
            TextColumn("{task.completed}/{task.total} runs"), BarColumn(), TimeRemainingColumn(), console=console
        )
        self.task = self.bar.add_task("", total=total)
        self.lines = [""] * workers
        self.best = ""
        self.screen = Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True)
        if self.on_terminal:
            self.screen.start()

    def overall(self, ended: int, best: str) -> None:
        """So many runs have ended; what is the best so far."""
        self.best = clean(best)
        self.bar.update(self.task, completed=ended)

    def worker(self, number: int, line: str) -> None:
        """What a worker does now."""
        self.lines[number] = clean(line)

    def stop(self) -> None:
        """Take the lines off the screen."""
        if self.on_terminal:
            self.screen.stop()

    def _render(self) -> Group:
        # Always as many lines: a display that shrinks leaves remains on the screen.
        lines = [f"  {number}: {line or DASH}" for number, line in enumerate(self.lines, start=1)]
        return Group(self.bar, *(Text(line, no_wrap=True, overflow="ellipsis") for line in [*lines, f"  {self.best}"]))


class StatusLine:
    """A line on stderr that says what is going on, on a terminal; nothing elsewhere. Called with the text."""

    def __init__(self) -> None:
        console = err()
        # Drawn when it changes, not by a thread of its own: that would take its share of what is being measured.
        self.live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

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
        self.live = console.is_terminal and shown

    def __call__(self, done: int, total: int, what: str) -> None:
        if self.live:
            self.bar.update(self.task, description=clean(what), completed=done, total=total)
