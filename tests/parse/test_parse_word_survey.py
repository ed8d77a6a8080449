"""The survey of words against a count of all of them."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.parse.html.kernels.markup_hints import (
    FRAMES,
    METHODS,
    SUBSCRIPTIONS,
    WALLS,
    find_hints,
    find_text_hints,
)
from periplus.parse.html.kernels.word_survey import hash_words, may_be_stuffed, survey_text, survey_words
from periplus.parse.keyword_stuffing import LIMITS, find_keyword_stuffing
from periplus.parse.page_flags import _PAYWALL_HINTS, _PAYWALL_PHRASES

WORDS = st.sampled_from([b"a", b"tide", b"tides", b"harbour", b"lighthouse", "grün".encode(), b"x" * 40])


@given(st.lists(WORDS, max_size=80), st.lists(WORDS, max_size=4), st.sampled_from([b" ", b"  "]))
def test_a_survey_counts_what_a_counter_counts(words: list[bytes], listed: list[bytes], gap: bytes):
    counts = Counter(word for word in words if len(word) > 4)
    most = max(counts.values(), default=0)
    expected = (len(words), most, not set(listed).isdisjoint(words))
    assert survey_words(gap.join(words), hash_words(listed), 4) == expected
    assert survey_words(gap + gap.join(words) + gap, hash_words(listed), 4) == expected


@given(st.lists(st.sampled_from([b"tide", b"harbours", b"GET", b"subscribe", b"xxx"]), max_size=40), st.integers(0, 90))
def test_a_survey_of_a_text_is_one_of_its_beginning_and_of_its_hints(words: list[bytes], most: int):
    text, listed = b" ".join(words), hash_words([b"xxx"])
    assert survey_text(text, most, listed, 4) == (find_text_hints(text), *survey_words(text[:most], listed, 4))


def test_words_of_ascii_are_the_same_in_any_case_and_end_at_marks():
    listed = hash_words([b"tides", b"harbour_2"])
    assert survey_words(b"Lights,TIDES;tides.lights(Lights)", listed, 4) == (5, 3, True)
    assert survey_words(b"a\0b-c d Harbour_2", listed, 4) == (5, 1, True)
    assert survey_words(b"tide tidess harbour", listed, 4) == (3, 1, False)


_MARKS = st.sampled_from([" ", " ", " ", ", ", ". ", "; ", "\n", "\t", " - ", "'s ", "1 ", "  "])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["Tide", "tides", "HARBOUR", "sea", "a"]), _MARKS), max_size=30), st.data())
def test_what_is_stuffed_may_be_stuffed(words: list[tuple[str, str]], data: st.DataObject):
    text = "".join(word + mark for word, mark in words) * data.draw(st.sampled_from([1, 7, 20, 60]))
    assert may_be_stuffed(text.encode(), LIMITS) or not find_keyword_stuffing(text.lower())


def test_varied_running_text_is_not_looked_at_again():
    words = " ".join(
        f"{'abcdefghij'[at % 10]}{'klmnopqrst'[at // 10 % 10]}{'uvwxyz'[at // 100]}ing" for at in range(400)
    )
    assert not may_be_stuffed(words.encode(), LIMITS)
    assert may_be_stuffed((words + " harbours" * 60).encode(), LIMITS)
    assert not may_be_stuffed(b"harbours " * 159, LIMITS)
    assert may_be_stuffed(b"harbours " * 160, LIMITS)


@given(
    st.lists(
        st.sampled_from([b"<", b"i", b"fra", b"Fr", b"I", b"M", b"wal", b"l", b"W", b"x", b"", "ü".encode()]),
        max_size=40,
    )
)
def test_hints_are_what_python_finds(parts: list[bytes]):
    data = b"".join(parts)
    has_frames = b"<fra" in data.lower() or b"<ifr" in data.lower()
    assert find_hints(data) == FRAMES * has_frames + WALLS * (b"wall" in data)


@given(
    st.lists(
        st.sampled_from(
            [
                *_PAYWALL_HINTS,
                *_PAYWALL_PHRASES,
                "GET",
                "POST",
                "GE",
                "T",
                "PO",
                "ST",
                " ",
                "Subs",
                "CRI",
                "x",
                "abo",
                "ue r",
            ]
        ),
        max_size=8,
    )
)
def test_no_hint_of_a_text_is_missed(parts: list[str]):
    text = "".join(parts)
    hints = find_text_hints(text.encode())
    assert hints & METHODS or not ("GET" in text or "POST" in text)
    if text.isascii():
        assert hints & SUBSCRIPTIONS or not any(hint in text.lower() for hint in _PAYWALL_HINTS)


def test_ordinary_texts_have_no_hints():
    for text in ("", "a", "Get the post of the harbour", "All rights reserved. Description of the tide", "GE"):
        assert not find_text_hints(text.encode())
