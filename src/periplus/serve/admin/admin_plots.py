"""Plots as inline SVG, drawn on the server: lines over time, bars side by side."""

from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["Bar", "bars", "line"]

_WIDTH: Final = 600
_HEIGHT: Final = 80
_HEADROOM: Final = 1.25
"""Height of the box relative to the highest value: a line along the upper edge would look like a frame."""


class Bar(NamedTuple):
    """One bar, as a share of the longest."""

    name: str
    value: float
    share: float
    """Percent of the longest."""


def line(values: Sequence[float]) -> str:
    """Return the points of a polyline in a box of 600 by 80, or '' for fewer than two values."""
    if len(values) < 2:
        return ""
    top = max(_HEADROOM * max(values), 1e-9)
    step = _WIDTH / (len(values) - 1)
    return " ".join(f"{n * step:.1f},{_HEIGHT - 2 - (_HEIGHT - 4) * v / top:.1f}" for n, v in enumerate(values))


def bars(values: Sequence[tuple[str, float]]) -> list[Bar]:
    """Return bars, the longest first."""
    top = max((value for _, value in values), default=0) or 1
    ranked = sorted(values, key=lambda pair: -pair[1])
    return [Bar(name, value, round(100 * value / top, 1)) for name, value in ranked]
