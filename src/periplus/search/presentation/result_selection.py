"""Selection: which candidates become results: safe search, near-duplicates collapsed, host diversity.

The order is that of the ranking, with three exceptions. A near-duplicate of a better page is collapsed into it.
Of ten results at most a few are of one host, as long as other hosts have some (host diversity). Pages of untrusted
hosts come behind all others. Windows of ten are counted from the first result, whatever page of results is requested,
so that pages of results always join.
"""

import itertools
from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.records import Hit, PageFlag
from periplus.search.kernels import selection as kernels

__all__ = [
    "ADULT_FLAGS",
    "DECEPTIVE_FLAGS",
    "MIN_SIMHASH_BYTES",
    "CandidateFields",
    "ContentSignature",
    "Selection",
    "SelectionRules",
    "add_related",
    "excluded_flags",
    "is_home_page",
    "keep_similar",
    "related_rows",
    "select_columns",
    "select_results",
]

ADULT_FLAGS: Final = int(PageFlag.ADULT)
DECEPTIVE_FLAGS: Final = int(
    PageFlag.ADULT | PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM | PageFlag.UNTRUSTED
)
MIN_SIMHASH_BYTES: Final = kernels.MIN_SIMHASH_BYTES
_WINDOW: Final = kernels.WINDOW
_FEW: Final = 32
"""Signatures up to which each is compared, which takes less than to compare arrays."""
_MAX_SITELINKS: Final = 4
_SITELINK_CANDIDATES: Final = 60
"""Candidates among which other results of the same site are looked for."""
_MAX_DEFERRED: Final = kernels.MAX_DEFERRED


class ContentSignature(NamedTuple):
    """What near-duplicates are recognised by."""

    simhash: int
    length: int
    exact: int
    """Fingerprint of the whole text."""

    def is_near_duplicate(self, other: "ContentSignature", bits: int) -> bool:
        """Return whether the texts of two pages differ in at most `bits` bits of their simhash."""
        if not self.length or not other.length:
            return False
        if min(self.length, other.length) < MIN_SIMHASH_BYTES:
            return self.exact == other.exact
        comparable = abs(self.length - other.length) * 4 <= max(self.length, other.length)
        return comparable and (self.simhash ^ other.simhash).bit_count() <= bits


class CandidateFields(NamedTuple):
    """Fields of candidates by their row, read as selection comes to them."""

    host: Callable[[int], Hashable]
    signature: Callable[[int], ContentSignature]


class Selection(NamedTuple):
    """Rows of candidates in the order of results."""

    rows: list[int]
    similar: dict[int, list[int]]
    """Rows that were collapsed into a row."""
    hidden: int
    """Candidates that safe search left out."""
    examined: int
    """Candidates there were."""


class SelectionRules(NamedTuple):
    """How results are selected: parameters of `select_results`."""

    wanted: int
    excluded: int
    per_host: int
    bits: int


def related_rows(
    selection: Selection, shown: Sequence[int], host: Callable[[int], Hashable], count: int, *, with_site: bool = True
) -> list[int]:
    """Return the rows of which titles and URLs may be shown with some rows: near-duplicates, and results of the site.

    host: of a row; count: how many candidates there are; with_site: whether the first result may be a home page.
    """
    related = [other for row in shown for other in selection.similar.get(row, ())]
    is_first = with_site and bool(shown) and shown[0] == selection.rows[0]
    return related + (_site_rows(shown[0], host, count) if is_first else [])


def is_home_page(hit: Hit) -> bool:
    """Return whether a result is the home page of its host."""
    return not hit.url.partition("://")[2].partition("/")[2]


def add_related(
    hits: Sequence[Hit],
    selection: Selection,
    shown: Sequence[int],
    host: Callable[[int], Hashable],
    count: int,
    titles: Mapping[int, tuple[str, str]],
) -> list[Hit]:
    """Return the hits of some rows with their near-duplicates, and the first with other results of its site.

    titles: titles and URLs of the rows that `related_rows` returned.
    """
    if not selection.similar and not (hits and shown[0] == selection.rows[0] and is_home_page(hits[0])):
        return list(hits)
    finished = []
    for hit, row in zip(hits, shown, strict=True):
        similar = tuple([titles[other][1] for other in selection.similar.get(row, ())])
        is_home = row == selection.rows[0] and is_home_page(hit)
        links = tuple([titles[other] for other in _site_rows(row, host, count)]) if is_home else ()
        finished.append(msgspec.structs.replace(hit, similar=similar, links=links) if similar or links else hit)
    return finished


def _site_rows(row: int, host: Callable[[int], Hashable], count: int) -> list[int]:
    """Return other candidates of the host of a row."""
    own = host(row)
    others = (n for n in range(min(count, _SITELINK_CANDIDATES)) if n != row and host(n) == own)
    return list(itertools.islice(others, _MAX_SITELINKS))


def excluded_flags(safe: int) -> int:
    """Return the flags of pages that a level of safe search leaves out."""
    return (0, ADULT_FLAGS, DECEPTIVE_FLAGS)[max(0, min(safe, 2))]


def select_results(
    flags: npt.NDArray[np.int64],
    fields: CandidateFields,
    wanted: int,
    excluded: int,
    per_host: int,
    bits: int,
    late: Callable[[], bool] = lambda: False,
) -> Selection:
    """Return the first `wanted` results in their order.

    flags: of the candidates, best first; excluded: flags that leave a page out; per_host: results of one host among
    ten, 0 for no limit; bits: of simhashes in which near-duplicates differ, below 0 to keep them all; late: whether the
    time is up: then near-duplicates behind the first results are kept.
    """
    parts: tuple[Iterable[int], ...] = (range(len(flags)),)
    hidden = 0
    if np.count_nonzero(flags):
        is_hidden, untrusted = (flags & excluded) != 0, (flags & int(PageFlag.UNTRUSTED)) != 0
        # Hosts are diversified among those that are trusted: a link farm has many hosts, and would get every other
        # place.
        parts = tuple(np.flatnonzero(part).tolist() for part in (~is_hidden & ~untrusted, ~is_hidden & untrusted))
        hidden = int(is_hidden.sum())
    duplicates = _DuplicateFilter(fields, bits, late)
    rows: list[int] = []
    deferred: deque[int] = deque()
    for part in parts:
        source, window = iter(part), [0]
        while window and len(rows) < wanted:
            window = _fill_window(source, deferred, fields, duplicates, per_host, min(_WINDOW, wanted - len(rows)))
            rows += window
    return Selection(rows, duplicates.similar, hidden, len(flags))


def select_columns(columns: npt.NDArray[np.uint64], rules: SelectionRules) -> Selection | None:
    """Return what `select_results` returns, by columns alone; None where it would read a text.

    columns: three words for each candidate: see `kernels.selection`.
    """
    rows, pairs, hidden = kernels.select_rows(
        columns, rules.wanted, rules.excluded, int(PageFlag.UNTRUSTED), rules.per_host, rules.bits
    )
    if hidden < 0:
        return None
    similar: dict[int, list[int]] = {}
    for row, other in pairs.tolist():
        similar.setdefault(row, []).append(other)
    return Selection(rows.tolist(), similar, hidden, len(columns))


class _DuplicateFilter:
    """The signatures of the results so far, and the rows that were collapsed into them."""

    def __init__(self, fields: CandidateFields, bits: int, late: Callable[[], bool]) -> None:
        self._fields = fields
        self._bits = bits
        self._late = late
        self._signatures: list[tuple[int, ContentSignature]] = []
        self._hashes: npt.NDArray[np.uint64] | None = None
        """Simhashes and fingerprints of more than a few signatures."""
        self.similar: dict[int, list[int]] = {}

    def collapse(self, row: int) -> bool:
        """Return whether a row is a near-duplicate of an earlier one, and record it."""
        if self._bits < 0 or (len(self._signatures) > _WINDOW and self._late()):
            return False
        own = self._fields.signature(row)
        near = self._signatures if len(self._signatures) <= _FEW else self._possible(own)
        # Most differ in both hashes: only the others are compared in full.
        (simhash, _, exact), bits = own, self._bits
        for at, its in near:
            if (its[2] == exact or (its[0] ^ simhash).bit_count() <= bits) and own.is_near_duplicate(its, bits):
                self.similar.setdefault(at, []).append(row)
                return True
        self._add(row, own)
        return False

    def _possible(self, own: ContentSignature) -> list[tuple[int, ContentSignature]]:
        """Return the signatures that may be of near-duplicates: those with close simhashes."""
        simhashes, exact = self._all_hashes()
        close = np.bitwise_count(simhashes ^ np.uint64(own.simhash)) <= self._bits
        if own.exact:
            close |= exact == np.uint64(own.exact)
        return [self._signatures[n] for n in np.flatnonzero(close).tolist()]

    def _all_hashes(self) -> npt.NDArray[np.uint64]:
        """Return simhashes and fingerprints of all signatures."""
        count = len(self._signatures)
        if self._hashes is None:
            own = [(signature.simhash, signature.exact) for _, signature in self._signatures]
            self._hashes = np.concatenate((np.array(own, np.uint64).T, np.zeros((2, count), np.uint64)), axis=1)
        return self._hashes[:, :count]

    def _add(self, row: int, own: ContentSignature) -> None:
        count = len(self._signatures)
        if self._hashes is not None:
            if count == self._hashes.shape[1]:
                self._hashes = np.concatenate((self._hashes, np.zeros((2, count), np.uint64)), axis=1)
            self._hashes[:, count] = own.simhash, own.exact
        self._signatures.append((row, own))


def _fill_window(
    source: Iterator[int],
    deferred: deque[int],
    fields: CandidateFields,
    duplicates: _DuplicateFilter,
    per_host: int,
    size: int,
) -> list[int]:
    """Return the next window of results: deferred rows first, then new ones; rows of crowded hosts are deferred.

    Only rows that are admitted are compared with others: that reads their text, and deferred ones may never be needed.
    """
    window: list[int] = []
    counts: dict[Hashable, int] = {}

    host_of = fields.host

    def is_crowded(row: int) -> bool:
        host = host_of(row)
        if counts.get(host, 0) >= per_host:
            return True
        if not duplicates.collapse(row):
            counts[host] = counts.get(host, 0) + 1
            window.append(row)
        return False

    def admit(row: int) -> None:
        if not duplicates.collapse(row):
            window.append(row)

    for _ in range(len(deferred)):
        row = deferred.popleft()
        if len(window) >= size or (per_host and is_crowded(row)):
            deferred.append(row)
    while len(window) < size and len(deferred) < _MAX_DEFERRED and (row := next(source, -1)) >= 0:
        if not per_host:
            admit(row)
        elif is_crowded(row):
            deferred.append(row)
    while len(window) < size and deferred:
        admit(deferred.popleft())
    return window


def keep_similar(selection: Selection, rows: Container[int]) -> Selection:
    """Return a selection with those near-duplicates only that are among some rows."""
    similar = {row: [other for other in others if other in rows] for row, others in selection.similar.items()}
    return selection._replace(similar=similar)
