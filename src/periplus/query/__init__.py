"""Query language: words to a tree, a tree to a plan, a plan to candidates.

In: any string that a person types; every string is a query, none is an error. Out: `Candidates`, the best documents
with their first-stage scores.
`parse_query` builds the tree (grammar: docs/query-language.md). `plan_query` looks its words up in the index, weighs
them by idf and compiles the tree. `find_candidates` runs the match kernel on every segment and merges the results;
`plan_segment` and `ScratchPool` are the two steps before the kernel, for callers that time it alone.
All of them charge one `QueryBudget`, which bounds the time and the work of a query.
`record_plan` and `restore_plan` carry a plan to the shards of a cluster: a broker plans by the statistics of them all
(`index.CollectionView`), and each shard looks the terms up for itself.
`correct_spelling` and `suggest_alternatives` return other spellings of a query.
"""

from periplus.query.exchange.filter_record import FilterRecord, record_filter, restore_filter
from periplus.query.exchange.plan_record import NamedRecord, PlanRecord, record_plan, restore_plan
from periplus.query.filter_sets import filter_matches_any, filters_match
from periplus.query.forms.feedback import (
    DocumentCounts,
    best_documents,
    can_expand,
    count_document_terms,
    expand_by_feedback,
    is_clear,
)
from periplus.query.forms.term_forms import select_allowed
from periplus.query.forms.written_forms import content_words_of
from periplus.query.matcher import (
    ScratchPool,
    describe_plan,
    estimate_cost,
    find_candidates,
    plan_segment,
    restrict_plan,
)
from periplus.query.own_fields.field_filters import extract_fields, parse_filter
from periplus.query.own_fields.matching_sets import MatchedSets, match_sets
from periplus.query.query_budget import QueryBudget
from periplus.query.query_parser import ParsedQuery, parse_query
from periplus.query.query_plan import QueryPlan, QueryWord, Scoring, WordTables
from periplus.query.query_planner import plan_query
from periplus.query.query_tree import (
    And,
    AndNot,
    BagOfWords,
    ContentType,
    DateRange,
    FieldFilter,
    Filter,
    Language,
    Link,
    MatchAll,
    Near,
    Node,
    NumberRange,
    Or,
    Phrase,
    Prefix,
    Site,
    Vertical,
    Word,
    alternative_words,
    query_text,
)
from periplus.query.spelling_correction import correct_spelling
from periplus.query.synonym_expansion import Synonyms
from periplus.query.term_lookups import TermLookup, TermRows, TermSet
from periplus.query.word_alternatives import suggest_alternatives

__all__ = [
    "And",
    "AndNot",
    "BagOfWords",
    "ContentType",
    "DateRange",
    "DocumentCounts",
    "FieldFilter",
    "Filter",
    "FilterRecord",
    "Language",
    "Link",
    "MatchAll",
    "MatchedSets",
    "NamedRecord",
    "Near",
    "Node",
    "NumberRange",
    "Or",
    "ParsedQuery",
    "Phrase",
    "PlanRecord",
    "Prefix",
    "QueryBudget",
    "QueryPlan",
    "QueryWord",
    "Scoring",
    "ScratchPool",
    "Site",
    "Synonyms",
    "TermLookup",
    "TermRows",
    "TermSet",
    "Vertical",
    "Word",
    "WordTables",
    "alternative_words",
    "best_documents",
    "can_expand",
    "content_words_of",
    "correct_spelling",
    "count_document_terms",
    "describe_plan",
    "estimate_cost",
    "expand_by_feedback",
    "extract_fields",
    "filter_matches_any",
    "filters_match",
    "find_candidates",
    "is_clear",
    "match_sets",
    "parse_filter",
    "parse_query",
    "plan_query",
    "plan_segment",
    "query_text",
    "record_filter",
    "record_plan",
    "restore_filter",
    "restore_plan",
    "restrict_plan",
    "select_allowed",
    "suggest_alternatives",
]
