"""Line charts for the report of a federation: plain SVG, coloured by the page's own variables."""

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

__all__ = ["Line", "draw_lines"]

_WIDTH: Final = 720
_HEIGHT: Final = 240
_LEFT: Final = 70
_RIGHT: Final = 150
_TOP: Final = 14
_BOTTOM: Final = 40
_TICKS: Final = 4


class Line(NamedTuple):
    """A line of a chart."""

    label: str
    points: Sequence[tuple[float, float]]


def draw_lines(lines: Sequence[Line], label: str, x_label: str, unit: str = ".3g") -> str:
    """Draw lines over a common axis that begins at 0; `unit` formats values. '' if there is nothing to draw."""
    points = [point for line in lines for point in line.points]
    if not points:
        return ""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    most = max(max(y for _, y in points), 0.0) or 1.0

    def place_x(value: float) -> float:
        return _LEFT + (value - left) / ((right - left) or 1.0) * (_WIDTH - _LEFT - _RIGHT)

    def place_y(value: float) -> float:
        return _HEIGHT - _BOTTOM - value / most * (_HEIGHT - _TOP - _BOTTOM)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">']
    for tick in range(_TICKS + 1):
        value = most * tick / _TICKS
        y = place_y(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(_text(_LEFT - 8, y + 4, format(value, unit), "end"))
    parts.append(_text(_LEFT, _HEIGHT - 8, f"{left:.4g}"))
    parts.append(_text(_WIDTH - _RIGHT, _HEIGHT - 8, f"{right:.4g}", "end"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, x_label, "middle"))
    last: list[float] = []
    for number, line in enumerate(lines):
        corners = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in line.points)
        parts.append(f'<polyline class="line line{number % 4}" points="{corners}"/>')
        dots = "".join(f'<circle class="dot{number % 4}" cx="{place_x(x):.1f}" cy="{place_y(y):.1f}" r="3"/>'
                       for x, y in line.points)  # fmt: skip
        parts.append(dots)
        if line.points:
            y = place_y(line.points[-1][1]) + 4
            # Labels of lines that end together are one below the other.
            while any(abs(y - other) < 14 for other in last):
                y += 14
            last.append(y)
            parts.append(_text(_WIDTH - _RIGHT + 8, y, line.label))
    return "".join(parts) + "</svg>"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
