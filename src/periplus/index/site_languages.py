"""The languages of sites: what language to expect of a page, by the other pages of its host and of the collection."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.text import LANGUAGES

__all__ = ["SegmentLanguages", "SiteLanguages"]

MAX_HOSTS: Final = 20_000
"""Hosts whose languages are counted; of more, those that were seen first are forgotten."""
_MAX_SEGMENT_HOSTS: Final = 50_000
"""Hosts of a segment that are looked up by name; a segment of more counts as part of the collection only."""
_DOUBT: Final = 1.0
"""Pages of a host after which it counts as much as the collection, and of a collection after which it counts half."""


class SegmentLanguages(NamedTuple):
    """The languages of the documents of a segment."""

    total: npt.NDArray[np.int64]
    """Documents by language."""
    hosts: Mapping[str, int]
    """Numbers of hosts; empty if they are too many."""
    pairs: npt.NDArray[np.int64]
    """Hosts and languages that occur together, ascending: 256 times the number of the host, plus the language."""
    counts: npt.NDArray[np.int64]
    """Documents of each pair."""

    @classmethod
    def read(cls, columns: ArrayFile) -> "SegmentLanguages":
        """Return the languages of a segment, from its columns."""
        hosts, languages = columns["host"].astype(np.int64), columns["language"].astype(np.int64)
        documents = max(len(columns["key"]), 1)
        hosts, languages = (np.broadcast_to(c, documents) if len(c) == 1 else c for c in (hosts, languages))
        start, blob = columns["hosts_start"].tolist(), columns["hosts_blob"].tobytes()
        names: dict[str, int] = {}
        if len(start) <= _MAX_SEGMENT_HOSTS:
            spans = enumerate(itertools.pairwise(start))
            names = {blob[a:b].decode("utf-8", "replace"): number for number, (a, b) in spans}
        pairs, counts = np.unique(hosts * 256 + languages, return_counts=True)
        return cls(np.bincount(languages, minlength=256), names, pairs, counts)

    def of_host(self, host: str) -> Iterable[tuple[int, float]]:
        """Return the languages of a host, each with the number of its documents."""
        number = self.hosts.get(host)
        if number is None:
            return ()
        begin, end = np.searchsorted(self.pairs, (number * 256, (number + 1) * 256)).tolist()
        return zip((self.pairs[begin:end] % 256).tolist(), self.counts[begin:end].astype(float).tolist(), strict=True)


class SiteLanguages:
    """Counts pages by host and language, and returns what to expect of further pages."""

    def __init__(
        self, segments: Iterable[SegmentLanguages] = (), collection: Mapping[str, float] | None = None
    ) -> None:
        """Begin with what segments have; collection: documents by language of a whole that these are a part of."""
        self._segments = list(segments)
        self._collection = np.zeros(len(LANGUAGES))
        self._hosts: dict[str, dict[int, float]] = {}
        for segment in self._segments:
            self._collection += segment.total[: len(LANGUAGES)]
        self._fixed = collection is not None
        if collection is not None:
            self._collection = np.array([collection.get(code, 0.0) for code in LANGUAGES])
        self._collection[0] = 0

    def add(self, hosts: Sequence[str], languages: npt.NDArray[np.uint8], weights: npt.NDArray[np.float32]) -> None:
        """Count pages: their hosts, their languages, and how certain each language is, from 0 to 1."""
        if not self._fixed:
            self._collection += np.bincount(languages, weights, minlength=len(LANGUAGES))
            self._collection[0] = 0
        for host, language, weight in zip(hosts, languages.tolist(), weights.tolist(), strict=True):
            if weight > 0 and language:
                counts = self._counts(host)
                counts[language] = counts.get(language, 0.0) + weight

    def _counts(self, host: str) -> dict[int, float]:
        counts = self._hosts.get(host)
        if counts is None:
            if len(self._hosts) >= MAX_HOSTS:
                del self._hosts[next(iter(self._hosts))]
            counts = self._hosts[host] = {}
            for segment in self._segments:
                for language, count in segment.of_host(host):
                    if language and language < len(LANGUAGES):
                        counts[language] = counts.get(language, 0.0) + count
        return counts

    def expectations(self, hosts: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
        """Return rows with the expectation of each language, from 0 to 1, and the row of each host."""
        total = float(self._collection.sum())
        rows = [self._collection / (total + _DOUBT)]
        row_of: dict[str, int] = {}
        for host in dict.fromkeys(hosts):
            counts = self._counts(host) if self._segments else self._hosts.get(host)
            if not counts:
                row_of[host] = 0 if total else -1
                continue
            certain = sum(counts.values())
            row = rows[0] * (_DOUBT / (certain + _DOUBT))
            for language, count in counts.items():
                row[language] += count / (certain + _DOUBT)
            row_of[host] = len(rows)
            rows.append(row)
        return np.array(rows, np.float32), np.fromiter(map(row_of.__getitem__, hosts), np.int32, len(hosts))
