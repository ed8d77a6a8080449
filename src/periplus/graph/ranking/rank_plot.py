"""The distribution of ranks and the convergence of PageRank, as one SVG image."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["plot_ranks"]

_WIDE, _HIGH, _LEFT, _TOP = 420, 300, 70, 40
_POINTS: Final = 200
_STYLE: Final = (
    "text{font:13px sans-serif;fill:#222}.axis{stroke:#888;fill:none}.grid{stroke:#ddd}"
    "polyline{fill:none;stroke:#1a5fb4;stroke-width:2}"
)


def plot_ranks(ranks: npt.NDArray[np.float64], changes: Sequence[float]) -> str:
    """Return an SVG of the ranks in falling order, as multiples of the mean, and of the change of each round."""
    positions = np.unique(np.geomspace(1, max(1, len(ranks)), _POINTS).astype(np.int64))
    highest = np.sort(ranks)[::-1] * len(ranks) if len(ranks) else np.ones(1, np.float64)
    distribution = _panel(
        0, "Rank, mean = 1, by position", np.log10(positions), np.log10(np.maximum(highest[positions - 1], 1e-12))
    )
    rounds = np.arange(1, len(changes) + 1, dtype=np.float64)
    convergence = _panel(1, "Change in each round", rounds, np.log10(np.maximum(changes or [1.0], 1e-18)), plain=True)
    width, height = 2 * (_WIDE + _LEFT) + 40, _HIGH + _TOP + 50
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<style>{_STYLE}</style>\n<rect width="{width}" height="{height}" fill="white"/>\n'
        f"{distribution}{convergence}</svg>\n"
    )


def _panel(number: int, title: str, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], plain: bool = False) -> str:
    """Return one curve with its axes; the x axis counts powers of ten, unless it is plain."""
    left = _LEFT + number * (_WIDE + _LEFT + 10)
    low, high = np.floor(y.min()), max(np.ceil(y.max()), np.floor(y.min()) + 1)
    first, last = (float(x[0]), max(float(x[-1]), float(x[0]) + 1)) if len(x) else (0.0, 1.0)

    def across(value: float) -> float:
        return left + (value - first) / (last - first) * _WIDE

    def down(value: float) -> float:
        return float(_TOP + (high - value) / (high - low) * _HIGH)

    parts = [f'<text x="{left}" y="{_TOP - 15}">{title}</text>\n']
    for power in _ticks(low, high):
        parts.append(f'<path class="grid" d="M{left} {down(power):.1f}h{_WIDE}"/>')
        parts.append(f'<text x="{left - 8}" y="{down(power) + 4:.1f}" text-anchor="end">1e{power:.0f}</text>\n')
    for value in _ticks(first, last):
        label = f"{value:.0f}" if plain else f"1e{value:.0f}"
        parts.append(f'<text x="{across(value):.1f}" y="{_TOP + _HIGH + 20}" text-anchor="middle">{label}</text>\n')
    points = " ".join(f"{across(float(a)):.1f},{down(float(b)):.1f}" for a, b in zip(x, y, strict=False))
    parts.append(f'<path class="axis" d="M{left} {_TOP}v{_HIGH}h{_WIDE}"/>\n<polyline points="{points}"/>\n')
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Return up to seven integers from low to high."""
    step = max(1, int(np.ceil((high - low) / 6)))
    return [float(value) for value in range(int(np.ceil(low)), int(np.floor(high)) + 1, step)]
