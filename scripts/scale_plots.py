"""Line charts with logarithmic axes as SVG, readable on light and dark pages."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

WIDE, HIGH = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 34, 44
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b")
"""Of Okabe and Ito: distinct for all kinds of colour vision."""


class Series(NamedTuple):
    """One line; values are positive."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _label(power: int) -> str:
    if power < 0:
        return f"{10.0**power:g}"
    return f"{10**power:,}" if power < 6 else f"{10 ** (power % 3)} {'MGTP'[power // 3 - 2].replace('G', 'bn')}"


def draw_lines(series: Sequence[Series], x_unit: str, y_unit: str, title: str) -> str:
    """Draw lines over logarithmic axes, each with its name at its end."""
    xs, ys = ([value for line in series for value in line[axis]] for axis in (1, 2))
    (x_low, x_high), (y_low, y_high) = _decades(xs), _decades([max(value, 1e-6) for value in ys])

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - x_low) / (x_high - x_low) * (WIDE - LEFT - RIGHT)

    def y(value: float) -> float:
        return HIGH - BOTTOM - (math.log10(max(value, 1e-6)) - y_low) / (y_high - y_low) * (HIGH - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{escape(title)}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        "<style>text{fill:#444}.grid{stroke:#8884;stroke-width:1}"
        "@media (prefers-color-scheme:dark){text{fill:#ccc}}</style>",
    ]
    for power in range(x_low, x_high + 1):
        at = x(10.0**power)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{HIGH - BOTTOM}"/>')
        parts.append(f'<text x="{at:.1f}" y="{HIGH - BOTTOM + 16}" text-anchor="middle">{_label(power)}</text>')
    for power in range(y_low, y_high + 1):
        at = y(10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{WIDE - RIGHT}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_label(power)}</text>')
    names = sorted((y(line.y[-1]), number) for number, line in enumerate(series))
    last = -99.0
    for at, number in names:
        line, colour = series[number], COLOURS[number % len(COLOURS)]
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(line.x, line.y, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        last = max(at, last + 15)
        name = escape(line.name)
        parts.append(f'<text x="{WIDE - RIGHT + 6}" y="{last + 4:.1f}" style="fill:{colour}">{name}</text>')
    middle = (LEFT + WIDE - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HIGH - 8}" text-anchor="middle">{escape(x_unit)}</text>')
    parts.append(f'<text x="{LEFT - 6}" y="{TOP - 18}" text-anchor="end">{escape(y_unit)}</text></svg>')
    return "\n".join(parts) + "\n"
