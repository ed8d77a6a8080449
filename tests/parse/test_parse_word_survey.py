"""The survey of words against a count of all of them."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from periplus.parse.html.kernels.word_survey import contains_word, hash_words, survey_words

WORDS = st.sampled_from([b"a", b"tide", b"tides", b"harbour", b"lighthouse", "grün".encode(), b"x" * 40])


@given(st.lists(WORDS, max_size=80), st.lists(WORDS, max_size=4), st.sampled_from([b" ", b"  "]))
def test_a_survey_counts_what_a_counter_counts(words: list[bytes], listed: list[bytes], gap: bytes):
    counts = Counter(word for word in words if len(word) > 4)
    most = max(counts.values(), default=0)
    expected = (len(words), most, not set(listed).isdisjoint(words))
    assert survey_words(gap.join(words), hash_words(listed), 4) == expected
    assert survey_words(gap + gap.join(words) + gap, hash_words(listed), 4) == expected


@given(st.binary(max_size=80), st.binary(max_size=6), st.sampled_from([b"GET", b"wall", b"aab", b"POST"]))
def test_a_word_is_found_where_python_finds_it(before: bytes, after: bytes, word: bytes):
    assert contains_word(before + word + after, word)
    for data in (before, before + word[:-1] + after, word[1:], b""):
        assert contains_word(data, word) == (word in data)
