"""How good is a URL, a page, a link to follow: named features in, one number out. Knows no query and no index.

`read_weights` reads the weights of a ranker: those shipped (url.toml, static.toml, crawl.toml, dynamic.toml) and what a
file of one's own changes. `crawl`, `index` and `rank` score by them; docs/ranking.md lists every feature.
"""

from periplus.score.weights import (
    RANKERS,
    SHAPES,
    Scorer,
    Weight,
    Weights,
    as_arrays,
    read_weights,
    shipped_weights,
)

__all__ = [
    "RANKERS",
    "SHAPES",
    "Scorer",
    "Weight",
    "Weights",
    "as_arrays",
    "read_weights",
    "shipped_weights",
]
