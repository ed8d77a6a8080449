"""All documents that match a plan, and not only the best: to count facets, to sort by a field, to delete.

Sets have one 64-bit word for each block of 64 documents, for each segment.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.index import Index
from periplus.query import QueryBudget, QueryPlan, Scoring, match_sets, parse_filter, plan_query
from periplus.records import Query
from periplus.search.rerank import RerankedCandidates
from periplus.settings import FieldSettings

__all__ = [
    "MAX_FACETS",
    "CollectedDocuments",
    "FacetCounts",
    "SortOrder",
    "SortedDocument",
    "collect_documents",
    "count_facets",
    "count_values",
    "find_documents",
    "make_candidates",
    "merge_counts",
    "merge_sorted",
    "parse_sort",
    "select_facets",
    "sort_candidates",
    "sort_documents",
]

MAX_FACETS: Final = 20
"""Fields whose values are counted at once."""
_MAX_VALUES: Final = 100
"""Values of a facet that are returned, the most frequent first."""
MAX_COUNTED: Final = 65_536
"""Different values of a facet that are counted in each part of a collection; of more, the most frequent."""

Sets = npt.NDArray[np.uint64]
Fields = Mapping[str, FieldSettings]
Facet = tuple[str, tuple[tuple[str, int], ...], tuple[float, float] | None]


class SortOrder(NamedTuple):
    """What results are sorted by."""

    name: str
    field: FieldSettings
    descending: bool


class FacetCounts(NamedTuple):
    """How many documents of a part of a collection have each value of a field."""

    words: tuple[str, ...]
    """The values of a keyword."""
    values: npt.NDArray[np.float64]
    """Those of any other field, ascending."""
    counts: npt.NDArray[np.int64]
    bounds: tuple[float, float] | None = None
    """The least and the largest number."""


class SortedDocument(NamedTuple):
    """A document, and what it is sorted by: a number or a word, None where it has no value."""

    value: float | str | None
    segment: int
    document: int
    key: int


class CollectedDocuments(NamedTuple):
    """What was found by all matches of a query."""

    facets: tuple[Facet, ...]
    candidates: RerankedCandidates | None
    """The first results in the order of a field; None where the best come first."""
    total: int
    exact: bool = True
    """Whether all matches were reached within the budget of the query."""


def collect_documents(
    index: Index, plan: QueryPlan, query: Query, fields: Fields, limit: int, budget: QueryBudget
) -> CollectedDocuments:
    """Return the facets of a query, and its first results if it is sorted by a field."""
    order = parse_sort(query.sort, fields)
    sets, complete = match_sets(index, plan, budget)
    facets = count_facets(index, sets, query.facets, fields) if query.facets else ()
    total = sum(int(np.bitwise_count(own).sum()) for own in sets)
    candidates = sort_candidates(index, sets, order, limit) if order is not None else None
    return CollectedDocuments(facets, candidates, total, complete)


def find_documents(index: Index, fields: Fields, expression: str) -> list[tuple[int, str]]:
    """Return key and URL of the documents that were sent and that a filter selects."""
    plan = plan_query(index, parse_filter(expression, fields), Scoring())
    found: list[tuple[int, str]] = []
    for segment, sets in zip(index.segments, match_sets(index, plan).sets, strict=False):
        documents = _list(sets, segment.documents)
        documents = documents[np.asarray(segment.own_fields.content)[documents] != 0]
        keys = segment.column("key")[documents].tolist()
        found += zip(keys, segment.strings_of("url", documents.astype(np.int64)), strict=True)
    return found


def parse_sort(text: str, fields: Fields) -> SortOrder | None:
    """Return the order of `field:asc` or `field:desc`, None for ''; raise `BadInput` for anything else."""
    if not text:
        return None
    name, _, direction = text.partition(":")
    field = fields.get(name)
    if field is None or not field.sort or not field.has_column:
        declared = ", ".join(other for other, one in fields.items() if one.sort and one.has_column) or "none"
        raise BadInput(f"'{name[:80]}' is not a field to sort by.", f"There are: {declared[:400]}.")
    if direction not in ("", "asc", "desc"):
        raise BadInput(f"'{direction[:40]}' is not a direction.", f"Use {name}:asc or {name}:desc.")
    return SortOrder(name, field, direction == "desc")


def _list(sets: Sets, documents: int) -> npt.NDArray[np.int32]:
    """Return the documents of a set, ascending."""
    bits = np.unpackbits(sets.view(np.uint8), bitorder="little")[:documents]
    return np.flatnonzero(bits).astype(np.int32)


def count_facets(index: Index, sets: Sequence[Sets], names: Sequence[str], fields: Fields) -> tuple[Facet, ...]:
    """Return for each field the most frequent values of the documents of a set with their counts.

    For numbers and dates, also the least and the largest. Raise `BadInput` for a field that cannot be counted.
    """
    most = 2 * _MAX_VALUES if len(index.segments) == 1 else MAX_COUNTED
    chosen = select_facets(names, fields)
    return tuple(
        merge_counts(name, field, [count_values(index, sets, name, field, most)]) for name, field in chosen.items()
    )


def select_facets(names: Sequence[str], fields: Fields) -> dict[str, FieldSettings]:
    """Return the fields that are counted, by name; raise `BadInput` for one that cannot be."""
    if len(names) > MAX_FACETS:
        raise BadInput(f"There are {len(names)} facets.", f"Ask for at most {MAX_FACETS}.")
    for name in names:
        field = fields.get(name)
        if field is None or not field.facet or not field.has_column:
            declared = ", ".join(other for other, one in fields.items() if one.facet and one.has_column) or "none"
            raise BadInput(f"'{name[:80]}' is not a field to count.", f"There are: {declared[:400]}.")
    return {name: fields[name] for name in dict.fromkeys(names)}


def count_values(
    index: Index, sets: Sequence[Sets], name: str, field: FieldSettings, most: int = MAX_COUNTED
) -> FacetCounts:
    """Return the values of a field in the documents of a set, with their counts; of more than `most`, the frequent."""
    if field.type != "keyword":
        pairs = zip(index.segments, sets, strict=True)
        parts = [segment.own_fields.gather_values(name, field, own) for segment, own in pairs]
        values, numbers = np.unique(np.concatenate([np.zeros(0), *parts]), return_counts=True)
        bounds = (float(values[0]), float(values[-1])) if len(values) else None
        if len(values) > most:
            best = np.sort(np.argsort(-numbers, kind="stable")[:most])
            values, numbers = values[best], numbers[best]
        return FacetCounts((), values, numbers.astype(np.int64), bounds)
    counts: dict[str, int] = {}
    for segment, own in zip(index.segments, sets, strict=True):
        column, numbers = segment.own_fields.count_words(name, field, own)
        used = np.flatnonzero(numbers)
        if len(used) > most and len(index.segments) == 1:
            used = used[np.argsort(-numbers[used], kind="stable")[:most]]
        for number, count in zip(used.tolist(), numbers[used].tolist(), strict=True):
            word = column.word(number)
            counts[word] = counts.get(word, 0) + count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    words = tuple(word for word, _ in ordered)
    return FacetCounts(words, np.zeros(0), np.array([count for _, count in ordered], np.int64))


def merge_counts(name: str, field: FieldSettings, parts: Sequence[FacetCounts]) -> Facet:
    """Return the facet of a field whose values were counted in several parts of a collection."""
    if field.type == "keyword":
        counts: dict[str, int] = {}
        for part in parts:
            for word, count in zip(part.words, part.counts.tolist(), strict=True):
                counts[word] = counts.get(word, 0) + count
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return name, tuple(ordered[:_MAX_VALUES]), None
    values, places = np.unique(np.concatenate([np.zeros(0), *(part.values for part in parts)]), return_inverse=True)
    if not len(values):
        return name, (), None
    sums = np.zeros(len(values), np.int64)
    np.add.at(sums, places, np.concatenate([part.counts for part in parts]))
    order = np.argsort(-sums, kind="stable")[:_MAX_VALUES]
    shown = tuple((_show(values[row], field), int(sums[row])) for row in order.tolist())
    bounds = [part.bounds for part in parts if part.bounds is not None]
    least, largest = min(low for low, _ in bounds), max(high for _, high in bounds)
    return name, shown, None if field.type == "boolean" else (least, largest)


def _show(value: Any, field: FieldSettings) -> str:
    if field.type == "boolean":
        return "true" if value else "false"
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def sort_candidates(index: Index, sets: Sequence[Sets], order: SortOrder, limit: int) -> RerankedCandidates:
    """Return the first `limit` documents of a set in the order of a field; those without a value come last."""
    chosen = merge_sorted([sort_documents(index, sets, order, limit)], order, limit)
    segments = np.array([row.segment for row in chosen], np.int32)
    documents = np.array([row.document for row in chosen], np.int32)
    total = sum(int(np.bitwise_count(own).sum()) for own in sets)
    return make_candidates(segments, documents, np.array([row.key for row in chosen], np.uint64), total)


def make_candidates(
    segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32], keys: npt.NDArray[np.uint64], total: int
) -> RerankedCandidates:
    """Return documents in the order of a field as candidates, with scores that fall."""
    scores = np.linspace(1.0, 0.0, len(documents), dtype=np.float32)
    return RerankedCandidates(segments, documents, scores, keys, total, True, False, None, None)


def sort_documents(index: Index, sets: Sequence[Sets], order: SortOrder, limit: int) -> list[SortedDocument]:
    """Return the first `limit` documents of each segment of a set in the order of a field, segment by segment."""
    rows: list[SortedDocument] = []
    for number, (segment, own) in enumerate(zip(index.segments, sets, strict=True)):
        documents = _list(own, segment.documents)
        keys = segment.own_fields.sort_keys(order.name, order.field, documents)
        ranks = -keys if order.descending else keys
        best = np.argsort(ranks, kind="stable")[:limit]  # NaN is last, either way
        column = segment.own_fields.column(order.name, order.field)
        of_page = segment.column("key")[documents[best]].tolist()
        for key, document, page in zip(keys[best].tolist(), documents[best].tolist(), of_page, strict=True):
            value = None if key != key else column.word(int(key)) if column.values is None else key
            rows.append(SortedDocument(value, number, document, page))
    return rows


def merge_sorted(parts: Sequence[Sequence[SortedDocument]], order: SortOrder, limit: int) -> list[SortedDocument]:
    """Return the first `limit` documents of parts of a collection, which are in the order of their segments."""
    rows = [row for part in parts for row in part]
    has_value = [row for row in rows if row.value is not None]
    has_value.sort(key=lambda row: row.value, reverse=order.descending)  # type: ignore[arg-type,return-value]
    return [*has_value, *(row for row in rows if row.value is None)][:limit]
