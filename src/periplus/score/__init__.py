"""How good is a URL, a page, a link to follow: named features in, one number out. Knows no query and no index.

`UrlRanker` ranks addresses, `PageRanker` pages by themselves (static rank), `LinkRanker` links to follow (crawl rank:
that of the URL, and of the page that the link is on). `read_weights` reads the weights of a ranker: those shipped
(url.toml, static.toml, crawl.toml, dynamic.toml) and what a file of one's own changes. docs/ranking.md lists all.
"""

from periplus.score.feature_weights import (
    RANKERS,
    SHAPES,
    Scorer,
    Weight,
    Weights,
    as_arrays,
    read_weights,
    shipped_weights,
)
from periplus.score.link_scorer import CRAWL_FEATURES, LinkRanker
from periplus.score.page_scorer import STATIC_FEATURES, Laid, PageRanker, Sketch, sketch_page
from periplus.score.url_scorer import UrlRanker

__all__ = [
    "CRAWL_FEATURES",
    "RANKERS",
    "SHAPES",
    "STATIC_FEATURES",
    "Laid",
    "LinkRanker",
    "PageRanker",
    "Scorer",
    "Sketch",
    "UrlRanker",
    "Weight",
    "Weights",
    "as_arrays",
    "read_weights",
    "shipped_weights",
    "sketch_page",
]
