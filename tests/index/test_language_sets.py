"""Documents by language: rows of one array and masks, compared with one document at a time."""

import random

import numpy as np

from periplus.index.language_sets import MAX_LANGUAGE_SETS, LanguageSets

CHANCE = random.Random(5)
FIRST = np.array([CHANCE.randrange(6) for _ in range(300)], np.uint8)
SECOND = np.array([CHANCE.choice([0, 0, 0, 2, 7]) for _ in range(300)], np.uint8)


def is_in(numbers: frozenset[int], document: int) -> bool:
    second = int(SECOND[document])
    return int(FIRST[document]) in numbers or (second > 0 and second in numbers)


def members(blocks: np.ndarray) -> list[bool]:
    bits: list[bool] = np.unpackbits(blocks.view(np.uint8), bitorder="little")[:300].astype(bool).tolist()
    return bits


def test_rows_are_the_documents_in_some_languages() -> None:
    languages = LanguageSets(5, FIRST, SECOND)
    wanted = [frozenset({0}), frozenset({1, 2}), frozenset({7}), frozenset({0})]
    table, rows = languages.rows(wanted)
    assert rows[0] == rows[3]
    for numbers, row in zip(wanted, rows, strict=True):
        assert members(table[row]) == [is_in(numbers, document) for document in range(300)]


def test_a_full_table_begins_anew_and_leaves_the_old_one_as_it_is() -> None:
    languages = LanguageSets(5, FIRST, None)
    table, rows = languages.rows([frozenset({3})])
    before = table[rows[0]].copy()
    for number in range(4 * MAX_LANGUAGE_SETS):
        languages.rows([frozenset({3, 100 + number % 64, 8 + number // 64})])
    other, again = languages.rows([frozenset({3})])
    assert other is not table
    assert table[rows[0]].tolist() == other[again[0]].tolist() == before.tolist()


def test_documents_are_excluded_from_sets_that_lack_their_languages() -> None:
    languages = LanguageSets(5, FIRST, SECOND)
    few = (None, frozenset({1, 2}), frozenset({0}), None, frozenset({1, 2}))
    many = tuple(frozenset({number % 8, 20 + number}) for number in range(70))
    documents = np.array([7, 3, 250, 299, 0], np.int32)
    for sets in (few, many):
        expected = [[numbers is not None and not is_in(numbers, int(n)) for numbers in sets] for n in documents]
        assert languages.excluded(sets, documents).tolist() == expected
