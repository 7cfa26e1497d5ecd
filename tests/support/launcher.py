"""Processes by the hundred: the program forked from one process that has imported everything, killed or hindered.

`Launcher` starts this file as that process. A child is a real process that runs one command in a folder; only the
second that its imports would take is saved, in which nothing is written.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# What the interpreter tells of before it happens (PEP 578), with a path as the first argument.
FILE_EVENTS = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod", "os.listdir", "os.scandir"}


@dataclass
class Child:
    """A started command; `out` and `err` are where it prints."""

    pid: int
    out: Path
    err: Path
    launcher: Launcher
    began: float = field(default_factory=time.monotonic)

    def wait(self, timeout: float = 300) -> int:
        """Its exit code, negative for a signal."""
        return self.launcher.wait(self.pid, timeout)[0]

    def ended(self) -> bool:
        """Whether it has, as far as is known."""
        return self.launcher.has_ended(self.pid)

    def seconds(self) -> float:
        """How long it took."""
        return self.launcher.wait(self.pid, 300)[1] - self.began

    def signal(self, number: int) -> None:
        """Send a signal, unless it is too late."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def calls(self) -> int:
        """How many file events a command had that ended by itself."""
        return int(self.out.with_suffix(".calls").read_text())


class Launcher:
    """Starts commands; close it at the end."""

    def __init__(self) -> None:
        self._ends: dict[int, tuple[int, float]] = {}
        self._news = threading.Condition()
        self._number = 0
        self._started: list[int] = []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LIPGNN_")}
        environment |= {"OMP_NUM_THREADS": "1", "COLUMNS": "120"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def start(self, folder: Path, *words: Any, **hindrance: Any) -> Child:
        """Begin `lipgnn WORDS` in a folder.

        Parameters
        ----------
        hindrance : kill_at=n kills the process at its n-th file event in the folder; fail_at=n with error=errno lets
            the n-th call that lipgnn.files makes fail; variables={…} are those of its environment.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        out, err = (folder / f".{self._number}.{name}" for name in ("out", "err"))
        # Here already: a child that is killed at once has printed nothing, and never opened them.
        out.touch(), err.touch()
        order = {"words": [*map(str, words)], "folder": str(folder), "out": str(out), "err": str(err), **hindrance}
        with self._news:
            seen = len(self._started)
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            assert self._news.wait_for(lambda: len(self._started) > seen, 60)
            return Child(self._started[-1], out, err, self)

    def run(self, folder: Path, *words: Any, **hindrance: Any) -> Child:
        """The same, until it has ended."""
        child = self.start(folder, *words, **hindrance)
        child.wait()
        return child

    def wait(self, pid: int, timeout: float) -> tuple[int, float]:
        """The exit code of a process and when it ended."""
        with self._news:
            assert self._news.wait_for(lambda: pid in self._ends, timeout), f"process {pid} goes on"
            return self._ends[pid]

    def has_ended(self, pid: int) -> bool:
        """Whether the end of a process was told."""
        with self._news:
            return pid in self._ends

    def close(self) -> None:
        """End, and with it what a test that failed has left running or stopped."""
        with self._news:
            for pid in set(self._started) - self._ends.keys():
                os.kill(pid, signal.SIGKILL)
        self._process.stdin.close()
        self._process.wait(60)
        self._listener.join()
        self._process.stdout.close()

    def _listen(self) -> None:
        for line in self._process.stdout:
            message = json.loads(line)
            with self._news:
                if "ended" in message:
                    self._ends[message["ended"]] = message["code"], time.monotonic()
                else:
                    self._ends.pop(message["started"], None)
                    self._started.append(message["started"])
                self._news.notify_all()


def serve() -> None:
    """Fork a child for every line of stdin and say when it began and how it ended."""
    import cli.report
    import cli.sweep
    import cli.train
    import lipgnn.tasks
    import lipgnn.training.loop
    from lipgnn.runtime import dgl

    assert dgl.graph and cli and lipgnn
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake)
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        alive, pending = True, b""
        while alive or selector.get_map():
            for key, _ in selector.select():
                if key.fileobj is not sys.stdin:
                    os.read(ended, 100)
                    _reap()
                elif chunk := os.read(sys.stdin.fileno(), 2**16):
                    *lines, pending = (pending + chunk).split(b"\n")
                    for line in lines:
                        _begin(json.loads(line))
                else:
                    return


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            _tell({"ended": found[0], "code": os.waitstatus_to_exitcode(found[1])})


def _tell(message: dict[str, int]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _begin(order: dict[str, Any]) -> None:
    if pid := os.fork():
        _tell({"started": pid})
        return
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(order[name], os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666), descriptor)
        os.chdir(order["folder"])
        code = _run(order)
    finally:
        os._exit(code)


def _run(order: dict[str, Any]) -> int:
    from cli.main import run

    events = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal events
        if event not in FILE_EVENTS or not isinstance(arguments[0], str | Path):
            return
        path = os.path.abspath(arguments[0])
        if path.startswith(order["folder"] + os.sep):
            events += 1
            if events == order.get("kill_at"):
                os.kill(os.getpid(), signal.SIGKILL)

    os.environ.update(order.get("variables", {}))
    if "fail_at" in order:
        _hinder_files(order)
    sys.addaudithook(watch)
    code = run(order["words"])
    sys.stdout.flush()
    sys.stderr.flush()
    calls = order["calls"].count if "calls" in order else events
    Path(order["out"]).with_suffix(".calls").write_text(str(calls))
    return code


class _Hindered:
    """A module whose calls are counted and of which one fails, as do the calls of files that it opens."""

    HARMLESS = ("umask", "getpid", "fspath", "fsencode", "strerror", "close", "dup")

    def __init__(self, thing: Any, calls: _Calls):
        self.__dict__.update(_thing=thing, _calls=calls)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._thing, name)
        if not callable(value) or isinstance(value, type) or name in self.HARMLESS or name.startswith("_"):
            return value

        def call(*arguments: Any, **options: Any) -> Any:
            self._calls.next(name)
            made = value(*arguments, **options)
            return _Hindered(made, self._calls) if hasattr(made, "fileno") else made

        return call

    def __enter__(self) -> _Hindered:
        self._thing.__enter__()
        return self

    def __exit__(self, *exception: object) -> Any:
        return self._thing.__exit__(*exception)


class _Calls:
    def __init__(self, fail_at: int, error: int):
        self.count, self.fail_at, self.error = 0, fail_at, error

    def next(self, name: str) -> None:
        self.count += 1
        if self.count == self.fail_at:
            raise OSError(self.error, os.strerror(self.error), name)


def _hinder_files(order: dict[str, Any]) -> None:
    from lipgnn import files

    order["calls"] = calls = _Calls(order["fail_at"], order["error"])
    for name in {"os", "tempfile"} & vars(files).keys():
        setattr(files, name, _Hindered(getattr(files, name), calls))


if __name__ == "__main__":
    serve()
