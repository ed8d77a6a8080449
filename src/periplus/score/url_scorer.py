"""The URL ranker: how good a page is likely to be, by nothing but its address."""

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.records import Address
from periplus.score.feature_weights import Scorer, as_arrays, read_weights
from periplus.score.kernels import page_features, weighting

__all__ = ["UrlRanker"]

_WORTH: Final = {
    **dict.fromkeys(("edu", "gov", "mil", "int", "museum", "arpa"), 1.0),
    **dict.fromkeys(("com", "org", "net"), 0.6),
    **dict.fromkeys(("info", "biz", "xyz", "top", "icu", "cyou", "click", "loan", "online", "site", "buzz"), 0.1),
    **dict.fromkeys(("tk", "ml", "ga", "cf", "gq"), 0.0),
}
"""What is thought of top-level domains."""
_COUNTRY: Final = 0.6
_ANY: Final = 0.4
_WITHOUT_DIGITS: Final = str.maketrans("", "", "0123456789")
_MOST_HOSTS: Final = 1 << 16


_NAMES: Final = sorted((int.from_bytes(name.encode()), worth) for name, worth in _WORTH.items())
_PACKED: Final = np.array([name for name, _ in _NAMES], np.uint64)
_WORTHS: Final = np.array([_COUNTRY, *(worth for _, worth in _NAMES), _ANY])


class UrlRanker:
    """Ranks addresses: one at a time for those that meet links, or many at once."""

    def __init__(self, file: str = "") -> None:
        weights = read_weights("url", file)
        self._arrays = as_arrays(weights, page_features.URL_FEATURES)
        self._path = Scorer(weights, page_features.URL_FEATURES[:7])
        host = Scorer(weights, page_features.URL_FEATURES[7:])
        self._rank_host = functools.lru_cache(_MOST_HOSTS)(
            lambda name, scheme: host.score(_host_features(name, scheme))
        )

    def rank(self, place: Address) -> float:
        """Give the rank, 0 to 1, of an address."""
        path = place.path
        size, home, parameters = len(path), path == "/", 0
        digits = (size - len(path.translate(_WITHOUT_DIGITS))) / size
        if "?" in path:
            path, _, asked = path.partition("?")
            parameters = asked.count("=")
        parts = path.count("/") - path.count("//") - path.endswith("/")
        values = (1.0, home, parts, size - 1, parameters, digits, place.path.count("%"))
        rank = self._path.score(values) + self._rank_host(place.host, place.scheme)
        return 0.0 if rank < 0 else 1.0 if rank > 1 else rank

    def rank_many(self, blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Give the ranks of URLs that are laid out one after the other."""
        rows = page_features.measure_urls(blob, start, _PACKED, _WORTHS)
        parts = weighting.weigh(rows, self._arrays.weight, self._arrays.shape)
        ranks: npt.NDArray[np.float64] = np.clip(parts.sum(axis=1), 0.0, 1.0)
        return ranks


def _host_features(host: str, scheme: str) -> tuple[float, ...]:
    """Give the features of a host."""
    labels, last = host.count(".") + 1, host.rpartition(".")[2]
    worth = _WORTH.get(last, _COUNTRY if len(last) == 2 else _ANY)
    below = max(0, labels - 2 - (host[:2] == "ww" and host[3:4] == "."))
    return (below, len(host), host.count("-"), scheme.endswith("s"), worth)
