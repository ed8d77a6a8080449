"""The URL scorer: how good a page is likely to be, by its address alone."""

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.records import Address
from periplus.score.feature_weights import LinearScorer, read_weights, weight_arrays
from periplus.score.kernels import page_features, weighting

__all__ = ["UrlScorer"]

_DOMAIN_SCORES: Final = {
    **dict.fromkeys(("edu", "gov", "mil", "int", "museum", "arpa"), 1.0),
    **dict.fromkeys(("com", "org", "net"), 0.6),
    **dict.fromkeys(("info", "biz", "xyz", "top", "icu", "cyou", "click", "loan", "online", "site", "buzz"), 0.1),
    **dict.fromkeys(("tk", "ml", "ga", "cf", "gq"), 0.0),
}
"""Scores of top-level domains."""
_COUNTRY_SCORE: Final = 0.6
_DEFAULT_SCORE: Final = 0.4
_WITHOUT_DIGITS: Final = str.maketrans("", "", "0123456789")
_HOST_CACHE_SIZE: Final = 1 << 16
_PATH_FEATURES: Final = 7
"""The first of `URL_FEATURES` describe the path, the others the host."""

_PACKED_SCORES: Final = sorted((int.from_bytes(name.encode()), score) for name, score in _DOMAIN_SCORES.items())
_PACKED_NAMES: Final = np.array([name for name, _ in _PACKED_SCORES], np.uint64)
_SCORES: Final = np.array([_COUNTRY_SCORE, *(score for _, score in _PACKED_SCORES), _DEFAULT_SCORE])


class UrlScorer:
    """Scores addresses, one at a time as a crawl meets them or many at once."""

    def __init__(self, file: str = "") -> None:
        weights = read_weights("url", file)
        self._arrays = weight_arrays(weights, page_features.URL_FEATURES)
        self._path = LinearScorer(weights, page_features.URL_FEATURES[:_PATH_FEATURES])
        host = LinearScorer(weights, page_features.URL_FEATURES[_PATH_FEATURES:])
        self._score_host = functools.lru_cache(_HOST_CACHE_SIZE)(
            lambda name, scheme: host.score(_host_features(name, scheme))
        )

    def score(self, address: Address) -> float:
        """Return the score of an address, 0 to 1."""
        path = address.path
        size, home, parameters = len(path), path == "/", 0
        digits = (size - len(path.translate(_WITHOUT_DIGITS))) / size
        if "?" in path:
            path, _, query = path.partition("?")
            parameters = query.count("=")
        parts = path.count("/") - path.count("//") - path.endswith("/")
        values = (1.0, home, parts, size - 1, parameters, digits, address.path.count("%"))
        score = self._path.score(values) + self._score_host(address.host, address.scheme)
        return 0.0 if score < 0 else 1.0 if score > 1 else score

    def score_many(self, blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the scores of concatenated URLs; URL `i` is `blob[start[i] : start[i + 1]]`."""
        rows = page_features.measure_urls(blob, start, _PACKED_NAMES, _SCORES)
        parts = weighting.weigh_features(rows, self._arrays.weight, self._arrays.shape)
        scores: npt.NDArray[np.float64] = np.clip(parts.sum(axis=1), 0.0, 1.0)
        return scores


def _host_features(host: str, scheme: str) -> tuple[float, ...]:
    """Return the features of a host, in the order of `URL_FEATURES`."""
    labels, top_level = host.count(".") + 1, host.rpartition(".")[2]
    domain = _DOMAIN_SCORES.get(top_level, _COUNTRY_SCORE if len(top_level) == 2 else _DEFAULT_SCORE)
    subdomains = max(0, labels - 2 - (host[:2] == "ww" and host[3:4] == "."))
    return (subdomains, len(host), host.count("-"), scheme.endswith("s"), domain)
