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
    "SortOrder",
    "collect_documents",
    "count_facets",
    "find_documents",
    "parse_sort",
    "sort_candidates",
]

MAX_FACETS: Final = 20
"""Fields whose values are counted at once."""
_MAX_VALUES: Final = 100
"""Values of a facet that are returned, the most frequent first."""

Sets = npt.NDArray[np.uint64]
Fields = Mapping[str, FieldSettings]
Facet = tuple[str, tuple[tuple[str, int], ...], tuple[float, float] | None]


class SortOrder(NamedTuple):
    """What results are sorted by."""

    name: str
    field: FieldSettings
    descending: bool


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
    if len(names) > MAX_FACETS:
        raise BadInput(f"There are {len(names)} facets.", f"Ask for at most {MAX_FACETS}.")
    facets = []
    for name in dict.fromkeys(names):
        field = fields.get(name)
        if field is None or not field.facet or not field.has_column:
            declared = ", ".join(other for other, one in fields.items() if one.facet and one.has_column) or "none"
            raise BadInput(f"'{name[:80]}' is not a field to count.", f"There are: {declared[:400]}.")
        count = _count_words if field.type == "keyword" else _count_values
        facets.append(count(index, sets, name, field))
    return tuple(facets)


def _count_words(index: Index, sets: Sequence[Sets], name: str, field: FieldSettings) -> Facet:
    counts: dict[str, int] = {}
    for segment, own in zip(index.segments, sets, strict=True):
        column, numbers = segment.own_fields.count_words(name, field, own)
        used = np.flatnonzero(numbers)
        if len(index.segments) == 1 and len(used) > _MAX_VALUES:
            used = used[np.argsort(-numbers[used], kind="stable")[: 2 * _MAX_VALUES]]
        for number, count in zip(used.tolist(), numbers[used].tolist(), strict=True):
            word = column.word(number)
            counts[word] = counts.get(word, 0) + count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return name, tuple(ordered[:_MAX_VALUES]), None


def _count_values(index: Index, sets: Sequence[Sets], name: str, field: FieldSettings) -> Facet:
    pairs = zip(index.segments, sets, strict=True)
    parts = [segment.own_fields.gather_values(name, field, own) for segment, own in pairs]
    values, counts = np.unique(np.concatenate([np.zeros(0), *parts]), return_counts=True)
    if not len(values):
        return name, (), None
    order = np.argsort(-counts, kind="stable")[:_MAX_VALUES]
    shown = tuple((_show(values[row], field), int(counts[row])) for row in order.tolist())
    return name, shown, None if field.type == "boolean" else (float(values[0]), float(values[-1]))


def _show(value: Any, field: FieldSettings) -> str:
    if field.type == "boolean":
        return "true" if value else "false"
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def sort_candidates(index: Index, sets: Sequence[Sets], order: SortOrder, limit: int) -> RerankedCandidates:
    """Return the first `limit` documents of a set in the order of a field; those without a value come last."""
    rows: list[tuple[Any, int, int]] = []
    total = 0
    for number, (segment, own) in enumerate(zip(index.segments, sets, strict=True)):
        documents = _list(own, segment.documents)
        total += len(documents)
        keys = segment.own_fields.sort_keys(order.name, order.field, documents)
        ranks = -keys if order.descending else keys
        best = np.argsort(ranks, kind="stable")[:limit]  # NaN is last, either way
        column = segment.own_fields.column(order.name, order.field)
        for key, document in zip(keys[best].tolist(), documents[best].tolist(), strict=True):
            value = column.word(int(key)) if column.values is None and key == key else key
            rows.append((value, number, document))
    has_value = [row for row in rows if row[0] == row[0]]
    has_value.sort(key=lambda row: row[0], reverse=order.descending)
    chosen = [*has_value, *(row for row in rows if row[0] != row[0])][:limit]
    segments = np.array([row[1] for row in chosen], np.int32)
    documents = np.array([row[2] for row in chosen], np.int32)
    all_keys = np.array([index.segments[s].column("key")[d] for _, s, d in chosen], np.uint64)
    scores = np.linspace(1.0, 0.0, len(chosen), dtype=np.float32)
    return RerankedCandidates(segments, documents, scores, all_keys, total, True, False, None, None)
