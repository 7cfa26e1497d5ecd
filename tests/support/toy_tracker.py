"""A tracker that keeps in memory what it is told, makes noise, and fails where a test wants it to."""

import logging
import warnings
from typing import ClassVar

import torch


class Toy:
    made: ClassVar = []
    holds = -1
    fails_at = None

    def __init__(self, run):
        self.run, self.last = run, self.holds
        self.epochs, self.ends = [], []
        self.made.append(self)
        self._noise("begin")

    def log(self, epoch, numbers):
        self.epochs.append((epoch, dict(numbers)))
        self._noise(f"log {epoch}")

    def end(self, status, epoch, numbers, figure):
        picture = figure.read_bytes() if figure else None
        self.ends.append((status, epoch, dict(numbers), picture))
        self._noise("end")

    def _noise(self, place):
        print("a line on stdout")
        warnings.warn("a warning", stacklevel=2)
        logging.getLogger("toy").critical("a message")
        torch.rand(7)
        if place == self.fails_at:
            raise ConnectionError("the disk of the server is full\nand a second line")


def plug_in(monkeypatch, **changes):
    """Put the toy into the catalog as `toy`, with other values of its attributes; returns the list of those made."""
    from lipgnn.catalog import TRACKERS, TrackerEntry

    for name, value in {"made": [], "holds": -1, "fails_at": None, **changes}.items():
        monkeypatch.setattr(Toy, name, value)
    monkeypatch.setitem(TRACKERS, "toy", TrackerEntry("a toy", implementation="toy_tracker:Toy"))
    monkeypatch.setitem(TRACKERS, "absent", TrackerEntry("none", implementation="no:No", package="no_such_package"))
    return Toy.made
