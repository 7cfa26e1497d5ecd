"""Names and descriptions of what task images is made of."""

from __future__ import annotations

from dataclasses import dataclass

from lipgnn.catalog.entry import Entry


@dataclass(frozen=True)
class SymmetryEntry(Entry):
    """A group of the turns and mirror images of a square grid.

    Attributes
    ----------
    turns : how many turns it has, each by 360 degrees divided by their number.
    mirrored : whether it has the mirror images of these as well.
    """

    turns: int = 1
    mirrored: bool = False

    @property
    def order(self) -> int:
        """How many elements it has."""
        return self.turns * (1 + self.mirrored)


SYMMETRIES: dict[str, SymmetryEntry] = {
    "z2": SymmetryEntry("no turns: translations alone"),
    "mirror": SymmetryEntry("left and right exchanged", mirrored=True),
    "p4": SymmetryEntry("turns by 90 degrees", turns=4),
    "p4m": SymmetryEntry("turns by 90 degrees and mirror images", turns=4, mirrored=True),
}

READOUTS: dict[str, Entry] = {
    "max": Entry("the largest output over the group elements, class by class"),
    "mean": Entry("the mean output over the group elements"),
}
