"""The harness of the benchmarks: passages, tokens, queries and figures."""

import json
import math
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus import cut, make_passages, make_queries, query_terms, read_passages, read_queries, tokenise
from figures import exponent, overlap, summarise
from periplus.text import split_text


@given(st.text(max_size=300), st.integers(1, 7))
def test_cutting_loses_no_word_and_makes_none_too_long(text: str, words: int) -> None:
    pieces = list(cut(text, words))
    assert " ".join(pieces).split() == text.split()
    assert all(len(piece.split()) == words for piece in pieces[:-1])
    assert all(1 <= len(piece.split()) <= words for piece in pieces)


def test_passages_of_one_text_have_addresses_of_their_own(tmp_path) -> None:
    lines = [
        {"id": "1", "url": "https://a.example/x?y=1", "title": "T", "text": "one two three"},
        {"id": "2", "text": ""},
    ]
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    found = list(read_passages(path, 2))
    assert [p.text for p in found] == ["one two", "three"]
    assert [p.url for p in found] == ["https://a.example/x?y=1", "https://a.example/x?y=1&passage=1"]
    assert {p.title for p in found} == {"T"}


@given(st.lists(st.text(max_size=60), max_size=8))
def test_tokens_split_again_into_themselves(texts: list[str]) -> None:
    tokens = list(tokenise(texts))
    assert len(tokens) == len(texts)
    for text in tokens:
        assert split_text(text) == (text.split(" ") if text else [])


def test_queries_get_the_tokens_of_the_passages() -> None:
    [tokens] = tokenise(["The running Dogs of C++ cafés"])
    assert query_terms("The running Dogs of C++ cafés") == tokens.split(" ")


def test_a_made_corpus_is_the_same_for_the_same_seed_and_has_topics() -> None:
    first, again = (list(islice(make_passages(50, 5_000, 20), 700)) for _ in range(2))
    other = list(islice(make_passages(50, 5_000, 20, seed=1), 5))
    assert first == again
    assert first[:5] != other
    assert len({passage.url for passage in first}) == 700
    assert all(25 <= len(passage.text.split()) <= 50 for passage in first)


def test_made_queries_have_words_that_stand_together() -> None:
    texts = ["ba bo bi", "da do di du"]
    found = make_queries(texts, 5)
    assert {asked.kind for asked in found} == {"union", "intersection", "phrase"}
    assert all(any(" ".join(asked.terms) in text for text in texts) for asked in found)


def test_queries_are_read_by_their_first_tag(tmp_path) -> None:
    lines = [
        {"query": "the", "tags": ["term"]},
        {"query": "+big +houses", "tags": ["intersection", "global"]},
        {"query": '"big houses"', "tags": ["phrase"]},
        {"query": "+java -coffee", "tags": ["negated"]},
        {"query": "!!!", "tags": ["union"]},
    ]
    path = tmp_path / "queries.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    found = read_queries(path)
    assert [asked.kind for asked in found] == ["term", "intersection", "phrase"]
    assert found[1].terms == found[2].terms == ("big", "hous")


def test_agreement_is_the_mean_share_of_common_hits() -> None:
    assert overlap([[1, 2, 3, 4]], [[4, 3, 9, 8]]) == 0.5
    assert overlap([[], [1]], [[], [2]]) == 0.5
    assert overlap([[1]], [[1, 2]]) == 0.5
    assert overlap([], []) == 1.0


def test_growth_is_the_power_of_the_size() -> None:
    assert exponent([10, 100, 1000], [2, 20, 200]) == pytest.approx(1.0)
    assert exponent([10, 100], [5, 5]) == pytest.approx(0.0)
    assert math.isnan(exponent([10], [5]))


def test_summaries_are_in_microseconds() -> None:
    found = summarise([1_000] * 99 + [101_000])
    assert found.p50 == 1.0
    assert found.mean == pytest.approx(2.0)
    assert found.p99 > 1.0
