"""Plots as inline SVG, drawn on the server: lines over time with their axes, bars side by side."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["Bar", "Plot", "bars", "plot"]

_WIDTH: Final = 600
_HEIGHT: Final = 80
_MAX_POINTS: Final = 240
_HEADROOM: Final = 1.05
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)


class Bar(NamedTuple):
    """One bar, as a share of the longest."""

    name: str
    value: float
    share: float
    """Percent of the longest."""


class Plot(NamedTuple):
    """A line over time, in a box of 600 by 80, and what its axes say."""

    points: str = ""
    """Of a polyline; '' for fewer than two values."""
    top: str = "1"
    """The value at the upper end of the vertical axis; its lower end is 0."""
    middle: str = "0.5"
    seconds: float = 0.0
    """The time from the left end of the horizontal axis to its right end, which is now."""


def plot(samples: Sequence[tuple[float, float]]) -> Plot:
    """Return the plot of values by their times, in seconds, oldest first."""
    if len(samples) < 2:
        return Plot()
    samples = _thin(samples)
    start, end = samples[0][0], samples[-1][0]
    top, width = _round_up(_HEADROOM * max(value for _, value in samples)), max(end - start, 1e-9)
    points = " ".join(
        f"{_WIDTH * (when - start) / width:.1f},{_HEIGHT * (1 - max(0.0, value) / top):.1f}" for when, value in samples
    )
    return Plot(points, f"{top:g}", f"{top / 2:g}", width)


def _thin(samples: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Return at most some hundred samples: the means of as many neighbours each."""
    size = math.ceil(len(samples) / _MAX_POINTS)
    if size == 1:
        return samples
    groups = [samples[n : n + size] for n in range(0, len(samples), size)]
    return [(group[-1][0], sum(value for _, value in group) / len(group)) for group in groups]


def _round_up(value: float) -> float:
    """Return the next higher of 1, 2, 5, 10, 20, 50 and so on, also below 1."""
    if not 1e-12 < value < 1e12:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in _STEPS if step * power >= value * (1 - 1e-9)), 10 * power)


def bars(values: Sequence[tuple[str, float]]) -> list[Bar]:
    """Return bars, the longest first."""
    top = max((value for _, value in values), default=0) or 1
    ranked = sorted(values, key=lambda pair: -pair[1])
    return [Bar(name, value, round(100 * value / top, 1)) for name, value in ranked]
