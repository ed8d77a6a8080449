"""A plan as a record: what a broker sends to every shard.

A record has everything of a plan but where its terms are, which each shard looks up for itself (`restore_plan`), and
notes, which are for the person who asked. Records come from other processes: what no planner writes is refused.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.errors import BadInput
from periplus.index import Index, NamedDocument
from periplus.query.exchange.filter_record import FilterRecord, record_filter, restore_filter
from periplus.query.fixed_phrases import FixedPair
from periplus.query.forms.term_forms import PhrasePages, Restriction
from periplus.query.kernels import match
from periplus.query.query_budget import LIMITS
from periplus.query.query_plan import Leaf, PhrasePlan, QueryPlan, QueryWord, Scoring
from periplus.query.term_lookups import TermLookup

__all__ = ["NamedRecord", "PlanRecord", "record_plan", "restore_plan"]

_MAX_STEPS: Final = 1_024
_MAX_FILTERS: Final = LIMITS.filters + match.MAX_LEAVES
"""Filters of a query, and sets of terms that words of a script without spaces stand for."""
_MAX_TERMS: Final = 1_024
"""Terms of all words."""
_MAX_PHRASES: Final = 256
_MAX_NAMED: Final = 64
_MAX_TITLES: Final = 256
_MAX_RULES: Final = 8
"""Rule sets of one query."""


class RestrictionRecord(NamedTuple):
    """The pages in which a term counts: of some languages (None for all), and with a phrase, unless that is empty."""

    languages: tuple[int, ...] | None
    terms: tuple[bytes, ...] = ()
    fields: int = 0


class WordRecord(NamedTuple):
    """A word that documents are scored by."""

    word: str
    terms: tuple[bytes, ...]
    weight: float
    place: int
    restrictions: tuple[RestrictionRecord | None, ...]


class LeafRecord(NamedTuple):
    """One term of the program."""

    term: bytes
    weight: float
    group: int
    fields: int
    restriction: RestrictionRecord | None


class NamedRecord(NamedTuple):
    """A document that the query names, by its shard and the name of its segment, which no other generation reuses."""

    shard: int
    segment: str
    document: int
    weight: float
    """Before what its title says."""


class PlanRecord(NamedTuple):
    """A plan that can travel; fields as those of `QueryPlan`."""

    words: tuple[WordRecord, ...]
    leaves: tuple[LeafRecord, ...]
    groups: int
    program: tuple[tuple[int, int], ...]
    phrases: tuple[PhrasePlan, ...]
    filters: tuple[FilterRecord, ...]
    scoring: Scoring
    bonus: float
    titles: tuple[int, ...]
    text: str
    any_words: bool
    synonyms: tuple[tuple[bytes, str], ...]
    alternatives: tuple[str, ...]
    name: tuple[str, ...]
    verbatim: bool
    named: tuple[NamedRecord, ...]
    """Those of all shards."""
    fixed: tuple[FixedPair, ...]
    rules: tuple[str, ...] = ()
    """The ids of rule sets: their texts are sent to a shard that does not have them."""
    blocks_only: bool = False
    """Whether rules block only, and scores stay as they are."""
    enough: int = 0


def record_plan(plan: QueryPlan, named: Sequence[NamedRecord] = (), *, fixed: bool = True) -> PlanRecord:
    """Return the record of a plan; named: the documents that it names, as shards know them.

    fixed: whether it has fixed phrases, which take time to look up: only a feature needs them.
    """
    return PlanRecord(
        tuple(
            WordRecord(
                word.word, word.terms, word.weight, word.place, tuple(_record_restriction(r) for r in word.languages)
            )
            for word in plan.words
        ),
        tuple(
            LeafRecord(leaf.term, leaf.weight, leaf.group, leaf.fields, _record_restriction(leaf.languages))
            for leaf in plan.leaves
        ),
        plan.groups,
        plan.program,
        plan.phrases,
        tuple(record_filter(wanted) for wanted in plan.filters),
        plan.scoring,
        plan.bonus,
        plan.titles,
        plan.text,
        plan.any_words,
        tuple(plan.synonyms.items()),
        tuple(sorted(plan.alternatives)),
        plan.name,
        plan.verbatim,
        tuple(named),
        plan.pairs() if fixed else (),
        plan.rules.ids if plan.rules is not None else (),
        plan.rules is not None and plan.rules.blocks_only,
        plan.enough,
    )


def restore_plan(record: PlanRecord, index: Index, shard: int = 0) -> QueryPlan:
    """Return the plan of a record for the index of a shard; raise `BadInput` for one that no planner writes.

    Documents that the query names are those of this shard which the index still has.
    """
    _check(record)
    plan = QueryPlan(
        tuple(
            [
                QueryWord(
                    word.word,
                    word.terms,
                    word.weight,
                    word.place,
                    tuple([r if r is None else _restore_restriction(r) for r in word.restrictions]),
                )
                for word in record.words
            ]
        ),
        tuple(
            [
                Leaf(
                    leaf.term,
                    leaf.weight,
                    leaf.group,
                    leaf.fields,
                    leaf.restriction if leaf.restriction is None else _restore_restriction(leaf.restriction),
                )
                for leaf in record.leaves
            ]
        ),
        record.groups,
        record.program,
        record.phrases,
        tuple(restore_filter(wanted) for wanted in record.filters),
        record.scoring,
        record.bonus,
        record.titles,
        (),
        TermLookup(index),
        record.text,
        record.any_words,
        dict(record.synonyms),
        frozenset(record.alternatives),
        record.name,
        record.verbatim,
        fixed=record.fixed,
        enough=record.enough,
    )
    return plan.bind(index, _find_named(record.named, index, shard))


def _find_named(named: Sequence[NamedRecord], index: Index, shard: int) -> list[NamedDocument]:
    if not named:
        return []
    numbers = {segment.name: number for number, segment in enumerate(index.segments)}
    own = [(numbers[item.segment], item) for item in named if item.shard == shard and item.segment in numbers]
    return [
        NamedDocument(number, item.document, item.weight)
        for number, item in own
        if 0 <= item.document < index.segments[number].documents and index.segments[number].is_live[item.document]
    ]


def _record_restriction(restriction: Restriction | None) -> RestrictionRecord | None:
    if restriction is None:
        return None
    if isinstance(restriction, PhrasePages):
        languages = tuple(sorted(restriction.languages)) if restriction.languages is not None else None
        return RestrictionRecord(languages, restriction.terms, restriction.fields)
    return RestrictionRecord(tuple(sorted(restriction)))


def _restore_restriction(record: RestrictionRecord) -> Restriction:
    languages = frozenset(record.languages) if record.languages is not None else None
    if record.terms:
        return PhrasePages(record.terms, record.fields, languages)
    return languages or frozenset()


def _check(record: PlanRecord) -> None:
    """Raise `BadInput` for a plan that kernels cannot run."""
    terms = leaves = 0
    for word in record.words:
        terms += len(word.terms)
    for phrase in record.phrases:
        leaves += len(phrase.leaves)
    if (
        len(record.leaves) > match.MAX_LEAVES
        or len(record.words) > LIMITS.words
        or max(terms, leaves) > _MAX_TERMS
        or len(record.program) > _MAX_STEPS
        or len(record.filters) > _MAX_FILTERS
        or len(record.phrases) > _MAX_PHRASES
        or len(record.titles) > _MAX_TITLES
        or len(record.named) > _MAX_NAMED
        or len(record.rules) > _MAX_RULES
    ):
        raise BadInput("A plan is too large.")
    if not (
        0 <= record.groups <= match.MAX_LEAVES
        and record.enough >= 0
        and _is_program(record)
        and _are_leaves(record)
        and _are_phrases(record)
        and _are_words(record)
    ):
        raise BadInput("A plan is not valid.")


def _are_leaves(record: PlanRecord) -> bool:
    """Return whether all leaves are of a group, of fields and of languages that there may be."""
    groups = max(1, record.groups)
    for leaf in record.leaves:
        if not (-1 <= leaf.group < groups and 0 <= leaf.fields < 256):
            return False
        if leaf.restriction is not None and not _are_languages(leaf.restriction):
            return False
    return True


def _are_phrases(record: PlanRecord) -> bool:
    """Return whether all phrases are of leaves that the plan has."""
    count = len(record.leaves)
    for phrase in record.phrases:
        if not phrase.leaves or phrase.reach < 0 or not 0 <= phrase.fields < 256:
            return False
        if min(phrase.leaves) < 0 or max(phrase.leaves) >= count:
            return False
    return True


def _are_words(record: PlanRecord) -> bool:
    """Return whether all words have terms, and titles and pairs of words are such."""
    for word in record.words:
        if not word.terms or len(word.restrictions) not in (0, len(word.terms)):
            return False
        for restriction in word.restrictions:
            if restriction is not None and not _are_languages(restriction):
                return False
    if record.titles and (min(record.titles) < 0 or max(record.titles) >> 64):
        return False
    last = len(record.words) - 1
    return all(0 <= pair.first < last for pair in record.fixed) if record.fixed else True


def _are_languages(restriction: RestrictionRecord) -> bool:
    return not restriction.languages or (min(restriction.languages) >= 0 and max(restriction.languages) < 256)


def _is_program(record: PlanRecord) -> bool:
    """Return whether a program leaves one set on its stack, and every argument of its steps exists."""
    most = {match.LEAF: len(record.leaves), match.PHRASE: len(record.phrases), match.GIVEN: len(record.filters)}
    depth = 0
    for operation, argument in record.program:
        if operation in (match.AND, match.OR, match.WITHOUT):
            depth -= 1
            if depth < 1:
                return False
        elif operation == match.ALL or 0 <= argument < most.get(operation, 0):
            depth += 1
        else:
            return False
    return depth == 1
