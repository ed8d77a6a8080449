"""Click model: what people would have clicked if they had examined every result.

People look at the first results more than at later ones, so clicks say where a page stood as much as how good it is.
The position-based model takes the two apart: a click needs a look (which depends on the position only) and a liking
(which depends on query and page only). Both are estimated in turns (EM) from pages that stood at different positions.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.signals.judgements import Click

__all__ = ["ClickRelevance", "estimate_relevance"]

_DEEPEST: Final = 50
_ROUNDS: Final = 30
_MOST_CLICKS: Final = 2_000_000
_PERIOD: Final = 28 * 86_400.0
"""Seconds in which clicks of one reader on one page, for one query, count once."""
_DOUBT: Final = 3.0
"""Looks that liking is shrunk by: one click is not yet a verdict."""


class ClickRelevance(NamedTuple):
    """How much pages are liked for queries."""

    pages: dict[str, dict[str, float]]
    """By query and URL, 0 to 1."""
    looks: npt.NDArray[np.float64]
    """The chance that somebody looks at position 1, 2, ...; 1 for the first."""


def estimate_relevance(clicks: Iterable[Click]) -> ClickRelevance:
    """Separate examination from relevance. A clicked page counts as shown; so do the results shown with it."""
    shown, clicked = _count(clicks)
    keys = sorted(shown)
    pairs = {pair: number for number, pair in enumerate(sorted({(query, url) for query, url, _ in keys}))}
    pair = np.array([pairs[query, url] for query, url, _ in keys], np.int64)
    position = np.array([position for _, _, position in keys], np.int64)
    shows = np.array([shown[key] for key in keys], np.float64)
    hits = np.minimum(np.array([clicked[key] for key in keys], np.float64), shows)
    looks, liking = _separate(pair, position, shows, hits, len(pairs))
    seen = np.bincount(pair, shows * looks[position], len(pairs)) if len(pair) else np.zeros(0)
    sure = liking * seen / (seen + _DOUBT)
    pages: dict[str, dict[str, float]] = {}
    for (query, url), number in pairs.items():
        pages.setdefault(query, {})[url] = float(sure[number])
    return ClickRelevance(pages, looks)


def _count(clicks: Iterable[Click]) -> tuple[Counter[tuple[str, str, int]], Counter[tuple[str, str, int]]]:
    """Count, by query, page and position from 0, how often it was shown and clicked; one reader once in a while."""
    counted: set[tuple[str, str, int, int]] = set()
    shown: Counter[tuple[str, str, int]] = Counter()
    clicked: Counter[tuple[str, str, int]] = Counter()
    for number, click in enumerate(clicks):
        if number >= _MOST_CLICKS:
            break
        if click.source:
            click_key = click.query, click.url, click.source, int(click.when // _PERIOD)
            if click_key in counted:
                continue
            counted.add(click_key)
        clicked_at = min(click.position, _DEEPEST) - 1
        positions = {url: position for position, url in enumerate(click.shown[:_DEEPEST])}
        positions[click.url] = clicked_at
        for url, position in positions.items():
            shown[click.query, url, position] += 1
        clicked[click.query, click.url, clicked_at] += 1
    return shown, clicked


def _separate(
    pair: npt.NDArray[np.int64],
    position: npt.NDArray[np.int64],
    shows: npt.NDArray[np.float64],
    hits: npt.NDArray[np.float64],
    pairs: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Estimate looks by position and liking by pair alternately, starting with looks of 1 / position."""
    looks = 1.0 / np.arange(1, _DEEPEST + 1)
    liking = np.full(pairs, 0.5)
    if not len(pair):
        return looks, liking
    by_position = np.maximum(np.bincount(position, shows, _DEEPEST), 1e-9)
    by_pair = np.maximum(np.bincount(pair, shows, pairs), 1e-9)
    observed = np.bincount(position, shows, _DEEPEST) >= 1
    for _ in range(_ROUNDS):
        both = looks[position] * liking[pair]
        missed = shows - hits
        # Not clicked: perhaps looked at and not liked, perhaps liked and not looked at.
        looked = hits + missed * looks[position] * (1 - liking[pair]) / np.maximum(1 - both, 1e-9)
        liked = hits + missed * liking[pair] * (1 - looks[position]) / np.maximum(1 - both, 1e-9)
        looks = np.where(observed, np.bincount(position, looked, _DEEPEST) / by_position, looks)
        looks = np.clip(looks / max(looks[0], 1e-9), 1e-3, 1.0)
        liking = np.clip(np.bincount(pair, liked, pairs) / by_pair, 1e-6, 1 - 1e-6)
    return looks, liking
