"""The splitting kernel against its naive twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import words as naive
from periplus.text import WordTable, ascii_forms, split_text, token_spans
from periplus.text.folding import OTHER_FORM, folding
from periplus.text.kernels import symbols

ALPHABET = (
    "abcXYZ 0129'’++##=/(-_..,\u02bb\u02bc\n\u00e9\u00c9ß\u0301æ\u0130ЖйΣς東京都は大ภาษา한국어ﬁ①𝒜🙂\u200d"
    "\u200cمیخ\u00ad\x00"
)


@given(st.text(alphabet=ALPHABET, max_size=60))
def test_the_kernel_splits_as_the_naive_twin_does(text: str) -> None:
    assert split_text(text) == naive.split(text, folding())


@given(st.text(max_size=60))
def test_any_string_is_split_alike(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    assert split_text(text) == naive.split(clean, folding())


@given(st.lists(st.from_regex(r"[A-Za-z0-9]{1,70}", fullmatch=True), min_size=1, max_size=6))
def test_plain_words_that_need_no_kernel_are_split_as_by_it(words: list[str]) -> None:
    text = " ".join(words)
    assert split_text(text) == split_text(f"{text}.") == naive.split(text, folding())


@given(st.binary(max_size=80))
def test_broken_utf8_is_survived(data: bytes) -> None:
    spans = token_spans(data)
    assert ((spans[:, 0] < spans[:, 1]) & (spans[:, 1] <= len(data))).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("l'Été don’t 'quoted'", ["l", "ete", "don", "t", "quoted"]),
        ("Hawaiʻi Qurʾān ʿAlī", ["hawaii", "quran", "ali"]),
        ("C# F#, issue#1 #tag a#b", ["c", "#", "f", "#", "issue", "1", "tag", "a", "b"]),
        ("C++ C++17 g++. a+b x+=1 i++;", ["c", "++", "c", "++", "17", "g", "++", "a", "b", "x", "1", "i", "++"]),
        ("Disney+ 18+ a ++ b", ["disney", "+", "18", "+", "a", "b"]),
        (
            ".NET ASP.NET ~/.bashrc 0.5 .5 end. Next",
            [".", "net", "asp", "net", ".", "bashrc", "0", "5", "5", "end", "next"],
        ),
        ("基于.NET平台 C#入门", ["基于", ".", "net", "平台", "c", "#", "入门"]),
        ("Straße ÆON naïve ﬁne", ["strasse", "aeon", "naive", "fine"]),
        ("東京都", ["東京", "京都"]),
        ("日 x", ["日", "x"]),
        ("co\u00adop e\u0301te", ["coop", "ete"]),
        ("", []),
        ("... --- !!!", []),
        ("می\u200cخواهم ശ\u200dരീ\u200cക", ["می", "خواهم", "ശരീക"]),
    ],
)
def test_words_that_people_would_expect(text: str, words: list[str]) -> None:
    assert split_text(text) == words


@given(st.text(alphabet=".c#+ 'd", max_size=40))
def test_there_is_room_for_every_token(text: str) -> None:
    assert len(split_text(text)) <= symbols.max_tokens(len(text)) == -(-3 * len(text) // 4) + 2


def test_spans_point_at_the_words() -> None:
    text = "The Straße, naïvely: 東京都!".encode()
    found = [text[a:b].decode() for a, b in token_spans(text)]
    assert found == ["The", "Straße", "naïvely", "東京", "京都"]


def test_a_very_long_word_is_cut_not_refused() -> None:
    assert split_text("x" * 1_000_000) == ["x" * 64]


PIECES = (
    "a",
    "Of",
    "harbour",
    "C#",
    "g++",
    ".net",
    "Ünder",
    "zażółć",
    "東京都",
    "ﬁn",
    "x" * 70,
    "é" * 40,
    "i" * 16,
    "w" * 17,
)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from((" ", ", ", ".", "-"))), min_size=60, max_size=300))
def test_many_words_are_looked_up_together_in_their_order(pieces: list[tuple[str, str]]) -> None:
    text = "".join(word + gap for word, gap in pieces)
    expected = naive.split(text, folding())
    assert split_text(text) == expected
    spans = token_spans(text.encode()).tolist()
    assert len(spans) == len(expected)
    assert all(0 <= begin < end <= len(text.encode()) for begin, end in spans)


@settings(max_examples=30)
@given(st.lists(st.text(alphabet="abcdefgh ", max_size=200), max_size=30))
def test_a_table_that_has_to_grow_loses_nothing(texts: list[str]) -> None:
    table = WordTable(capacity=1)
    raw = [text.encode() for text in texts]
    bounds = np.cumsum([0, *(len(r) for r in raw)]).astype(np.int64)
    tokens = table.split(b"".join(raw), bounds, np.zeros(len(raw), np.uint8))
    words = table.words()
    assert len(set(words)) == len(words)
    assert [words[n].decode() for n in tokens.words] == [word for text in texts for word in text.split()]
    assert tokens.lengths.tolist() == [len(text.split()) for text in texts]


def test_one_word_in_two_languages_is_two_words() -> None:
    table = WordTable()
    tokens = table.split(b"gifts gifts", np.array([0, 5, 11], np.int64), np.array([1, 2], np.uint8))
    assert tokens.words.tolist() == [0, 1]
    assert table.terms()[0] == b"gift"


def test_forms_of_characters_are_what_splitting_makes_of_them() -> None:
    forms = ascii_forms().tolist()
    codes = [*range(0x500), *range(0x500, 0x3000, 11), *range(0x3000, 0x20000, 397), 0xFF10, 0xFF21, 0x1D400]
    for code in codes:
        if chr(code) in "#+." or 0xD800 <= code < 0xE000:
            continue
        expected = ["a", "b"] if forms[code] == 0 else ["ab"] if forms[code] == 1 else [f"a{chr(forms[code])}b"]
        assert forms[code] == OTHER_FORM or split_text(f"a{chr(code)}b") == expected, hex(code)
