"""Operators in running text."""

import pytest

from periplus.query import parse_query
from periplus.query.forms.prose import MIN_PROSE_WORDS, remove_operators
from periplus.query.query_tree import BagOfWords, words_of

PROSE = 'An article on the subject is by Andrews, "outer product expansions" (in the journal of 1971) and later ones'


def test_quotations_and_brackets_in_prose_require_nothing() -> None:
    tree = parse_query(PROSE).tree
    assert isinstance(tree, BagOfWords)
    assert {"outer", "expansions", "journal", "1971"} <= set(words_of(tree))


def test_dashes_in_prose_exclude_nothing() -> None:
    tree = parse_query("what methods -dash exact or approximate -dash are there for predicting pressure at angles").tree
    assert isinstance(tree, BagOfWords)
    assert "dash" in words_of(tree)


@pytest.mark.parametrize(
    "query",
    [
        "sea charts of the north -land",
        'who wrote "the old man and the sea" in 1952',
        "sea " + " ".join(f"-word{number}" for number in range(MIN_PROSE_WORDS)),
        f"{'word ' * MIN_PROSE_WORDS} -land site:example.org",
        f'{"word " * MIN_PROSE_WORDS} OR "other words"',
        f'{"word " * MIN_PROSE_WORDS} intitle:"other words"',
    ],
)
def test_short_queries_and_those_with_named_operators_keep_them(query: str) -> None:
    assert remove_operators(query) is None
    assert not isinstance(parse_query(query).tree, BagOfWords)


def test_capitals_are_no_operators_where_there_are_only_capitals() -> None:
    text = "ARTICLES ON DATA TYPES OR CONCURRENCY IN MESSAGE PASSING SYSTEMS (OR BOTH) AND THEIR CHECKS"
    assert remove_operators(text) == text.replace("(", " ").replace(")", " ")


def test_plain_text_is_left_as_it_is() -> None:
    assert remove_operators("word " * 100) is None
    assert remove_operators("a well-known word " * 10) is None


def test_marks_without_words_are_no_prose() -> None:
    assert remove_operators("-" * 20_000) is None
    assert remove_operators("- " * 10_000) is None
