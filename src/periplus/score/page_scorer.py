"""The static ranker: how good a page is by itself, before anybody asks for anything."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.records import Page, PageFlag
from periplus.score.feature_weights import Scorer, as_arrays, read_weights
from periplus.score.kernels import page_features, weighting
from periplus.score.letter_profiles import tongues
from periplus.score.url_scorer import UrlRanker
from periplus.text import detect_language, language_number
from periplus.url import parse_address

__all__ = ["STATIC_FEATURES", "Laid", "PageRanker", "Sketch", "sketch_page"]

STATIC_FEATURES: Final = (
    *("base", "url", "divergence", "stop_words", "body_words", "title_words", "heading_share", "long_title"),
    *("repeated", "spam"),
)
_SAMPLE: Final = 400
"""Bytes of the body that are looked at: letters and stop words of a page are the same all over it."""
_LONG_TITLE: Final = 30
_MOST_TITLE: Final = 12
_MOST_WORDS: Final = 1_000
_STOPS: Final = 0.3
_SPAM: Final = int(PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM)


class Sketch(NamedTuple):
    """What the static ranker wants to know of a page."""

    url: str
    title: bytes
    """As UTF-8."""
    headings: int
    """Their length together."""
    body: bytes
    """Its beginning at least, as UTF-8."""
    size: int
    """The length of the whole body."""
    language: int
    """By its number."""
    flags: int


class Laid(NamedTuple):
    """The same of many pages: a number of each page, and their texts and URLs one after the other."""

    data: npt.NDArray[np.uint8]
    begin: npt.NDArray[np.int64]
    """Where in `data` its body begins."""
    end: npt.NDArray[np.int64]
    """Where as much of the body ends as there is; no more is looked at than needed."""
    size: npt.NDArray[np.int64]
    titles: npt.NDArray[np.int64]
    """Words of its title."""
    headings: npt.NDArray[np.int64]
    language: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint16]
    urls: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    """Where in `urls` its URL begins; one more than there are pages."""


def sketch_page(page: Page) -> Sketch:
    """Give the sketch of a page that was read."""
    text = page.text or page.description
    body = text[:_SAMPLE].encode("utf-8", "replace")
    language = language_number(page.language or detect_language(text[:_SAMPLE]))
    title = page.title.encode("utf-8", "replace")
    return Sketch(page.url, title, sum(map(len, page.headings)), body, len(text), language, page.flags)


class PageRanker:
    """Ranks pages by themselves."""

    def __init__(self, file: str = "") -> None:
        weights = read_weights("static", file)
        self._weights = as_arrays(weights, STATIC_FEATURES)
        self._scorer = Scorer(weights, STATIC_FEATURES)
        self._urls = UrlRanker(file)

    def rank(self, page: Page) -> float:
        """Give the static rank, 0 to 1, of one page; without arrays, whose making takes longer than the ranking."""
        one = sketch_page(page)
        far, stops, words, repeated = _look([one.body[:_SAMPLE]], np.array([one.language], np.uint8))[0].tolist()
        title = one.title.count(b" ") + (len(one.title) > 0)
        values = (
            *(1.0, self._rank_url(one.url), far, _STOPS if stops < 0 else min(stops, _STOPS)),
            *(min(words * max(1.0, one.size / _SAMPLE), _MOST_WORDS), min(title, _MOST_TITLE)),
            *(min(1.0, one.headings / max(one.size, 1)), title > _LONG_TITLE, repeated, (one.flags & _SPAM) != 0),
        )
        return min(1.0, max(0.0, self._scorer.score(values)))

    def _rank_url(self, url: str) -> float:
        try:
            return self._urls.rank(parse_address(url))
        except BadUrl:
            return 0.0

    def rank_many(self, pages: Sequence[Sketch]) -> npt.NDArray[np.float64]:
        """Give the static ranks of many pages."""
        return self.rank_laid(_lay_out(pages))

    def rank_laid(self, pages: Laid) -> npt.NDArray[np.float64]:
        """Give the static ranks of many pages that are laid out."""
        parts = weighting.weigh(self._measure(pages), self._weights.weight, self._weights.shape)
        ranks: npt.NDArray[np.float64] = np.clip(parts.sum(axis=1), 0.0, 1.0)
        return ranks

    def measure(self, pages: Sequence[Sketch]) -> npt.NDArray[np.float64]:
        """Give the features of each page, a row each."""
        return self._measure(_lay_out(pages))

    def _measure(self, pages: Laid) -> npt.NDArray[np.float64]:
        bounds = np.stack([pages.begin, np.minimum(pages.end, pages.begin + _SAMPLE)], axis=1)
        looked = page_features.measure_texts(pages.data, bounds, pages.language, tongues())
        rows = np.ones((len(pages.size), len(STATIC_FEATURES)))
        rows[:, 1] = self._urls.rank_many(pages.urls, pages.start)
        rows[:, 2] = looked[:, 0]
        rows[:, 3] = np.where(looked[:, 1] < 0, _STOPS, np.minimum(looked[:, 1], _STOPS))
        rows[:, 4] = np.minimum(looked[:, 2] * np.maximum(1.0, pages.size / _SAMPLE), _MOST_WORDS)
        rows[:, 5] = np.minimum(pages.titles, _MOST_TITLE)
        rows[:, 6] = np.minimum(1.0, pages.headings / np.maximum(pages.size, 1.0))
        rows[:, 7] = pages.titles > _LONG_TITLE
        rows[:, 8] = looked[:, 3]
        rows[:, 9] = (pages.flags & _SPAM) != 0
        return rows


def _lay_out(pages: Sequence[Sketch]) -> Laid:
    bodies, urls = [page.body[:_SAMPLE] for page in pages], [page.url.encode("utf-8", "replace") for page in pages]
    begin, start = np.zeros(len(pages) + 1, np.int64), np.zeros(len(pages) + 1, np.int64)
    np.cumsum([len(body) for body in bodies], out=begin[1:])
    np.cumsum([len(url) for url in urls], out=start[1:])
    return Laid(
        np.frombuffer(b"".join(bodies), np.uint8),
        begin[:-1],
        begin[1:],
        np.array([page.size for page in pages], np.int64),
        np.array([page.title.count(b" ") + (len(page.title) > 0) for page in pages], np.int64),
        np.array([page.headings for page in pages], np.int64),
        np.array([page.language for page in pages], np.uint8),
        np.array([page.flags & 0xFFFF for page in pages], np.uint16),
        np.frombuffer(b"".join(urls), np.uint8),
        start,
    )


def _look(texts: Sequence[bytes], languages: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Give what the kernel sees in some texts."""
    bounds = np.zeros((len(texts), 2), np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[:, 1])
    bounds[1:, 0] = bounds[:-1, 1]
    looked: npt.NDArray[np.float64] = page_features.measure_texts(
        np.frombuffer(b"".join(texts), np.uint8), bounds, languages, tongues()
    )
    return looked
