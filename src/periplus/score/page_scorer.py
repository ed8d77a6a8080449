"""The static scorer: how good a page is by itself, independent of any query."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.records import Page, PageFlag
from periplus.score.feature_weights import LinearScorer, read_weights, weight_arrays
from periplus.score.kernels import page_features, weighting
from periplus.score.letter_profiles import language_profiles
from periplus.score.url_scorer import UrlScorer
from periplus.text import detect_language, language_number
from periplus.url import parse_address

__all__ = ["STATIC_FEATURES", "PageBatch", "PageSample", "PageScorer", "sample_page"]

STATIC_FEATURES: Final = (
    *("base", "url", "divergence", "stop_words", "body_words", "title_words", "heading_share", "long_title"),
    *("repeated", "spam"),
)
(_BASE, _URL, _DIVERGENCE, _STOP_WORDS, _BODY_WORDS, _TITLE_WORDS, _HEADING_SHARE, _LONG_TITLE, _REPEATED, _SPAM) = (
    range(len(STATIC_FEATURES))
)
_SAMPLE_BYTES: Final = 400
"""Bytes of the body that are examined: letters and stop words are distributed alike all over a page."""
_LONG_TITLE_WORDS: Final = 30
_MAX_TITLE_WORDS: Final = 12
_MAX_BODY_WORDS: Final = 1_000
_MAX_STOP_WORD_SHARE: Final = 0.3
_SPAM_FLAGS: Final = int(PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM)


class PageSample(NamedTuple):
    """The parts of a page that the static scorer needs."""

    url: str
    title: bytes
    """As UTF-8."""
    headings: int
    """Their total length."""
    body: bytes
    """At least its beginning, as UTF-8."""
    size: int
    """Length of the whole body."""
    language: int
    """Number of the language."""
    flags: int


class PageBatch(NamedTuple):
    """The same for many pages as arrays: a number for each page, and the concatenated bodies and URLs."""

    data: npt.NDArray[np.uint8]
    begin: npt.NDArray[np.int64]
    """Offset of each body in `data`."""
    end: npt.NDArray[np.int64]
    """End of each body in `data`; only its beginning is examined."""
    size: npt.NDArray[np.int64]
    title_words: npt.NDArray[np.int64]
    headings: npt.NDArray[np.int64]
    language: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint16]
    urls: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    """Offset of each URL in `urls`, and the length of `urls`."""


def sample_page(page: Page) -> PageSample:
    """Return the sample of a parsed page."""
    text = page.text or page.description
    body = text[:_SAMPLE_BYTES].encode("utf-8", "replace")
    language = language_number(page.language) or language_number(detect_language(text[:_SAMPLE_BYTES]))
    title = page.title.encode("utf-8", "replace")
    return PageSample(page.url, title, sum(map(len, page.headings)), body, len(text), language, page.flags)


class PageScorer:
    """Scores pages by themselves."""

    def __init__(self, file: str = "") -> None:
        weights = read_weights("static", file)
        self._weights = weight_arrays(weights, STATIC_FEATURES)
        self._scorer = LinearScorer(weights, STATIC_FEATURES)
        self._urls = UrlScorer(file)

    def score(self, page: Page) -> float:
        """Return the static rank of one page, 0 to 1; without arrays, which would take longer than the scoring."""
        sample = sample_page(page)
        body = np.frombuffer(sample.body[:_SAMPLE_BYTES], np.uint8)
        bounds, languages = np.array(((0, len(body)),)), np.array((sample.language,), np.uint8)
        measured = page_features.measure_texts(body, bounds, languages, language_profiles())
        divergence, stop_words, words, repeated = measured[0].tolist()
        title_words = sample.title.count(b" ") + (len(sample.title) > 0)
        values = (
            1.0,
            self._score_url(sample.url),
            divergence,
            _MAX_STOP_WORD_SHARE if stop_words < 0 else min(stop_words, _MAX_STOP_WORD_SHARE),
            min(words * max(1.0, sample.size / _SAMPLE_BYTES), _MAX_BODY_WORDS),
            min(title_words, _MAX_TITLE_WORDS),
            min(1.0, sample.headings / max(sample.size, 1)),
            title_words > _LONG_TITLE_WORDS,
            repeated,
            (sample.flags & _SPAM_FLAGS) != 0,
        )
        return min(1.0, max(0.0, self._scorer.score(values)))

    def _score_url(self, url: str) -> float:
        try:
            return self._urls.score(parse_address(url))
        except BadUrl:
            return 0.0

    def score_many(self, pages: Sequence[PageSample]) -> npt.NDArray[np.float64]:
        """Return the static ranks of many pages."""
        return self.score_batch(_make_batch(pages))

    def score_batch(self, pages: PageBatch) -> npt.NDArray[np.float64]:
        """Return the static ranks of a batch of pages."""
        parts = weighting.weigh_features(self._measure_batch(pages), self._weights.weight, self._weights.shape)
        scores: npt.NDArray[np.float64] = np.clip(parts.sum(axis=1), 0.0, 1.0)
        return scores

    def compute_features(self, pages: Sequence[PageSample]) -> npt.NDArray[np.float64]:
        """Return `STATIC_FEATURES` of each page, a row each."""
        return self._measure_batch(_make_batch(pages))

    def _measure_batch(self, pages: PageBatch) -> npt.NDArray[np.float64]:
        bounds = np.stack([pages.begin, np.minimum(pages.end, pages.begin + _SAMPLE_BYTES)], axis=1)
        texts = page_features.measure_texts(pages.data, bounds, pages.language, language_profiles())
        stop_words, words = texts[:, page_features.STOP_WORD_SHARE], texts[:, page_features.WORD_COUNT]
        rows = np.empty((len(pages.size), len(STATIC_FEATURES)))
        rows[:, _BASE] = 1.0
        rows[:, _URL] = self._urls.score_many(pages.urls, pages.start)
        rows[:, _DIVERGENCE] = texts[:, page_features.DIVERGENCE]
        rows[:, _STOP_WORDS] = np.where(
            stop_words < 0, _MAX_STOP_WORD_SHARE, np.minimum(stop_words, _MAX_STOP_WORD_SHARE)
        )
        rows[:, _BODY_WORDS] = np.minimum(words * np.maximum(1.0, pages.size / _SAMPLE_BYTES), _MAX_BODY_WORDS)
        rows[:, _TITLE_WORDS] = np.minimum(pages.title_words, _MAX_TITLE_WORDS)
        rows[:, _HEADING_SHARE] = np.minimum(1.0, pages.headings / np.maximum(pages.size, 1.0))
        rows[:, _LONG_TITLE] = pages.title_words > _LONG_TITLE_WORDS
        rows[:, _REPEATED] = texts[:, page_features.REPEATED_SHARE]
        rows[:, _SPAM] = (pages.flags & _SPAM_FLAGS) != 0
        return rows


def _make_batch(pages: Sequence[PageSample]) -> PageBatch:
    bodies = [page.body[:_SAMPLE_BYTES] for page in pages]
    urls = [page.url.encode("utf-8", "replace") for page in pages]
    body_start, url_start = np.zeros(len(pages) + 1, np.int64), np.zeros(len(pages) + 1, np.int64)
    np.cumsum([len(body) for body in bodies], out=body_start[1:])
    np.cumsum([len(url) for url in urls], out=url_start[1:])
    return PageBatch(
        np.frombuffer(b"".join(bodies), np.uint8),
        body_start[:-1],
        body_start[1:],
        np.array([page.size for page in pages], np.int64),
        np.array([page.title.count(b" ") + (len(page.title) > 0) for page in pages], np.int64),
        np.array([page.headings for page in pages], np.int64),
        np.array([page.language for page in pages], np.uint8),
        np.array([page.flags & 0xFFFF for page in pages], np.uint16),
        np.frombuffer(b"".join(urls), np.uint8),
        url_start,
    )
