"""The memory of analysed words: the same terms as without it, whatever it has seen before."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from periplus.text import LANGUAGES, WordTable, analyse_words, is_stop_word, word_memory
from periplus.text.kernels import word_table
from periplus.text.word_memory import WordMemory

_TEXTS = st.lists(st.text(alphabet="abeginorstéß 1", max_size=60), max_size=6)


def table_of(texts: list[str], language: int) -> WordTable:
    raw = [text.encode() for text in texts]
    bounds = np.cumsum([0, *map(len, raw)]).astype(np.int64)
    table = WordTable()
    table.split(b"".join(raw), bounds, np.full(len(raw), language, np.uint8))
    return table


@given(st.lists(st.tuples(_TEXTS, st.integers(0, 5)), min_size=1, max_size=5), st.integers(1, 40))
def test_a_memory_changes_no_term(batches: list[tuple[list[str], int]], most: int) -> None:
    memory = WordMemory(most)
    for texts, language in batches:
        table = table_of(texts, language)
        start = table.count // 2
        found = memory.analyse(table, start)
        bounds = found.start.tolist()
        terms = [found.blob[a:b].tobytes() for a, b in itertools.pairwise(bounds)]
        assert terms == table.terms(start)
        words = table.words(start)
        assert found.is_stop.tolist() == [is_stop_word(word.decode(), LANGUAGES[language]) for word in words]


def test_a_word_with_the_hash_of_another_is_not_taken_for_it() -> None:
    memory, first, other = WordMemory(), table_of(["running"], 1), table_of(["gifts"], 1)
    memory.analyse(first)
    other._table.hashes[0] = first._table.hashes[0]
    found = memory.analyse(other)
    assert found.blob.tobytes() == other.terms()[0]


def test_words_that_a_build_adds_are_not_kept() -> None:
    table = table_of(["running gifts"], 1)
    kept = word_memory._MEMORY._words.count
    assert analyse_words(table, 1).blob.tobytes() == table.terms()[1]
    assert word_memory._MEMORY._words.count == kept


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=20), st.data())
def test_gathering_and_comparing_is_what_lists_do(words: list[bytes], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=1, max_size=20))
    others = data.draw(st.lists(st.binary(max_size=5), min_size=len(numbers), max_size=len(numbers)))
    start = np.cumsum([0, *map(len, words)]).astype(np.int64)
    blob, chosen = np.frombuffer(b"".join(words), np.uint8), np.array(numbers, np.int32)
    gathered, offsets = word_table.gather_words(blob, start, chosen)
    assert gathered.tobytes() == b"".join(words[number] for number in numbers)
    assert np.diff(offsets).tolist() == [len(words[number]) for number in numbers]
    other_start = np.cumsum([0, *map(len, others)]).astype(np.int64)
    other = np.frombuffer(b"".join(others), np.uint8)
    expected = sum(word != words[number] for word, number in zip(others, numbers, strict=True))
    assert word_table.count_different(other, other_start, blob, start, chosen) == expected
