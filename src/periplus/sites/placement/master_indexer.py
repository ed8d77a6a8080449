"""Which site indexes a page: the one whose people are most likely to ask for it (COAST, section 3.2.1).

In: the statistics of all sites (`SiteInterests`), and pages. Out: the sites of each page, best first. The score of a
site is how much more likely the words, language, region, host and domain of the page are among what its people ask and
open than among what everybody does, plus its share of all activity, plus how near the page's host is. See decision 058
for the weights. Without any evidence the nearest site is chosen, and without a place, the one that the hash of the
domain selects: every crawler chooses the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.crawl import HostPartitioner
from periplus.hashing import fingerprint_text
from periplus.records import Page
from periplus.sites.placement.distances import measure_distances
from periplus.sites.placement.geographic_partitioner import SitePlace
from periplus.sites.placement.interest_statistics import SiteInterests, unpack_weights
from periplus.sites.placement.kernels import page_scores
from periplus.sites.placement.page_evidence import (
    PageEvidence,
    WordKeys,
    domain_key,
    host_key,
    identify_languages,
    language_key,
    page_sample,
    region_key,
    region_of,
)
from periplus.sites.site_topology import Place

__all__ = ["MasterChoice", "MasterIndexer", "PlacedPage", "PlacementWeights"]

_SMOOTHING: Final = 0.1
"""Weight of the mean of all sites in what is known of one; a word that a site does not have gets its logarithm."""
_DECLARED: Final = 0.25
"""Weight of the languages that a site declares, compared with those that its people read."""
_MAX_ACTIVITY: Final = 8.0
"""Activity of a site, at most so many times the median: a site cannot attract pages by claiming more."""
_RANGE: Final = 1_500.0
"""Kilometres at which closeness has fallen to 1/e."""


class PlacementWeights(NamedTuple):
    """Weights of the parts of a score."""

    words: float = 1.0
    language: float = 0.25
    region: float = 0.5
    host: float = 1.0
    domain: float = 0.5
    activity: float = 0.5
    closeness: float = 0.5


class PlacedPage(NamedTuple):
    """A page to place, with what is known of its host."""

    page: Page
    host: str
    place: Place | None = None
    country: str = ""


class MasterChoice(NamedTuple):
    """The master indexer of a page."""

    site: str
    ordinal: int
    """Its rank by score, from 1 on; above 1 if better sites could not be chosen."""
    ranking: tuple[str, ...]
    """All sites, best first; () if there was no evidence."""


class MasterIndexer:
    """Chooses the master indexer of pages."""

    def __init__(
        self,
        sites: Sequence[SitePlace],
        interests: Mapping[str, SiteInterests],
        declared: Mapping[str, Sequence[str]] | None = None,
        weights: PlacementWeights | None = None,
    ) -> None:
        """interests: by site, those that are known; declared: languages that the sites say their people read."""
        ordered = sorted(sites, key=lambda site: site.name)
        self.sites = tuple(site.name for site in ordered)
        self._weights = weights or PlacementWeights()
        self._places = [site.place for site in ordered]
        chosen = [interests.get(name) or SiteInterests(name) for name in self.sites]
        self._table = _build_table(
            chosen, [tuple((declared or {}).get(name, ())) for name in self.sites], self._weights
        )
        self.is_empty = not len(self._table.ratios)
        """Whether nothing is known of any site."""
        self._hashes = {fingerprint_text(name): number for number, name in enumerate(self.sites)}
        self._partitioner = HostPartitioner(tuple(self._hashes))
        self._words = WordKeys()
        self._generation = self._words.generation
        self._word_rows = np.zeros(0, np.int32)
        self._stamps = np.zeros(0, np.int32)
        self._counts = np.zeros(0, np.int32)
        self._rows: dict[tuple[str, str], int] = {}

    def choose(
        self, pages: Sequence[PlacedPage], is_available: Callable[[str], bool] = lambda site: True
    ) -> list[MasterChoice]:
        """Return the master of each page: the best site that is available, or the best one if none is."""
        samples = [page_sample(placed.page) for placed in pages]
        languages = identify_languages(samples, [placed.page.language for placed in pages])
        evidence = [
            PageEvidence(placed.host, language, placed.country)
            for placed, language in zip(pages, languages, strict=True)
        ]
        ranking, matched = self.rank(samples, evidence, [placed.place for placed in pages])
        available = np.array([is_available(name) for name in self.sites])
        choices = []
        for order, count in zip(ranking, matched.tolist(), strict=True):
            usable = np.flatnonzero(available[order])
            ordinal = int(usable[0]) if len(usable) else 0
            names = tuple(self.sites[number] for number in order.tolist())
            choices.append(MasterChoice(names[ordinal], ordinal + 1, names if count else ()))
        return choices

    def rank(
        self, samples: Sequence[str], evidence: Sequence[PageEvidence], places: Sequence[Place | None]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return the numbers of the sites of each page, best first, and how many pieces of evidence it had."""
        tokens, lengths = self._words.split(samples)
        self._update_rows()
        shape = (len(samples), len(self.sites))
        rows = np.array([self._evidence_rows(entry) for entry in evidence], np.int32).reshape(len(samples), 4)
        closeness, preferred = self._closeness(evidence, places)
        scores, matched = np.zeros(shape, np.float32), np.zeros(len(samples), np.int32)
        ranking = np.zeros(shape, np.int64)
        weights = self._weights
        kinds = np.array([weights.language, weights.region, weights.host, weights.domain], np.float32)
        page_scores.score_pages(
            self._table,
            tokens,
            lengths,
            self._word_rows,
            weights.words,
            rows,
            kinds,
            closeness,
            preferred,
            self._stamps,
            self._counts,
            scores,
            matched,
            ranking,
        )
        # A page without evidence goes to the nearest site, however active others are.
        for page in np.flatnonzero(matched == 0).tolist():
            order = [number for number in ranking[page].tolist() if number != preferred[page]]
            ranking[page] = [int(preferred[page]), *order]
        return ranking, matched

    def _update_rows(self) -> None:
        """Look up words that were not seen before."""
        if self._generation != self._words.generation:
            self._generation, self._word_rows = self._words.generation, np.zeros(0, np.int32)
        keys, first = self._words.keys, len(self._word_rows)
        if len(keys) > first:
            added = np.zeros(len(keys) - first, np.int32)
            page_scores.find_rows(self._table, keys[first:], added)
            self._word_rows = np.concatenate((self._word_rows, added))
        if len(keys) > len(self._stamps):
            self._stamps, self._counts = np.full(2 * len(keys), -1, np.int32), np.zeros(2 * len(keys), np.int32)

    def _evidence_rows(self, evidence: PageEvidence) -> tuple[int, int, int, int]:
        region = region_of(evidence.host, evidence.country)
        return (
            self._row("language", evidence.language),
            self._row("region", region),
            self._row("host", evidence.host),
            self._row("domain", evidence.host),
        )

    def _row(self, kind: str, name: str) -> int:
        if not name:
            return -1
        row = self._rows.get((kind, name))
        if row is None:
            if len(self._rows) > 200_000:
                self._rows.clear()
            rows = np.zeros(1, np.int32)
            page_scores.find_rows(self._table, np.array([_KEYS[kind](name)], np.uint64), rows)
            row = self._rows[kind, name] = int(rows[0])
        return row

    def _closeness(
        self, evidence: Sequence[PageEvidence], places: Sequence[Place | None]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return how near each site is to each page's host, and the site that is preferred among equals."""
        distances = measure_distances(places, self._places)
        near = np.nan_to_num(np.exp(distances / -_RANGE), nan=0.0)
        hashed = [self._hashes[self._partitioner.owner(entry.host)] for entry in evidence]
        nearest = np.where(np.isnan(distances), np.inf, distances)
        known = np.isfinite(nearest).any(axis=1) if len(places) else np.zeros(0, np.bool_)
        preferred = np.where(known, nearest.argmin(axis=1) if len(places) else 0, hashed).astype(np.int64)
        return (self._weights.closeness * near).astype(np.float32), preferred


_KEYS: Final[dict[str, Callable[[str], int]]] = {
    "language": language_key,
    "region": region_key,
    "host": host_key,
    "domain": domain_key,
}


def _build_table(
    interests: Sequence[SiteInterests], declared: Sequence[tuple[str, ...]], weights: PlacementWeights
) -> page_scores.PlacementTable:
    """Compute the table: for each key, how much more often than at all sites it occurs at each of them."""
    activity = np.array([max(entry.readers, 0.0) for entry in interests])
    positive = activity[activity > 0]
    activity = np.minimum(activity, _MAX_ACTIVITY * float(np.median(positive)) if len(positive) else 1.0)
    shares = (activity + (positive.mean() if len(positive) else 1.0) * 0.1) / max(activity.sum(), 1e-9)
    priors = weights.activity * np.log(shares / shares.sum()) if len(positive) else np.zeros(len(interests))
    keys, ratios = [], []
    words = [unpack_weights(entry.words, entry.word_weights) for entry in interests]
    hosts = [unpack_weights(entry.hosts, entry.host_weights) for entry in interests]
    languages = [_declare(entry.languages, codes) for entry, codes in zip(interests, declared, strict=True)]
    for kind in (words, hosts):
        found, table = _compare([(k.tolist(), w.tolist()) for k, w in kind])
        keys.append(found)
        ratios.append(table)
    for codes, key_of in ((languages, language_key), ([entry.regions for entry in interests], region_key)):
        pairs = [([key_of(code) for code in entry], list(entry.values())) for entry in codes]
        found, table = _compare(pairs)
        keys.append(found)
        ratios.append(table)
    all_keys, first = np.unique(np.concatenate(keys), return_index=True)
    size = 1 << max(1, (2 * len(all_keys)).bit_length())
    slots, slot_rows = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    page_scores.fill_slots(all_keys, slots, slot_rows)
    rows = np.concatenate(ratios)[first].astype(np.float32)
    return page_scores.PlacementTable(slots, slot_rows, rows, priors.astype(np.float32))


def _declare(languages: Mapping[str, float], declared: Sequence[str]) -> dict[str, float]:
    """Return the languages of a site, with those that it declares."""
    weight = _DECLARED if languages else 1.0
    combined = {code: (1.0 - weight if declared else 1.0) * share for code, share in languages.items()}
    for code in declared:
        combined[code] = combined.get(code, 0.0) + weight / len(declared)
    return combined


def _compare(
    sites: Sequence[tuple[Sequence[int], Sequence[float]]],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
    """Return the keys of all sites, and the logarithm of the share of each at each site over its mean share.

    Shares are smoothed by the mean. A site of which nothing is known has the mean share of everything: ratios of 0.
    """
    keys = np.unique(np.array([key for site, _ in sites for key in site], np.uint64))
    shares = np.zeros((len(keys), len(sites)))
    for number, (site, weights) in enumerate(sites):
        shares[np.searchsorted(keys, np.array(site, np.uint64)), number] = weights
    is_known = shares.sum(axis=0) > 0
    mean = shares.sum(axis=1, keepdims=True) / max(int(is_known.sum()), 1)
    table = np.log((1.0 - _SMOOTHING) * shares / np.maximum(mean, 1e-30) + _SMOOTHING)
    table[:, ~is_known] = 0.0
    return keys, table
