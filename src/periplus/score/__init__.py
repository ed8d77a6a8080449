"""Query-independent scores: how good is a URL, a page, a link to follow.

In: an `Address`, a `Page` or a batch of them, and a weights file. Out: one score each, a weighted sum of named
features. The package knows no query and no index.

- `UrlScorer` scores addresses by themselves.
- `PageScorer` scores pages by themselves (the static rank), one at a time or as a `PageBatch`.
- `LinkScorer` scores links to follow (the crawl priority): by URL, distance from a seed and the page of the link.
- `read_weights` reads the weights of a scorer: the shipped file (url.toml, static.toml, crawl.toml, dynamic.toml)
  with the changes of a user's file. docs/ranking.md lists all features.
"""

from periplus.score.feature_weights import (
    SCORERS,
    SHAPES,
    FeatureWeight,
    LinearScorer,
    WeightArrays,
    read_weights,
    shipped_weights,
    weight_arrays,
)
from periplus.score.link_scorer import CRAWL_FEATURES, LinkScorer
from periplus.score.page_scorer import STATIC_FEATURES, PageBatch, PageSample, PageScorer, sample_page
from periplus.score.url_scorer import UrlScorer

__all__ = [
    "CRAWL_FEATURES",
    "SCORERS",
    "SHAPES",
    "STATIC_FEATURES",
    "FeatureWeight",
    "LinearScorer",
    "LinkScorer",
    "PageBatch",
    "PageSample",
    "PageScorer",
    "UrlScorer",
    "WeightArrays",
    "read_weights",
    "sample_page",
    "shipped_weights",
    "weight_arrays",
]
