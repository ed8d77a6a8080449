"""The benchmark of growth runs, at a size that writes a file of URLs."""

import math

from frontier import _FIGURES, measure, summarise


def test_figures_of_a_small_crawl() -> None:
    figures = measure(9_000, 500)
    assert figures.keys() >= _FIGURES.keys()
    assert figures["page_bytes"] == 12.0
    summary = summarise([9_000, 90_000], [figures, figures])
    assert summary["exponents"]["page_bytes"] == 0.0
    assert not any(math.isnan(value) for value in summary["sizes"]["9000"].values())
