"""Text files of numbers: lines of cells between tabs, read at once, with the line of whatever is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lipgnn.datasets.limits import open_plain
from lipgnn.datasets.source import damaged
from lipgnn.errors import DataError

# Neither nan nor inf, nor what Python takes for a number beyond C: blanks, 1_000, digits of other scripts.
_FOREIGN = re.compile(r"[^0-9eE+\-.\t\n]")
_HEADER = re.compile(r"(\d{1,15})\t(\d{1,15})", re.ASCII)
_SHOWN = 40
_LARGEST = float(np.finfo(np.float32).max)


class NumberLines:
    """The lines of a file, under a header of two whole numbers, if it has one.

    Attributes
    ----------
    path : of the file.
    header : the two numbers of the first line; the first says how many lines follow, which is checked. None without.
    counts : (L,) int64, how many cells every line below the header has.

    Raises
    ------
    DataError : the file is missing, no UTF-8 or too large, has something that is no number or another number of lines
        than its header says; here and below, the message names file and line.
    """

    def __init__(self, path: Path, *, header: bool):
        text = _text(path)
        self.path, self.header = path, None
        self._first_line = 2 if header else 1
        if header:
            first, _, text = text.partition("\n")
            self.header = self._read_header(first)
        lines = text.removesuffix("\n").split("\n") if text else []
        if self.header and len(lines) != self.header[0]:
            raise _at(path, 1, f"{self.header[0]} lines are announced, and {len(lines)} follow")
        self.counts = np.array([line.count("\t") + 1 if line else 0 for line in lines], dtype=np.int64)
        self._cells = "\t".join(lines).split("\t") if lines else []

    def __len__(self) -> int:
        return len(self.counts)

    def fault(self, row: int, reason: str, hint: str | None = None) -> DataError:
        """The error for a line, counted from 0 below the header."""
        return _at(self.path, int(row) + self._first_line, reason, hint)

    def refuse(self, wrong: np.ndarray, reason: str) -> None:
        """Raise the error for the first line that is wrong, if one is; (L,) booleans."""
        if wrong.any():
            raise self.fault(int(wrong.argmax()), reason)

    def check_width(self, width: int) -> None:
        """Refuse lines that have another number of cells."""
        if (wrong := self.counts != width).any():
            row = int(wrong.argmax())
            raise self.fault(row, f"it has {self.counts[row]} cells in place of {width}")

    def column(self, place: int) -> np.ndarray:
        """(L,) int64, where all lines have equally many cells."""
        return self.whole(self._cells[place :: self._width()], np.arange(len(self)))

    def texts(self, place: int) -> list[str]:
        """A column as it is written."""
        return self._cells[place :: self._width()]

    def reals(self, places: Sequence[int]) -> np.ndarray:
        """(L, columns) float64, where all lines have equally many cells."""
        table = np.empty((len(self), len(places)))
        for column, place in enumerate(places):
            cells = self._cells[place :: self._width()]
            table[:, column] = self._converted(cells, np.arange(len(self)), np.float64, "a number")
        too_large = np.abs(table) > _LARGEST
        if too_large.any():
            row, column = np.argwhere(too_large)[0]
            cell = self._cells[row * self._width() + places[column]]
            raise self.fault(row, f"{cell[:_SHOWN]} is too large a number")
        return table

    def everything(self) -> np.ndarray:
        """All cells as whole numbers, one line behind the other, where none is empty."""
        return self.whole(self._cells, np.repeat(np.arange(len(self)), self.counts))

    def whole(self, cells: list[str], rows: np.ndarray) -> np.ndarray:
        """Cells of some lines as int64."""
        return self._converted(cells, rows, np.int64, "a whole number")

    def _converted(self, cells: list[str], rows: np.ndarray, dtype: type, wanted: str) -> np.ndarray:
        try:
            return np.array(cells, dtype=dtype)
        except (ValueError, OverflowError):
            # All at once it is fast; which one it was is looked for afterwards.
            for cell, row in zip(cells, rows, strict=True):
                try:
                    np.array(cell, dtype=dtype)
                except (ValueError, OverflowError) as error:
                    raise self.fault(row, f"{cell[:_SHOWN]!r} is not {wanted}") from error
            raise

    def _width(self) -> int:
        return int(self.counts[0]) if len(self) else 1

    def _read_header(self, line: str) -> tuple[int, int]:
        if not (match := _HEADER.fullmatch(line)):
            raise _at(self.path, 1, f"{line[:_SHOWN]!r} is not two whole numbers")
        return int(match[1]), int(match[2])


def _text(path: Path) -> str:
    """The text of a file with plain ends of lines, without anything that no number has."""
    with open_plain(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _at(path, line, f"it is no UTF-8 text ({error.reason})") from error
    if found := _FOREIGN.search(text):
        start, end = found.start(), found.end()
        line = text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]
        cell = next((cell for cell in line.split("\t") if _FOREIGN.search(cell)), text[start:end])
        raise _at(path, text.count("\n", 0, start) + 1, f"{cell[:_SHOWN]!r} is not a number")
    return text


def _at(path: Path, line: int, reason: str, hint: str | None = None) -> DataError:
    return damaged(path, f"line {line}: {reason}", hint)
