"""How the heads of a layer share queries and keys, by name: `collab`, `mqa` and `gqa:G`; no torch here."""

from __future__ import annotations

from dataclasses import dataclass

from lipgnn.errors import UsageError, did_you_mean

NO_SHARING = "none"
COLLAB, MULTI_QUERY, GROUPED = "collab", "mqa", "gqa"


@dataclass(frozen=True)
class HeadSharing:
    """A way in which heads share queries and keys.

    Attributes
    ----------
    kind : "collab", "mqa" or "gqa".
    groups : as many keys there are, each for one group of heads; 0 where every head mixes all channels for itself.
    """

    kind: str
    groups: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.groups}" if self.kind == GROUPED else self.kind

    def width(self, shared_dim: int, *, hidden: int, heads: int) -> int:
        """D̃, the width of the keys of a node for all heads together, which is `shared_dim` unless that is 0.

        Raises
        ------
        UsageError : it does not fit `heads` heads of width `hidden`.
        """
        if self.groups and heads % self.groups:
            raise UsageError(
                f"Head sharing '{self}' needs groups of equally many heads, and heads is {heads}.",
                "Use a number of groups that divides the number of heads.",
            )
        width = shared_dim or hidden * (self.groups or heads)
        if width > hidden * heads:
            raise UsageError(
                f"shared_dim must be at most heads × hidden = {hidden * heads}, got {width}.",
                "Keys wider than those of separate heads can express nothing more; 0 takes the width that fits.",
            )
        if self.groups and width % self.groups:
            raise UsageError(
                f"Head sharing '{self}' splits the keys into {self.groups} equal parts, and shared_dim is {width}.",
                f"Use a --shared-dim that {self.groups} divides.",
            )
        return width


def parse_head_sharing(text: str) -> HeadSharing | None:
    """`collab`, `mqa`, or `gqa:G` with a number of groups G; None for `none`.

    Raises
    ------
    UsageError : anything else, or a number of groups that is not positive.
    """
    kind, colon, number = text.partition(":")
    if text == NO_SHARING:
        return None
    if text == COLLAB:
        return HeadSharing(COLLAB, 0)
    groups = 1 if text == MULTI_QUERY else 0
    if kind == GROUPED and colon and number.isascii() and number.isdecimal() and len(number) < 10:
        groups = int(number)
    if not groups:
        raise UsageError(
            f"head_sharing must be none, collab, mqa or gqa:G with a positive whole number G, got {text!r}.",
            f"{did_you_mean(kind, (NO_SHARING, COLLAB, MULTI_QUERY, GROUPED))}"
            "G is the number of groups of heads that have one key: for instance gqa:2.",
        )
    # One group is one key for all heads, by either name.
    return HeadSharing(MULTI_QUERY if groups == 1 else GROUPED, groups)
