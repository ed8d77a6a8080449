"""Words as they are written: the kernel against its twin, and the table of words of titles against a dictionary."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import names as naive
from periplus.index.vocabulary.kernels import word_rows, written_words

SIGNS = (
    *("a", "Be", "see", "Harbour", "INTERNATIONALISATION", "supercalifragilisticexpialidocious", "9", "1984", "É", "ß"),
    *("é", "Ω", "я", "Ж", "ა", "東京", "ー", "\u3005", " ", " ", " ", "  ", "     ", ". ", ", ", ".", "-", "_", "'"),
    *("\u2019", "\u201c", "\u201d", "\u2014", "\u00a0", "\u00bf", "\uff08", "\uff09", "(", ")", '"', "\n", ";", ": "),
)


def words_of(raw: bytes, most: int = 1_000) -> list[tuple[bytes, bool, int, int, int]]:
    words, count = written_words.split_text(np.frombuffer(raw, np.uint8), most)
    columns = (words.begin, words.end, words.capital, words.joined, words.depth, words.line)
    rows = zip(*(column[:count].tolist() for column in columns), strict=True)
    return [(raw[begin:end], bool(capital), *rest) for begin, end, capital, *rest in rows]  # type: ignore[misc]


@given(st.lists(st.sampled_from(SIGNS), max_size=60).map("".join))
def test_words_are_those_of_the_twin(text: str) -> None:
    assert words_of(text.encode()) == naive.written_words(text.encode())


@given(st.lists(st.sampled_from(SIGNS), max_size=60).map("".join), st.integers(1, 9))
def test_as_many_words_are_cut_as_there_is_room_for(text: str, most: int) -> None:
    assert words_of(text.encode(), most) == naive.written_words(text.encode())[:most]


@given(st.binary(max_size=200))
def test_any_bytes_can_be_cut(raw: bytes) -> None:
    words = words_of(raw)
    assert all(word for word, *_ in words)


@given(st.lists(st.sampled_from(SIGNS[:20]), max_size=30))
def test_hashes_are_of_the_letters_whatever_their_case(parts: list[str]) -> None:
    raw = " ".join(parts).encode()
    words, count = written_words.split_text(np.frombuffer(raw, np.uint8), 1_000)
    folded = [word.lower() for word, *_ in naive.written_words(raw)]
    by_word: dict[bytes, set[int]] = {}
    for word, hashed in zip(folded, words.hash[:count].tolist(), strict=True):
        by_word.setdefault(word, set()).add(hashed)
    assert all(len(hashes) == 1 for hashes in by_word.values())
    assert len(set.union(set(), *by_word.values())) == len(by_word)


@pytest.mark.parametrize("size", [*range(1, 40), 100])
def test_each_letter_of_a_word_counts(size: int) -> None:
    texts = [bytes([97] * place + [98] + [97] * (size - place - 1)) for place in range(size)]
    words, count = written_words.split_text(np.frombuffer(b" ".join([*texts, b"a" * size]), np.uint8), size + 1)
    assert len(set(words.hash[:count].tolist())) == size + 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_are_those_of_a_dictionary(seed: int) -> None:
    chance = random.Random(seed)
    hashes = [chance.getrandbits(64) | 1 for _ in range(200)]
    table = word_rows.make_rows(120)
    word_rows.add_words(np.array(hashes[:80], np.uint64), table)
    for number in range(60, 120):
        row = word_rows.add_word(table, np.uint64(hashes[number]))
        word_rows.set_number(table.rows, row, word_rows.ENTRY, number)
        word_rows.add_following(table.rows, row, np.uint64(hashes[number - 1]), number % 2)
    rows = word_rows.find_rows(np.array(hashes, np.uint64), table).tolist()
    assert [row >= 0 for row in rows] == [number < 120 for number in range(200)]
    assert len(set(rows[:120])) == 120
    for number, row in enumerate(rows[:120]):
        assert word_rows.get_number(table.rows, row, word_rows.WORD) == (number if number < 80 else -1)
        assert word_rows.get_number(table.rows, row, word_rows.ENTRY) == (number if number >= 60 else -1)
        if number >= 60:
            follows = [word_rows.may_follow(table.rows, row, np.uint64(hashes[number - 1]), which) for which in (0, 1)]
            assert follows == [number % 2 == 0, number % 2 == 1]
