"""Words to a tree, a tree to candidates.

In: any string a person types; it is always a query, never an error. Out: `Candidates`, the best documents with scores.
`parse` makes the tree (grammar: docs/query-language.md), `prepare` looks its words up in the index and weighs them,
`run` asks the match kernel of every segment and merges; `make_plan` and `Desks` are its two halves of preparation.
"""

from periplus.query.lookup import Lookup, Places
from periplus.query.offers import offers
from periplus.query.parser import Parsed, parse
from periplus.query.prepare import Prepared, QueryWord, Scoring, prepare
from periplus.query.run import Desks, make_plan, run
from periplus.query.spelling import corrections
from periplus.query.synonyms import Synonyms
from periplus.query.tree import (
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
