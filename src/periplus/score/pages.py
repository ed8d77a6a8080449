"""The static ranker: how good a page is by itself, before anybody asks for anything."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.kernels import features, quality
from periplus.records import Flag, Page
from periplus.score.tongues import tongues
from periplus.score.urls import UrlRanker
from periplus.score.weights import as_arrays, read_weights
from periplus.text import detect_language, language_number

__all__ = ["STATIC_FEATURES", "PageRanker", "Sketch", "sketch_page"]

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
_SPAM: Final = int(Flag.STUFFED | Flag.HIDDEN | Flag.LINK_FARM)


class Sketch(NamedTuple):
    """What the static ranker wants to know of a page."""

    url: str
    title: bytes
    """As UTF-8; so are the others."""
    headings: bytes
    body: bytes
    language: int
    """By its number."""
    flags: int


def sketch_page(page: Page) -> Sketch:
    """Give the sketch of a page that was read."""
    body = (page.text or page.description).encode("utf-8", "replace")
    language = language_number(page.language or detect_language(page.text[:_SAMPLE]))
    headings = "\n".join(page.headings).encode("utf-8", "replace")
    return Sketch(page.url, page.title.encode("utf-8", "replace"), headings, body, language, page.flags)


class PageRanker:
    """Ranks pages by themselves."""

    def __init__(self, file: str = "") -> None:
        self._weights = as_arrays(read_weights("static", file), STATIC_FEATURES)
        self._urls = UrlRanker(file)

    def rank(self, page: Page) -> float:
        """Give the static rank, 0 to 1, of one page."""
        return float(self.rank_many([sketch_page(page)])[0])

    def rank_many(self, pages: Sequence[Sketch]) -> npt.NDArray[np.float64]:
        """Give the static ranks of many pages."""
        parts = features.weigh(self.measure(pages), self._weights.weight, self._weights.shape)
        ranks: npt.NDArray[np.float64] = np.clip(parts.sum(axis=1), 0.0, 1.0)
        return ranks

    def measure(self, pages: Sequence[Sketch]) -> npt.NDArray[np.float64]:
        """Give the features of each page, a row each."""
        looked = _look([page.body[:_SAMPLE] for page in pages], np.array([page.language for page in pages], np.uint8))
        titles = np.array([page.title.count(b" ") + (len(page.title) > 0) for page in pages], np.float64)
        body = np.array([len(page.body) for page in pages], np.float64)
        headings = np.array([len(page.headings) for page in pages], np.float64)
        urls = [page.url.encode("utf-8", "replace") for page in pages]
        start = np.zeros(len(urls) + 1, np.int64)
        np.cumsum([len(url) for url in urls], out=start[1:])
        rows = np.ones((len(pages), len(STATIC_FEATURES)))
        rows[:, 1] = self._urls.rank_many(np.frombuffer(b"".join(urls), np.uint8), start)
        rows[:, 2] = looked[:, 0]
        rows[:, 3] = np.where(looked[:, 1] < 0, _STOPS, np.minimum(looked[:, 1], _STOPS))
        rows[:, 4] = np.minimum(looked[:, 2] * np.maximum(1.0, body / _SAMPLE), _MOST_WORDS)
        rows[:, 5] = np.minimum(titles, _MOST_TITLE)
        rows[:, 6] = np.minimum(1.0, headings / np.maximum(body, 1.0))
        rows[:, 7] = titles > _LONG_TITLE
        rows[:, 8] = looked[:, 3]
        rows[:, 9] = [(page.flags & _SPAM) != 0 for page in pages]
        return rows


def _look(texts: Sequence[bytes], languages: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Give what the kernel sees in some texts."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    bounds = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1).astype(np.int64)
    looked: npt.NDArray[np.float64] = quality.measure_texts(
        np.frombuffer(b"".join(texts), np.uint8), bounds, languages, tongues()
    )
    return looked
