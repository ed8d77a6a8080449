"""The words of folded text and their hashes, compared with hashing letter by letter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.folded_words import hash_folded_words as hash_naively
from periplus.parse.html.kernels.folded_words import MARGIN, hash_folded_words


def hash_all(text: bytes, merged: int) -> list[tuple[int, int, int]]:
    """Return begin, end and hash of each word."""
    data = np.frombuffer(text + bytes(MARGIN), np.uint8)
    edges, values = np.zeros(len(text) + 4, np.int64), np.zeros(len(text) // 2 + 1, np.uint64)
    count = hash_folded_words(data, len(text), np.uint8(merged), edges, values)
    begins, ends = edges[: 2 * count : 2].tolist(), edges[1 : 2 * count : 2].tolist()
    return list(zip(begins, ends, values[:count].tolist(), strict=True))


@given(st.lists(st.text("ab#\u00e9", max_size=30), max_size=40), st.sampled_from((ord("#"), 255)))
def test_equals_hashing_letter_by_letter(words: list[str], merged: int) -> None:
    text = "\0".join(words).encode()
    assert hash_all(text, merged) == hash_naively(text, merged)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129])
@pytest.mark.parametrize("letter", [b"a", b"#"])
def test_words_of_any_length_at_any_place(size: int, letter: bytes) -> None:
    for before in (b"", b"\0", b"b\0" * 31, b"\0" * 63):
        text = before + letter * size + b"\0c##d" + letter * size
        assert hash_all(text, ord("#")) == hash_naively(text, ord("#"))


def test_a_run_counts_once_wherever_it_is() -> None:
    once = hash_all(b"abcdefg#hi", ord("#"))[0][2]
    assert hash_all(b"abcdefg##hi", ord("#"))[0][2] == once
    assert hash_all(b"abcdefg####hi", ord("#"))[0][2] == once
    assert hash_all(b"abcdefg##hi", 255)[0][2] != once
