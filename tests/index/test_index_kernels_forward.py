"""Documents that lie about are counted, sorted and put in order as if they were in order."""

import itertools
import random

import numpy as np
import pytest

from naive import forward_index as naive
from periplus.index.kernels import forward_index
from periplus.text import WordTable


def made_texts(seed: int, documents: int, words: int) -> tuple[forward_index.DocumentTokens, list[list[list[int]]]]:
    chance = random.Random(seed)
    every = [
        [[chance.randrange(words) for _ in range(chance.choice([0, 0, 1, 9]))] for _ in range(7)]
        for _ in range(documents)
    ]
    flat = [list(itertools.chain.from_iterable(document)) for document in every]
    begins = np.cumsum([0, *map(len, flat)])[:-1]
    order = chance.sample(range(documents), documents * 2 // 3)
    tokens = np.array(list(itertools.chain.from_iterable(flat)), np.int32)
    tokens.flags.writeable = False
    lengths = np.array([[len(field) for field in document] for document in every], np.int32).reshape(-1, 7)
    return forward_index.DocumentTokens(tokens, begins[order].astype(np.int64), lengths[order]), [
        every[number] for number in order
    ]


@pytest.mark.parametrize("seed", range(5))
def test_words_are_counted_and_sorted_in_any_order_of_documents(seed: int) -> None:
    texts, documents = made_texts(seed, 40, 30)
    uses = forward_index.count_word_uses(texts, 30)
    assert uses.tolist() == naive.count_word_uses(documents, 30)
    terms = np.array([random.Random(seed).randrange(20) for _ in range(30)], np.int32)
    totals = np.bincount(terms, uses[:, 1], 20).astype(np.int64)
    for first, last in ((0, 20), (0, 7), (7, 20), (5, 6), (20, 20)):
        found = forward_index.sort_tokens(texts, terms, totals[first:last], first)
        owner = np.repeat(np.arange(first, last), np.diff(found.starts))
        assert list(zip(owner.tolist(), found.documents.tolist(), found.positions.tolist(), strict=True)) == (
            naive.sort_tokens(documents, terms.tolist(), first, last)
        )


def test_runs_are_sorted_in_the_same_memory_and_long_fields_in_pieces() -> None:
    every: list[list[list[int]]] = [
        [[], [1], [], [], [], [(7 * i + document) % 30 for i in range(size)], [2, 2]]
        for document, size in enumerate((255, 256, 257, 0, 700))
    ]
    lengths = np.array([[len(field) for field in document] for document in every], np.int32)
    tokens = np.array(list(itertools.chain.from_iterable(itertools.chain.from_iterable(every))), np.int32)
    ends = lengths.sum(axis=1).cumsum(dtype=np.int64)
    tokens.flags.writeable = False
    texts = forward_index.DocumentTokens(tokens, ends - lengths.sum(axis=1), lengths)
    terms = np.arange(30, dtype=np.int32)[::-1].copy()
    totals = np.bincount(terms[tokens], minlength=30).astype(np.int64)
    spans = ((0, 11), (11, 12), (12, 30))
    room = forward_index.allocate_room(max(int(totals[first:last].sum()) for first, last in spans))
    for first, last in spans:
        found = forward_index.sort_tokens(texts, terms, totals[first:last], first, room)
        assert np.shares_memory(found.documents, room.documents)
        owner = np.repeat(np.arange(first, last), np.diff(found.starts))
        assert list(zip(owner.tolist(), found.documents.tolist(), found.positions.tolist(), strict=True)) == (
            naive.sort_tokens(every, terms.tolist(), first, last)
        )


@pytest.mark.parametrize("every", [1, 3])
def test_a_sample_has_all_short_fields_and_some_bodies(every: int) -> None:
    texts, documents = made_texts(9, 20, 10)
    tokens, lengths = forward_index.sample_tokens(texts, every)
    kept = [
        field if place < 5 or (place == 5 and number % every == 0) else []
        for number, document in enumerate(documents)
        for place, field in enumerate(document)
    ]
    assert lengths.tolist() == [len(field) for field in kept]
    assert tokens.tolist() == list(itertools.chain.from_iterable(kept))


@pytest.mark.parametrize("sizes", [[], [0], [5], [20], [3, 9, 10, 0, 0, 11, 2], [10, 10, 0]])
def test_texts_are_cut_into_blocks_and_gathered(sizes: list[int]) -> None:
    ends, first = np.zeros(len(sizes), np.uint32), np.zeros(len(sizes) + 1, np.uint32)
    blocks = forward_index.assign_blocks(np.array(sizes, np.int64), 10, ends, first)
    expected = naive.assign_blocks(sizes, 10)
    assert [list(range(a, b)) for a, b in itertools.pairwise(first[: blocks + 1].tolist())] == expected
    assert ends.tolist() == [end for block in expected for end in np.cumsum([sizes[text] for text in block]).tolist()]
    texts = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    begins = np.cumsum([0, *sizes])[:-1]
    order = list(range(len(sizes)))[::-1]
    raw = np.frombuffer(b"".join(texts), np.uint8)
    laid = forward_index.concatenate_texts(raw, begins[order].astype(np.int64), np.array(sizes, np.int64)[order])
    assert laid.tobytes() == b"".join(texts[number] for number in order)


def test_spaces_are_counted() -> None:
    raw = np.frombuffer(b"a b c  d", np.uint8)
    found = forward_index.count_spaces(raw, np.array([0, 3, 8], np.int64), np.array([3, 5, 0], np.int64))
    assert found.tolist() == [1, 3, 0]


def test_words_entered_and_absorbed_keep_one_number_each() -> None:
    chance, table, known = random.Random(1), WordTable(capacity=1), dict[bytes, int]()
    for _ in range(20):
        words = [b"w%d" % chance.randrange(500) * chance.choice([1, 9]) for _ in range(chance.choice([0, 1, 200]))]
        numbers = table.add_words(words).tolist()
        assert [known.setdefault(word, number) for word, number in zip(words, numbers, strict=True)] == numbers
    assert table.words() == list(known)
    assert [bytes(word) for word in table.select_words(np.array([3, 0, 4]))] == [list(known)[n] for n in (3, 0, 4)]
    one, other = WordTable(), WordTable()
    first = one.split(b"sea land", np.array([0, 8]), np.ones(1, np.uint8))
    second = other.split(b"sky sea", np.array([0, 7]), np.ones(1, np.uint8))
    other.split(b"sea", np.array([0, 3]), np.zeros(1, np.uint8))
    turned = one.add_table(other)
    assert turned.tolist() == [2, 0, 3]
    assert turned[second.words].tolist() == [2, 0]
    assert one.words() == [b"sea", b"land", b"sky", b"sea"]
    assert one.languages().tolist() == [1, 1, 1, 0]
    assert one.split(b"land sky", np.array([0, 8]), np.ones(1, np.uint8)).words.tolist() == [1, 2]
    assert first.words.tolist() == [0, 1]


def test_a_part_of_a_table_makes_room_for_that_part_only() -> None:
    large, table = WordTable(), WordTable()
    large.add_words([b"%064d" % number for number in range(20_000)])
    capacity = len(table._table.hashes)
    assert table.add_table(large, 19_999).tolist() == [0]
    assert table.words() == [b"%064d" % 19_999]
    assert len(table._table.hashes) == capacity


def test_a_complete_table_still_tells_its_words() -> None:
    table = WordTable()
    table.split(b"seas lands", np.array([0, 10]), np.ones(1, np.uint8))
    words, terms, languages = table.words(), table.terms(), table.languages().tolist()
    blob, start = (array.tolist() for array in table.as_arrays())
    table.complete()
    assert (table.words(), table.terms(), table.languages().tolist()) == (words, terms, languages)
    assert tuple(array.tolist() for array in table.as_arrays()) == (blob, start)
    assert [bytes(word) for word in table.select_words(np.array([1]))] == [b"lands"]
