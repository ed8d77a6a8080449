"""Snippets: always a piece of the page itself, of a bounded length, with the right words marked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import snippets as naive
from periplus.search import make_snippet
from periplus.search.kernels import token_spans as kernel
from periplus.search.presentation.snippets import make_answer
from periplus.text import ANALYSIS, code_point_kinds, token_spans

sentences = st.sampled_from(
    [
        "Sea. The",
        "salt? No",
        "Dr. J. Low",
        "12. May",
        "海の道。道",
        "道？海",
        "نعم؟ لا",
        "है। वह",
        "\n\n",
        "\n",
        "°C. A",
        'end." "So',
        "x! Y",
    ]
)
words = st.one_of(
    st.sampled_from(["sea", "salt.", "Häfen", "海の道", "道", "x" * 60, "\n", "…"]),
    st.sampled_from(["don't", "o’clock", "e\u0301t\u0301", "?", "\0", "C++", "c#", ".net", "Hawai\u02bbi"]),
    st.sampled_from(["\u3000", "\u2003\x85 ", "ภาษาไทย", "\u00ad", "'", "! A", "\x1c\x1d"]),
    st.text(max_size=12),
)
texts = st.lists(words, max_size=150)


@given(texts, st.lists(st.lists(st.integers(0, 300), max_size=9), min_size=1, max_size=4), st.integers(40, 200))
def test_the_kernel_cuts_what_plain_python_cuts(parts: list[str], at: list[list[int]], chars: int) -> None:
    text = " ".join(parts).encode("utf-8", "replace")
    places = [np.array(sorted(set(word)), np.int64) for word in at]
    weights = [1.0 + number % 3 for number in range(len(places))]
    assert make_snippet(text, places, weights, chars) == naive.make_snippet(text, places, weights, chars)


@given(
    st.lists(st.one_of(words, sentences, sentences), max_size=80),
    st.lists(st.lists(st.integers(0, 90), max_size=6), min_size=1, max_size=4),
    st.integers(40, 200),
)
def test_the_kernel_finds_the_answer_that_plain_python_finds(parts: list[str], at: list[list[int]], chars: int) -> None:
    text = " ".join(parts).encode("utf-8", "replace")
    places = [np.array(sorted(set(word)), np.int64) for word in at]
    weights = [1.0 + number % 3 for number in range(len(places))]
    pieces, (begin, end) = make_answer(text, places, weights, chars)
    assert (pieces, (begin, end)) == naive.make_answer(text, places, weights, chars)
    shown = "".join(piece for piece, _ in pieces)
    assert 0 <= begin <= end <= len(shown)
    assert len(shown) <= 2 * chars + 200


def answer_to(question: str, text: str, chars: int = 165) -> tuple[str, str]:
    """Return the snippet of a text and the sentence that answers in it; all words of the question weigh the same."""
    data = text.encode()
    names = [data[a:b].decode().lower() for a, b in token_spans(data).tolist()]
    asked = question.split()
    places = [np.array([n for n, name in enumerate(names) if name == word], np.int64) for word in asked]
    pieces, (begin, end) = make_answer(data, places, [1.0] * len(asked), chars)
    shown = "".join(piece for piece, _ in pieces)
    return shown, shown[begin:end]


FILLER = "The harbour has a long history. " * 8


@pytest.mark.parametrize(
    ("question", "sentence", "others"),
    [
        ("lighthouse built", "The lighthouse was built in 1817 by Dr. J. Low of St. Ives.", "A lighthouse shines."),
        ("leuchtturm gebaut", "Der Leuchtturm wurde am 12. Mai 1817 gebaut.", "Ein Leuchtturm leuchtet."),
        ("lighthouse built", "The lighthouse was built of stone!", "When was the lighthouse built?"),
    ],
)
def test_the_sentence_that_has_the_words_is_the_answer(question: str, sentence: str, others: str) -> None:
    for text in (f"{others} {FILLER}{sentence} {FILLER}", f"{sentence} {FILLER}{others}", f"{FILLER}{sentence}"):
        shown, answer = answer_to(question, text)
        assert answer == sentence
        assert answer in shown


def test_a_sentence_answers_by_what_the_one_before_names() -> None:
    text = f"{FILLER}Tesla lived in New York. He died in 1943. {FILLER} Nobody died there. {FILLER}"
    shown, answer = answer_to("tesla died", text)
    assert answer == "He died in 1943."
    assert "Tesla lived in New York. He died in 1943." in shown


def test_nothing_answers_what_a_page_has_little_of() -> None:
    shown, answer = answer_to("tesla coil resonance frequency", f"{FILLER}Tesla lived here. {FILLER}")
    assert answer == ""
    assert "Tesla lived here." in shown


def test_a_long_sentence_is_cut_around_the_words() -> None:
    long = "it goes on " * 60 + "where the lighthouse was built in 1817 " + "and on " * 60
    shown, answer = answer_to("lighthouse built", long)
    assert "the lighthouse was built in 1817" in answer
    assert len(shown) < 300


@given(texts, st.integers(0, 200))
def test_spans_are_those_of_splitting_however_often_one_stops(parts: list[str], wanted: int) -> None:
    text = "".join(parts).encode("utf-8", "replace")
    data, found = np.frombuffer(text or b"\0", np.uint8), np.zeros((len(text) + 4, 2), np.int64)
    used, at = kernel.find_spans(data, 0, len(text), code_point_kinds(), ANALYSIS, found, 0, wanted)
    used, at = kernel.find_spans(data, at, len(text), code_point_kinds(), ANALYSIS, found, used, 1 << 40)
    assert at == len(text) + 1
    assert found[:used].tolist() == token_spans(text).tolist()


@pytest.mark.parametrize(
    ("analysis", "tokens"),
    [
        (0, ["l'eau", "don’t", "C", "F", "net", "Hawai\u02bbi", "end"]),
        (1, ["l", "eau", "don", "t", "C", "++", "F", "#", ".", "net", "Hawai\u02bbi", "end"]),
    ],
)
def test_texts_are_split_by_the_rules_that_they_were_indexed_by(analysis: int, tokens: list[str]) -> None:
    text = "l'eau don’t C++ F# .net Hawai\u02bbi end".encode()
    found = np.zeros((len(text) + 4, 2), np.int64)
    data = np.frombuffer(text, np.uint8)
    used, _ = kernel.find_spans(data, 0, len(text), code_point_kinds(), analysis, found, 0, 1 << 40)
    assert [text[a:b].decode() for a, b in found[:used].tolist()] == tokens


@given(texts, st.lists(st.integers(0, 300), max_size=12), st.integers(40, 200))
def test_a_snippet_is_a_piece_of_the_text(parts: list[str], at: list[int], chars: int) -> None:
    text = " ".join(parts).encode("utf-8", "replace")
    spans = token_spans(text)
    places = [np.array(sorted(set(at[::2])), np.int64), np.array(sorted(set(at[1::2])), np.int64)]
    pieces = make_snippet(text, places, [1.0, 2.0], chars)
    plain = " ".join(text.decode("utf-8", "replace").replace("\x00", "").split())
    shown = "".join(piece for piece, _ in pieces)
    inner = " ".join(shown.removeprefix("… ").removesuffix(" …").split())
    assert inner.replace("· ", "") in plain.replace("· ", "")
    assert len(shown) <= 2 * chars + 200
    covered = bytearray(b" " * len(text))
    for a, b in spans.tolist():  # Pairs of characters overlap.
        covered[a:b] = text[a:b]
    tokens = " ".join(covered.decode("utf-8", "replace").split())
    for piece, marked in pieces:
        assert not marked or all(part in tokens for part in piece.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Fog signals\nA horn sounds.\nIt is loud.", "Fog signals · A horn sounds. It is loud."),
        ("Brass (old)\nHorn\nBell", "Brass (old) · Horn · Bell"),
        ("a line that is\nbroken in two", "a line that is broken in two"),
        ("a longer line of a file in which all lines are broken near here\nSea", None),
        ("霧笛\n音がする。\n遠い", "霧笛 · 音がする。 遠い"),
    ],
)
def test_a_heading_does_not_run_into_the_sentence_behind_it(text: str, shown: str | None) -> None:
    pieces = make_snippet(text.encode(), [np.zeros(1, np.int64)], [1.0], 200)
    assert "".join(piece for piece, _ in pieces) == (shown or text.replace("\n", " "))


def test_the_piece_with_the_most_different_words_wins() -> None:
    text = (
        "filler " * 80 + "salt salt salt salt " + "filler " * 80 + "the salt harbour lies here " + "filler " * 80
    ).encode()
    spans = token_spans(text)
    names = [text[a:b] for a, b in spans.tolist()]
    places = [np.array([n for n, name in enumerate(names) if name == word], np.int64) for word in (b"salt", b"harbour")]
    pieces = make_snippet(text, places, [1.0, 1.0], 160)
    assert "the salt harbour lies here" in "".join(piece for piece, _ in pieces)
    assert [piece for piece, marked in pieces if marked] == ["salt harbour"]
