"""Recrawling: rates are found, budgets are kept, and more pages are fresh than with a fixed interval."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from periplus.frontier import best_frequencies, change_rates, freshness

DAY = 86_400.0
MIXTURE = ((0.23, 1.0), (0.15, 7.0), (0.16, 30.0), (0.16, 120.0), (0.30, 1000.0))
"""How often pages of the web change (Cho and Garcia-Molina, 2000): shares, and days between changes."""


def rates_of(count: int, rng: np.random.Generator) -> np.ndarray:
    shares, days = zip(*MIXTURE, strict=True)
    return 1.0 / (rng.choice(days, count, p=shares) * rng.lognormal(0.0, 0.5, count) * DAY)


def simulate(learning: bool, pages: int = 800, days: int = 60, seed: int = 4) -> float:
    """Give the share of stale pages, over the second half of the time, of a crawler that starts out knowing nothing.

    Time goes in steps of six hours; the budget is one visit to every page in two days.
    """
    step, budget = DAY / 4, pages // 8
    rng = np.random.default_rng(seed)
    true = rates_of(pages, rng)
    stale = np.zeros(pages, bool)
    last = np.zeros(pages)
    visits, changes, seconds = np.zeros(pages), np.zeros(pages), np.zeros(pages)
    found: list[float] = []
    frequencies = np.full(pages, budget / pages / step)
    due = rng.random(pages) / frequencies
    for turn in range(1, 4 * days + 1):
        now = turn * step
        stale |= rng.random(pages) < -np.expm1(-true * step)
        chosen = np.argsort(due, kind="stable")[:budget]
        visits[chosen] += 1
        changes[chosen] += stale[chosen]
        seconds[chosen] += now - last[chosen]
        last[chosen] = now
        stale[chosen] = False
        if learning and turn % 4 == 0:
            rates = change_rates(visits, changes, seconds, 1 / (30 * DAY))
            frequencies = best_frequencies(rates, np.ones(pages), budget / step)
        with np.errstate(divide="ignore"):
            due = np.where(frequencies > 0, last + 1.0 / frequencies, np.inf)
        if turn > 2 * days:
            found.append(stale.mean())
    return float(np.mean(found))


def test_fewer_pages_are_stale_than_with_a_fixed_interval():
    fixed, ours = simulate(False), simulate(True)
    assert ours <= 0.7 * fixed, (fixed, ours)


def test_rates_are_found_from_history():
    rng = np.random.default_rng(1)
    true = np.full(4000, 1 / (10 * DAY))
    visits = np.full(4000, 20.0)
    interval = 12 * DAY
    changes = rng.binomial(20, -np.expm1(-true * interval)).astype(float)
    rates = change_rates(visits, changes, visits * interval, 1 / (30 * DAY))
    assert rates.mean() == pytest.approx(true[0], rel=0.1)
    assert change_rates(np.zeros(1), np.zeros(1), np.zeros(1), 0.5)[0] == 0.5


def test_what_changes_too_fast_and_what_never_changes_get_little():
    rates = np.array([100.0, 1.0, 0.001])
    frequencies = best_frequencies(rates, np.ones(3), 1.0)
    assert frequencies.sum() == pytest.approx(1.0)
    assert frequencies[1] > 0.8
    assert frequencies[0] == 0.0


def test_pages_of_one_price_share_what_is_left():
    rates = np.array([0.0625] + [2.0] * 16)
    best = best_frequencies(rates, np.ones(17), 1.0)
    assert best.sum() == pytest.approx(1.0)
    assert freshness(rates, best).sum() > 1.2, "all of it for the slow page gives 0.97, equal parts give 1.09"


positive = st.floats(1e-2, 1e1)


@settings(max_examples=25, deadline=None)
@given(arrays(np.float64, st.integers(1, 30), elements=positive), st.floats(1, 1e2), st.data())
def test_no_other_sharing_of_the_budget_is_better(rates, budget, data):
    weights = data.draw(arrays(np.float64, len(rates), elements=st.floats(0.1, 10)))
    best = best_frequencies(rates, weights, budget)
    assert (best >= 0).all()
    assert best.sum() == pytest.approx(budget, rel=1e-6)
    other = data.draw(arrays(np.float64, len(rates), elements=st.floats(0.01, 1)))
    other *= budget / other.sum()
    assert (weights * freshness(rates, best)).sum() >= (weights * freshness(rates, other)).sum() * 0.999 - 1e-6
