"""Words to a tree, a tree to candidates.

In: any string a person types; it is always a query, never an error. Out: `Candidates`, the best documents with scores.
`parse` makes the tree (grammar: docs/query-language.md), `prepare` looks its words up in the index and weighs them,
`run` asks the match kernel of every segment and merges; `make_plan` and `Desks` are its two halves of preparation.
"""

from periplus.query.matcher import Desks, make_plan, run
from periplus.query.query_parser import Parsed, parse
from periplus.query.query_planner import Prepared, QueryWord, Scoring, prepare
from periplus.query.query_tree import (
    All,
    Any,
    Bag,
    Dates,
    Everything,
    Having,
    Kind,
    Language,
    Link,
    Near,
    Node,
    Numbers,
    Phrase,
    Prefix,
    Site,
    Without,
    Word,
)
from periplus.query.spelling_correction import corrections
from periplus.query.synonym_expansion import Synonyms
from periplus.query.term_lookups import Lookup, Places
from periplus.query.word_alternatives import offers

__all__ = [
    "All",
    "Any",
    "Bag",
    "Dates",
    "Desks",
    "Everything",
    "Having",
    "Kind",
    "Language",
    "Link",
    "Lookup",
    "Near",
    "Node",
    "Numbers",
    "Parsed",
    "Phrase",
    "Places",
    "Prefix",
    "Prepared",
    "QueryWord",
    "Scoring",
    "Site",
    "Synonyms",
    "Without",
    "Word",
    "corrections",
    "make_plan",
    "offers",
    "parse",
    "prepare",
    "run",
]
