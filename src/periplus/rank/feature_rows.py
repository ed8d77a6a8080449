"""Features: what reranking knows of each candidate, one row of named numbers.

The kernel measures where the query's words stand in a document and reads the columns of its segment; what the data
folder knows of a page from outside (visits, clicks) is set beside it. docs/ranking.md says what each feature is.
"""

import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.accel import pointers
from periplus.arrays import ArrayFile
from periplus.index import Index, Segment
from periplus.index.kernels.inversion import FIELDS
from periplus.query import QueryPlan, WordTables
from periplus.rank.external_signals import ExternalSignals
from periplus.rank.kernels import features
from periplus.rank.ranking_model import FEATURES, Rows
from periplus.rank.static_similarity import StaticSimilarity, fill_similarities
from periplus.records import Candidates, PageFlag

__all__ = [
    "ALL_FEATURES",
    "FEATURES",
    "FIXED_PHRASES",
    "FeatureExtractor",
    "Rows",
    "complete_features",
    "count_words",
    "without_static_similarity",
]

ALL_FEATURES: Final = features.ALL
"""All features as a mask."""
FIXED_PHRASES: Final = 1 << FEATURES.index("fixed")
"""That of fixed phrases."""
_CLICKS: Final = FEATURES.index("clicks")
_TITLE: Final = FEATURES.index("title")
_QUERY: Final = FEATURES.index("query_words")
"""The first of the columns that are the same for all candidates of a query."""
_TITLES: Final = _QUERY + 3
"""The mean share of the query that titles have."""
_SIMILARITY: Final = FEATURES.index("static_similarity")
_NAME: Final = FEATURES.index("name")
_MOST_MENTIONS: Final = 1_000_000
"""Documents that mention a title of which the feature is 1."""
_SPAM: Final = {PageFlag.STUFFED: 1, PageFlag.HIDDEN: 1, PageFlag.LINK_FARM: 1, PageFlag.UNTRUSTED: 3}
"""What each flag adds to the spam feature: links give a farm away more surely than its words do."""
_MOST_WORDS: Final = 64
_ALL_COUNT: Final = np.zeros((0, 0), np.bool_)


class FeatureExtractor:
    """Measures the candidates of one index."""

    def __init__(self, index: Index, signals: ExternalSignals, *, static: bool = True) -> None:
        """Open the columns of an index; without `static`, similarities by the static model are not measured."""
        self._index = index
        self._similarity = StaticSimilarity(index) if static else None
        self._outside = signals
        main = max(index.languages, key=lambda code: index.languages[code], default="en")
        self._clicks = signals.clicks(main)
        self._sheets = [pointers.pin(_columns_of(segment, signals)) for segment in index.segments]
        self._sheets_at = _stack([sheet.addresses for sheet in self._sheets])
        self._lists_at = _stack([segment.pinned_postings.addresses for segment in index.segments])
        self._absent = _absent_features(index.segments)

    def extract(self, plan: QueryPlan, candidates: Candidates, today: float | None = None) -> Rows:
        """Return all features of each of the candidates of a query; today: as that of `measure`."""
        return complete_features(self.measure(plan, candidates, today=today))

    def measure(
        self, plan: QueryPlan, candidates: Candidates, needed: int = ALL_FEATURES, today: float | None = None
    ) -> Rows:
        """Return the features of each candidate by itself.

        Those that depend on the other candidates are left to `complete_features`, since some may be on other shards.
        needed: those that are measured, as a mask of `FEATURES`; others may be 0. today: days since 1970, by the clock
        of a broker; None is that of this machine.
        """
        words = plan.words[:_MOST_WORDS]
        if not words or not len(candidates.documents):
            rows = np.zeros((len(candidates.documents), len(FEATURES)))
            rows[:, 0] = candidates.scores
            return rows
        places = [plan.places(segment) for segment in self._index.segments]
        tables = plan.tables() if len(words) == len(plan.words) else WordTables.of(words)
        asked = features.FeatureQuery(
            places[0][np.newaxis] if len(places) == 1 else np.stack(places),
            tables.word,
            tables.weight,
            tables.place,
            _bonds(plan, len(words), bool(needed & FIXED_PHRASES)),
            self._excluded_terms(plan, candidates),
            candidates.segments,
            candidates.documents,
            candidates.scores,
        )
        titles = np.array(plan.titles, np.uint64)
        today = self._outside.today if today is None else float(today)
        needed &= ~self._absent
        measured: Rows = features.measure(self._lists_at, self._sheets_at, asked, titles, today, needed)
        if self._clicks and (clicked := self._clicks.get(frozenset(word.word for word in words))):
            measured[:, _CLICKS] = [clicked.get(key, 0.0) for key in self._keys(candidates)]
        measured[:, _QUERY:_TITLES] = _describe_query(plan)
        if self._similarity is not None:
            similarities = self._similarity.measure(plan.text, candidates)
            if similarities is not None:
                measured[:, _SIMILARITY] = similarities
        for named in plan.named:
            same = (candidates.segments == named.segment) & (candidates.documents == named.document)
            measured[same, _NAME] = named.weight
        return measured

    def _excluded_terms(self, plan: QueryPlan, candidates: Candidates) -> npt.NDArray[np.bool_]:
        """Return which terms do not count in which candidates; empty where all of them count."""
        tables = plan.tables()
        if not tables.restrictions:
            return _ALL_COUNT
        if len(self._index.segments) == 1:
            return plan.excluded_terms(self._index.segments[0], candidates.documents)
        excluded = np.zeros((len(candidates.documents), len(tables.terms)), np.bool_)
        for number, segment in enumerate(self._index.segments):
            rows = np.flatnonzero(candidates.segments == number)
            excluded[rows] = plan.excluded_terms(segment, candidates.documents[rows])
        return excluded

    def _keys(self, candidates: Candidates) -> list[int]:
        keys = [segment.column("key") for segment in self._index.segments]
        return [
            int(keys[number][document])
            for number, document in zip(candidates.segments, candidates.documents, strict=True)
        ]


def _absent_features(segments: Sequence[Segment]) -> int:
    """Return the features, as a mask, of fields that no document has: pages to which nobody links have no anchor text.

    To look terms up in candidates takes most of the time of measuring them.
    """
    tokens = np.zeros(FIELDS, np.int64)
    for segment in segments:
        stored = segment.files["documents"]["length"]
        tokens[: len(stored)] += stored
    return sum(features.field_bit(field) for field in np.flatnonzero(tokens == 0).tolist())


def _bonds(prepared: QueryPlan, words: int, wanted: bool) -> npt.NDArray[np.float64]:
    """Return how firmly each of the first words belongs to the next; all 0 unless `wanted`."""
    bonds = np.zeros(words)
    for pair in prepared.pairs() if wanted and words > 1 else ():
        if pair.first < words:
            bonds[pair.first] = pair.bond
    return bonds


def complete_features(rows: Rows) -> Rows:
    """Return the features of all candidates of a query that are reranked, with those that depend on all of them.

    These are the mean share of the query that titles have, and similarities in place of those that are missing. What is
    complete stays as it is.
    """
    if not len(rows):
        return rows
    rows = rows.copy()
    rows[:, _TITLES] = rows[:, _TITLE].mean() if rows[:, _QUERY].any() else 0.0
    rows[:, _SIMILARITY] = fill_similarities(rows[:, _SIMILARITY])
    return rows


def count_words(plan: QueryPlan) -> int:
    """Return the words of a query, stop words counted."""
    return max(plan.words[-1].place + 1, len(plan.words))


def _describe_query(plan: QueryPlan) -> tuple[float, float, float]:
    """Return what kind of query it is: its words, stop words counted; the share of those; the share of its rarest
    word."""
    weights = [word.weight for word in plan.words]
    words = count_words(plan)
    rarest = max(weights) / max(plan.best_score, 1e-12)
    return float(words), 1.0 - len(weights) / words, rarest


def _stack(addresses: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.stack(addresses) if addresses else np.zeros((0, 1), np.int64)


_KNOWN: weakref.WeakKeyDictionary[ArrayFile, features.DocumentColumns] = weakref.WeakKeyDictionary()
"""Sheets without popularity by file: a generation of the index shares most segments with the one before."""


def _columns_of(segment: Segment, signals: ExternalSignals) -> features.DocumentColumns:
    """Lay out the columns of a segment."""
    file = segment.files["documents"]
    sheet = _KNOWN.get(file)
    if sheet is None:
        flags = file["flags"]
        sheet = _KNOWN[file] = features.DocumentColumns(
            file["title_start"],
            file["title_blob"],
            file["url_start"],
            file["url_blob"],
            file["title_key"].astype(np.uint64, copy=False),  # Small numbers may be stored in fewer bytes.
            file["static"],
            file["quality"] if "quality" in file else np.zeros(0, np.uint8),
            file["day"].astype(np.int32),
            _count_spam(flags),
            np.zeros(0, np.float32),
            _weigh_mentions(segment),
        )
    known = bool(signals.popular) or len(signals.visited.keys) > 0
    return sheet._replace(popularity=_popularity(segment, signals)) if known else sheet


def _weigh_mentions(segment: Segment) -> npt.NDArray[np.float32]:
    """Return how many documents mention each title, as a logarithm from 0 to 1; empty where it was not counted."""
    file = segment.files.get("names")
    mentions = np.asarray(file["mentions"]) if file is not None else np.zeros(0, np.int32)
    share = np.log1p(np.maximum(mentions, 0)) / np.log1p(_MOST_MENTIONS)
    weights: npt.NDArray[np.float32] = np.minimum(1.0, share).astype(np.float32)
    return weights


def _count_spam(flags: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the spam feature of each document."""
    count = np.zeros(len(flags), np.uint8)
    for flag, weight in _SPAM.items():
        count += np.uint8(weight) * ((flags.astype(np.uint16) & np.uint16(flag)) != 0)
    return count


def _popularity(segment: Segment, signals: ExternalSignals) -> npt.NDArray[np.float32]:
    """Return the popularity of each document: that of its host, or its own where that is higher."""
    pages = signals.visited.lookup(segment.column("key"))
    if not signals.popular:
        return pages
    by_host = np.array([signals.popularity(host) for host in segment.strings("hosts")], np.float32)
    higher: npt.NDArray[np.float32] = np.maximum(pages, by_host[segment.column("host")])
    return higher


def without_static_similarity(rows: Rows) -> Rows:
    """Return features with that of the static model at zero: for queries in which embeddings take part."""
    rows = rows.copy()
    rows[:, _SIMILARITY] = 0.0
    return rows
