"""When to visit a page again: its change rate, and the schedule that keeps most pages fresh within a budget.

Pages change as a Poisson process does. The rate of one is estimated from how often a visit found a change (with the
correction of Cho and Garcia-Molina for changes that nobody saw). Visits are then shared out so that the expected
number of fresh pages is highest: pages that never change get few, and so do pages that change faster than they could
be followed.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["best_frequencies", "change_rates", "freshness"]

Numbers = npt.NDArray[np.float64]

_PRIOR_VISITS: Final = 1.0
_STEPS: Final = 60


def change_rates(visits: Numbers, changes: Numbers, seconds: Numbers, prior: float) -> Numbers:
    """Estimate changes a second of pages seen `visits` times again over `seconds`, of which `changes` found one.

    `prior` is the rate of a page that nothing is known of; it counts like one more visit.
    """
    usual = np.where(visits > 0, seconds / np.maximum(visits, 1.0), 1.0)
    quiet = (visits - changes + 0.5) / (visits + 0.5)
    seen = -np.log(np.clip(quiet, 1e-9, 1.0)) / np.maximum(usual, 1.0)
    weight = visits / (visits + _PRIOR_VISITS)
    return np.asarray(weight * seen + (1.0 - weight) * prior, np.float64)


def freshness(rates: Numbers, frequencies: Numbers) -> Numbers:
    """Return the share of time that pages changing at `rates` are fresh when visited at `frequencies`."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(frequencies > 0, rates / np.maximum(frequencies, 1e-300), np.inf)
        fresh = np.where(ratio < 1e-9, 1.0, -np.expm1(-ratio) / np.where(ratio > 0, ratio, 1.0))
    return np.asarray(np.where(np.isinf(ratio), 0.0, fresh), np.float64)


def best_frequencies(rates: Numbers, weights: Numbers, budget: float) -> Numbers:
    """Share out `budget` visits a second among pages so that their weighted freshness is highest."""
    if not len(rates) or budget <= 0:
        return np.zeros(len(rates))
    rates = np.maximum(rates, 1e-12)
    low, high = 0.0, float(np.max(weights / rates))
    for _ in range(_STEPS):
        price = (low + high) / 2
        low, high = (price, high) if _at_price(rates, weights, price).sum() > budget else (low, price)
    # Many pages may have the very price at which the budget is spent: they share what is left between both sides of it.
    less, more = _at_price(rates, weights, high), _at_price(rates, weights, low)
    gap = float(more.sum() - less.sum())
    found = less + (more - less) * (min(1.0, max(0.0, budget - float(less.sum())) / gap) if gap > 0 else 0.0)
    total = found.sum()
    return np.asarray(found * (budget / total) if total > 0 else np.full(len(rates), budget / len(rates)))


def _at_price(rates: Numbers, weights: Numbers, price: float) -> Numbers:
    """Return the frequencies at which one more visit is worth exactly `price`; 0 where it never is.

    With r = rate / frequency, one more visit is worth w / rate * (1 - (1 + r) exp(-r)), which grows with r.
    """
    wanted = price * rates / weights
    low, high = np.zeros(len(rates)), np.full(len(rates), 50.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = 1.0 - (1.0 + middle) * np.exp(-middle) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.where(wanted >= 1.0, 0.0, rates / np.maximum(high, 1e-9)), np.float64)
