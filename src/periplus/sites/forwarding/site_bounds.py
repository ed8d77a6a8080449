"""The bounds of a site: a message from which another site tells what no score there can exceed."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput, CorruptFile
from periplus.hashing import fingerprint
from periplus.index import Index, Segment, folder_statistics
from periplus.rank import ExternalSignals, vector_format
from periplus.search import decode_record, encode_record
from periplus.sites.forwarding.group_features import GroupFeatures, are_sound, collect_features, join_features
from periplus.sites.forwarding.kernels import score_bounds
from periplus.sites.forwarding.term_pairs import has_phrase, make_pair_filter, segment_pairs
from periplus.store import compress, decompress

__all__ = [
    "MAX_MESSAGE_BYTES",
    "SiteBounds",
    "copies_version",
    "decode_bounds",
    "encode_bounds",
    "hash_terms",
    "make_site_bounds",
]

MAX_MESSAGE_BYTES: Final = 1 << 28
"""A message that is larger, or becomes larger when it is decompressed, is refused."""
DEFAULT_GROUP: Final = 8
"""Documents of a group: see docs/decisions/057."""
DEFAULT_VALID_SECONDS: Final = 3_600.0
"""A site whose bounds are older is asked."""
_FORMAT: Final = 2
_MAX_GROUP: Final = 65_535
_MAX_DOCUMENTS: Final = 1 << 31
_LOW: Final = np.uint64(0xFFFFFFFF)

Hashes = npt.NDArray[np.uint32]


class SiteBounds(NamedTuple):
    """What a site says of all its documents but those that the other site has a copy of. Arrays are ascending."""

    format: int
    site: str
    generation: int
    """Of the index that it holds for."""
    epoch: int
    """Of the collection statistics that the index was built with."""
    made: float
    """Unix time by the clock of the site; the site that uses it counts from when it arrived."""
    valid_seconds: float
    replica_version: int
    """The set of copies that is left out; 0 for none. A site that has another set cannot use the bounds."""
    encoder: bool
    """Whether its candidates are compared by embeddings of an encoder, of which there are no bounds."""
    documents: int
    group_sizes: npt.NDArray[np.uint16]
    features: GroupFeatures
    recipe: str
    """What vectors of passages depend on besides the text: another site compares them if its recipe is the same."""
    terms: Hashes
    """Fingerprints of terms: those of documents that are left out too, without entries."""
    term_starts: npt.NDArray[np.int64]
    """By term: its first entry; one more than there are terms."""
    term_fields: npt.NDArray[np.uint8]
    """By term: the fields in which it stands anywhere, as a mask."""
    groups: npt.NDArray[np.uint32]
    impacts: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint8]
    pairs: npt.NDArray[np.uint8]
    """Which terms stand next to each other, as a filter: see `term_pairs`; empty where nothing is known."""
    popularity: float
    """The highest popularity of a document, 0 to 1; the same of the following."""
    freshness: float
    clicks: float
    titles: Hashes
    """The low halves of the keys of titles."""
    site_names: Hashes
    """The low halves of the fingerprints of names of sites that have a home page here."""

    @property
    def entries(self) -> score_bounds.BoundEntries:
        """The arrays that kernels read."""
        return score_bounds.BoundEntries(self.groups, self.impacts, self.counts, self.group_sizes, self.features.static)

    def rows(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """Return the rows of terms by their fingerprints, -1 for those that the site does not have."""
        if not len(self.terms):
            return np.full(len(hashes), -1, np.int64)
        at = np.minimum(np.searchsorted(self.terms, hashes), len(self.terms) - 1)
        return np.where(self.terms[at] == hashes, at, -1)

    def have_all(self, terms: Sequence[bytes]) -> bool:
        """Return whether the site may have all of some terms, in whatever documents."""
        return bool((self.rows(hash_terms(terms)) >= 0).all())

    def has_phrase(self, terms: Sequence[bytes]) -> bool:
        """Return whether terms may stand in a row in a document of the site."""
        hashes = hash_terms(terms)
        return bool((self.rows(hashes) >= 0).all()) and has_phrase(self.pairs, hashes)

    def has_title(self, keys: Sequence[int]) -> bool:
        """Return whether a document may have a title with one of some keys."""
        return _has_any(self.titles, keys)

    def has_site_name(self, key: int) -> bool:
        """Return whether a site with a name, by its fingerprint, may have a home page here."""
        return _has_any(self.site_names, [key])


def make_site_bounds(
    site: str,
    index: Index,
    signals: ExternalSignals,
    *,
    encoder: bool = False,
    group: int = DEFAULT_GROUP,
    copies: Mapping[str, npt.NDArray[np.int64]] | None = None,
    valid_seconds: float = DEFAULT_VALID_SECONDS,
) -> SiteBounds:
    """Return the bounds of a site.

    signals: what the site knows of its pages from outside. encoder: whether embeddings of an encoder take part there.
    group: documents of a group; 0 puts all of a segment into one, for bounds by term alone. copies: by segment, the
    documents that the receiver has a copy of, which are left out.
    """
    left_out = _live_copies(index, copies or {})
    parts = [_collect_segment(segment, group, left_out.get(segment.name)) for segment in index.segments]
    first = np.cumsum([0, *(len(part.sizes) for part in parts)])
    groups = [part.groups + np.uint32(start) for part, start in zip(parts, first.tolist(), strict=False)]
    joined = _Entries(
        _join([part.hashes for part in parts], np.uint32),
        _join(groups, np.uint32),
        _join([part.impacts for part in parts], np.uint8),
        _join([part.counts for part in parts], np.uint8),
        _join([part.fields for part in parts], np.uint8),
    )
    terms = np.unique(_join([part.terms for part in parts], np.uint32))
    starts, fields, merged = _merge_entries(joined, terms)
    statistics = folder_statistics(index.folder)
    live = [part.live for part in parts]
    pairs = list(zip(index.segments, live, strict=True))
    return SiteBounds(
        _FORMAT,
        site,
        index.manifest.generation,
        statistics.epoch if statistics is not None else 0,
        time.time(),
        valid_seconds,
        copies_version(left_out),
        encoder,
        int(sum(mask.sum() for mask in live)),
        _join([part.sizes for part in parts], np.uint16),
        join_features([part.features for part in parts]),
        vector_format().recipe,
        terms,
        starts,
        fields,
        merged.groups,
        merged.impacts,
        merged.counts,
        make_pair_filter(
            [segment_pairs(segment, part.terms) for segment, part in zip(index.segments, parts, strict=True)]
        ),
        1.0 if signals.popular or len(signals.visited.keys) else 0.0,
        1.0 if any(_highest(segment, "day", mask) > 0 for segment, mask in pairs) else 0.0,
        1.0 if signals.liked else 0.0,
        np.unique(_join([_low_half(segment.column("title_key")[mask]) for segment, mask in pairs], np.uint32)),
        np.unique(_join([_site_names(segment) for segment in index.segments], np.uint32)),
    )


class _Entries(NamedTuple):
    """Entries of all segments, in any order."""

    hashes: Hashes
    groups: npt.NDArray[np.uint32]
    impacts: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint8]
    fields: npt.NDArray[np.uint8]


class _SegmentEntries(NamedTuple):
    """The entries of one segment, whose groups are numbered from 0."""

    hashes: Hashes
    groups: npt.NDArray[np.uint32]
    impacts: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint8]
    fields: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.uint16]
    features: GroupFeatures
    live: npt.NDArray[np.bool_]
    terms: Hashes
    """All terms of the segment, those of documents that do not count too."""


def copies_version(copies: Mapping[str, npt.NDArray[np.int64]]) -> int:
    """Return what identifies a set of documents of a site, by segment; 0 for none."""
    parts = [(name, numbers) for name, numbers in sorted(copies.items()) if len(numbers)]
    if not parts:
        return 0
    data = b"".join(name.encode() + b"\0" + np.unique(numbers).astype("<i8").tobytes() for name, numbers in parts)
    return fingerprint(data) >> 1 | 1


def _live_copies(index: Index, copies: Mapping[str, npt.NDArray[np.int64]]) -> dict[str, npt.NDArray[np.int64]]:
    """Return the documents of a set that the index has and that are not deleted."""
    live: dict[str, npt.NDArray[np.int64]] = {}
    for segment in index.segments:
        numbers = np.unique(np.asarray(copies.get(segment.name, ()), np.int64))
        numbers = numbers[(numbers >= 0) & (numbers < segment.documents)]
        live[segment.name] = numbers[segment.is_live[numbers]]
    return live


def _collect_segment(segment: Segment, group: int, copies: npt.NDArray[np.int64] | None) -> _SegmentEntries:
    live = np.array(segment.is_live)
    if copies is not None:
        live[copies] = False
    documents = np.arange(segment.documents, dtype=np.int64)
    size = min(group, _MAX_GROUP) if group > 0 else max(1, min(segment.documents, _MAX_GROUP))
    group_of = np.where(live, documents // size, -1)
    count = -(-segment.documents // size)
    sizes = np.bincount(group_of[live], minlength=count)
    features = collect_features(segment, group_of, count, live)
    terms = segment.valid_terms()
    room = int(terms.frequency.sum())
    numbers, groups = np.empty(room, np.int64), np.empty(room, np.uint32)
    impacts, counts, fields = (np.empty(room, np.uint8) for _ in range(3))
    written = score_bounds.collect_entries(segment.postings, terms, group_of, numbers, groups, impacts, counts, fields)
    hashes = score_bounds.hash_terms(terms.blob, terms.start)
    arrays = (hashes[numbers[:written]], groups[:written], impacts[:written], counts[:written], fields[:written])
    return _SegmentEntries(*arrays, sizes.astype(np.uint16), features, live, hashes)


def _merge_entries(entries: _Entries, terms: Hashes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8], _Entries]:
    """Return where the entries of each term begin, their fields, and entries: one for each term and group."""
    order = np.lexsort((entries.groups, entries.hashes))
    hashes, groups = entries.hashes[order], entries.groups[order]
    term_fields = np.zeros(len(terms), np.uint8)
    if not len(hashes):
        return np.zeros(len(terms) + 1, np.int64), term_fields, entries
    first = np.flatnonzero(np.r_[True, (hashes[1:] != hashes[:-1]) | (groups[1:] != groups[:-1])])
    impacts = np.maximum.reduceat(entries.impacts[order], first)
    sums = np.add.reduceat(entries.counts[order].astype(np.int64), first)
    counts = np.minimum(sums, score_bounds.MAX_COUNT).astype(np.uint8)
    fields = np.bitwise_or.reduceat(entries.fields[order], first)
    merged = _Entries(hashes[first], groups[first], impacts, counts, fields)
    starts = np.append(np.searchsorted(merged.hashes, terms), len(first)).astype(np.int64)
    np.bitwise_or.at(term_fields, np.searchsorted(terms, merged.hashes), fields)
    return starts, term_fields, merged


def _join(parts: Sequence[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind, copy=False)


def _highest(segment: Segment, column: str, live: npt.NDArray[np.bool_]) -> float:
    """Return the highest value of a column, which a segment may lack."""
    if column not in segment.files["documents"]:
        return 0.0
    return float(segment.column(column)[live].max(initial=0))


def _low_half(keys: npt.NDArray[Any]) -> Hashes:
    return (keys.astype(np.uint64) & _LOW).astype(np.uint32)


def _site_names(segment: Segment) -> Hashes:
    file = segment.files.get("words")
    return _low_half(file["site_key"]) if file is not None else np.zeros(0, np.uint32)


def _has_any(hashes: Hashes, keys: Sequence[int]) -> bool:
    wanted = np.array([key & int(_LOW) for key in keys], np.uint32)
    return bool(len(hashes)) and bool(np.isin(wanted, hashes).any())


def hash_terms(terms: Sequence[bytes]) -> Hashes:
    """Return the fingerprints of terms."""
    start = np.zeros(len(terms) + 1, np.int64)
    np.cumsum([len(term) for term in terms], out=start[1:])
    hashes: Hashes = score_bounds.hash_terms(np.frombuffer(b"".join(terms) or b"\0", np.uint8), start)
    return hashes


def encode_bounds(bounds: SiteBounds) -> bytes:
    """Return bounds as a compressed message; raise `BadInput` for one that would be too large."""
    data = encode_record(bounds)
    if len(data) > MAX_MESSAGE_BYTES:
        raise BadInput("The bounds of this site are too large.", "Put more documents into a group.")
    return compress(data)


def decode_bounds(data: bytes, site: str) -> SiteBounds:
    """Return the bounds that a site sent; raise `BadInput` for anything that no site makes, or that is another's."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise BadInput("The bounds of a site are too large.")
    try:
        bounds = decode_record(decompress(data, MAX_MESSAGE_BYTES), SiteBounds)
    except (msgspec.MsgspecError, CorruptFile, ValueError) as error:
        raise BadInput(f"The bounds of a site cannot be read: {error}") from None
    if bounds.site != site or bounds.format != _FORMAT:
        raise BadInput(f"The bounds are not those of {site[:40]}, or of another version.")
    if not _is_sound(bounds):
        raise BadInput(f"The bounds of {site[:40]} are not those of any index.")
    return bounds


def _is_sound(bounds: SiteBounds) -> bool:
    """Return whether kernels can read the arrays, and numbers are such as a site can have."""
    groups, entries, terms = len(bounds.group_sizes), len(bounds.groups), len(bounds.terms)
    shares = (bounds.popularity, bounds.freshness, bounds.clicks)
    width = vector_format().bytes
    shapes = (
        all(array.ndim == 1 for array in bounds if isinstance(array, np.ndarray))
        and are_sound(bounds.features, groups, width)
        and len(bounds.impacts) == len(bounds.counts) == entries
        and len(bounds.term_starts) == terms + 1
        and len(bounds.term_fields) == terms
    )
    if not shapes or not all(0.0 <= share <= 1.0 for share in shares):
        return False
    starts = bounds.term_starts
    sizes = int(bounds.group_sizes.sum(dtype=np.int64))
    return (
        int(starts[0]) == 0
        and int(starts[-1]) == entries
        and bool((np.diff(starts) >= 0).all())
        and bool((np.diff(bounds.terms.astype(np.int64)) > 0).all())
        and (not entries or int(bounds.groups.max()) < groups)
        and _ascend_within(bounds.groups, starts)
        and 0 <= bounds.documents == sizes < _MAX_DOCUMENTS
        and bounds.generation >= 0
        and bounds.replica_version >= 0
        and np.isfinite(bounds.made)
        and bool(0 < bounds.valid_seconds < 1e9)
    )


def _ascend_within(groups: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64]) -> bool:
    """Return whether the groups of each term ascend."""
    steps = np.r_[True, np.diff(groups.astype(np.int64)) > 0]
    begins = starts[:-1]
    steps[begins[begins < len(groups)]] = True
    return bool(steps[: len(groups)].all())
