"""Drawings for the report: plain SVG, coloured by the page's own variables so that light and dark both work."""

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

import numpy as np

from periplus.evaluate.rankings import Floats

__all__ = ["Bar", "bars", "waterfall"]

_LEFT: Final = 250
_RIGHT: Final = 90
_WIDE: Final = 720
_ROW: Final = 24
_POINTS: Final = 300
"""Most corners of a curve: more cannot be seen."""


class Bar(NamedTuple):
    """One bar with its whiskers."""

    label: str
    value: float
    low: float
    high: float


def bars(rows: Sequence[Bar], unit: str, label: str) -> str:
    """Draw bars to the left and right of nothing, each with its confidence interval; `unit` formats a value."""
    if not rows:
        return ""
    least = min(0.0, *(min(bar.low, bar.value) for bar in rows))
    most = max(0.0, *(max(bar.high, bar.value) for bar in rows))
    span = (most - least) or 1.0

    def x(value: float) -> float:
        return _LEFT + (value - least) / span * (_WIDE - _LEFT - _RIGHT)

    height = _ROW * len(rows) + 8
    parts = [_open(height, label), _line(x(0.0), 0, x(0.0), height, "axis")]
    for number, bar in enumerate(rows):
        middle = _ROW * number + _ROW / 2 + 4
        begin, end = sorted((x(0.0), x(bar.value)))
        kind = "gain" if bar.value >= 0 else "loss"
        parts.append(_text(0, middle + 4, bar.label))
        parts.append(
            f'<rect class="{kind}" x="{begin:.1f}" y="{middle - 6:.1f}" width="{end - begin:.1f}" height="12"/>'
        )
        parts.append(_line(x(bar.low), middle, x(bar.high), middle, "whisker"))
        parts.append(_text(_WIDE, middle + 4, format(bar.value, unit), "end"))
    return "".join(parts) + "</svg>"


def waterfall(differences: Floats, label: str) -> str:
    """Draw the differences of all queries, the largest gain first: how many won, how many lost, and by how much."""
    ordered = np.sort(differences)[::-1]
    if not len(ordered):
        return ""
    at = np.unique(np.linspace(0, len(ordered) - 1, min(_POINTS, len(ordered))).astype(np.int64))
    reach = float(np.abs(ordered).max()) or 1.0
    height, middle = 160, 80.0

    def points(values: Floats) -> str:
        xs = at / max(1, len(ordered) - 1) * (_WIDE - 60)
        ys = middle - values[at] / reach * (middle - 14)
        corners = [
            f"0,{middle}",
            *(f"{a:.1f},{b:.1f}" for a, b in zip(xs, ys, strict=True)),
            f"{_WIDE - 60},{middle}",
        ]
        return " ".join(corners)

    return (
        _open(height, label)
        + f'<polygon class="gain" points="{points(np.maximum(ordered, 0.0))}"/>'
        + f'<polygon class="loss" points="{points(np.minimum(ordered, 0.0))}"/>'
        + _line(0, middle, _WIDE - 60, middle, "axis")
        + _text(_WIDE, 18, f"+{reach:.2f}", "end")
        + _text(_WIDE, height - 8, f"-{reach:.2f}", "end")
        + "</svg>"
    )


def _open(height: float, label: str) -> str:
    return f'<svg viewBox="0 0 {_WIDE} {height:.0f}" role="img" aria-label="{escape(label)}">'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
