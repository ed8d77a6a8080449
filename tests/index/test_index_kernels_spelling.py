"""Vocabularies, slips and completions: the kernels give what their naive twins do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import spelling as naive
from periplus.index.vocabulary.kernels import completion_table, edit_cost, spelling_candidates, surface_forms
from periplus.text.kernels import word_table

WORD = st.text("abcdeй", min_size=3, max_size=9)
WORDS = st.lists(WORD, min_size=1, max_size=40, unique=True).map(sorted)


def laid(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    raw = [word.encode() for word in words]
    start = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(word) for word in raw], out=start[1:])
    return np.frombuffer(b"".join(raw), np.uint8), start


def vocabulary_of(words: list[str], counts: list[int] | None = None) -> surface_forms.Vocabulary:
    numbers = np.array(counts or [1 + n for n in range(len(words))], np.int32)
    return surface_forms.unpack_vocabulary(surface_forms.pack_vocabulary(*laid(words), numbers), len(words))


def spelt(words: surface_forms.Vocabulary) -> dict[str, int]:
    text = words.letters.tobytes().decode("utf-16-le")
    return {text[words.start[n] : words.start[n + 1]]: int(words.count[n]) for n in range(len(words.count))}


def letters(word: str) -> np.ndarray:
    return np.frombuffer(word.encode("utf-16-le"), np.uint16)


@given(WORDS, WORDS)
def test_vocabularies_are_packed_and_merged(one: list[str], two: list[str]) -> None:
    first, second = vocabulary_of(one), vocabulary_of(two)
    assert spelt(first) == {word: n + 1 for n, word in enumerate(one)}
    merged = surface_forms.merge_vocabularies(first, second)
    both = spelt(first)
    for word, count in spelt(second).items():
        both[word] = both.get(word, 0) + count
    assert spelt(merged) == both
    assert list(spelt(merged)) == sorted(both)
    shared = [0] + [len(_common(a, b)) for a, b in zip(sorted(both), sorted(both)[1:], strict=False)]
    assert merged.shared.tolist() == shared


def _common(one: str, two: str) -> str:
    size = 0
    while size < min(len(one), len(two)) and one[size] == two[size]:
        size += 1
    return one[:size]


@given(st.binary(max_size=60), st.integers(0, 20))
def test_any_bytes_are_unpacked_without_harm(raw: bytes, words: int) -> None:
    try:
        surface_forms.unpack_vocabulary(np.frombuffer(raw, np.uint8), words)
    except IndexError:
        pass  # Without compilation; the file's fingerprint keeps this from happening.


@given(st.lists(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=2, max_size=2), max_size=8))
def test_pairs_of_words_are_counted(documents: list[list[list[int]]]) -> None:
    names = ["aa", "bb", "cc", "dd", "ee", "ff"]
    named = [[[names[n] for n in field] for field in document] for document in documents]
    tokens = np.array([n for document in documents for field in document for n in field], np.int32)
    lengths = np.array([len(field) for document in documents for field in document], np.int32)
    hashes = word_table.hash_words(*laid(names))
    table = surface_forms.PairTable(np.zeros(128, np.uint32), np.zeros(128, np.int32), np.zeros(128, np.int32))
    surface_forms.count_pairs(tokens, lengths, 2, hashes, table)
    order = np.argsort(table.key)
    pairs = [(a, b) for a in range(6) for b in range(6)]
    found = surface_forms.look_up_pairs(
        table.key[order], table.count[order], hashes[[a for a, _ in pairs]], hashes[[b for _, b in pairs]]
    )
    expected = naive.count_pairs(named)
    assert [expected.get((names[a], names[b]), 0) for a, b in pairs] == found.tolist()


@given(WORDS, WORD)
def test_the_walk_finds_every_word_of_few_slips(words: list[str], typed: str) -> None:
    book = vocabulary_of(words)
    room = spelling_candidates.CandidateList(np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(64, np.float32))
    for most in (1, 2):
        number = spelling_candidates.find_candidates(
            book, spelling_candidates.build_sound_index(book), letters(typed), most, 10.0, room
        )
        found = {words[n]: int(cost) for n, cost in zip(room.word[:number], room.cost, strict=False)}
        assert {word for word in words if naive.distance(word, typed) <= 1} <= set(found)
        # In the first letters of a word one slip is looked for, not two.
        late = {w for w in words if w[:4] == typed[:4] and naive.distance(w, typed) <= most}
        assert late <= set(found)
        scores = room.score[:number].tolist()
        assert scores == sorted(scores, reverse=True)
        assert all((cost == 0) == (word == typed) for word, cost in found.items())
    known = spelling_candidates.look_up_frequencies(book, letters(typed), np.array([0, len(typed)]))
    assert known.tolist() == [spelt(book).get(typed, 0)]


@pytest.mark.parametrize(
    ("typed", "likelier", "less"),
    [
        ("recieve", "receive", "recipe"),
        ("fotograf", "photograph", "autograph"),
        ("definately", "definitely", "defiantly"),
        ("acomodate", "accommodate", "accelerate"),
        ("hrllo", "hello", "hollow"),
        ("dont", "don't", "done"),
        ("strasse", "strase", "trace"),
    ],
)
def test_likely_slips_cost_less(typed: str, likelier: str, less: str) -> None:
    rows = np.zeros((3, 60), np.int32)

    def cost(word: str) -> int:
        return int(edit_cost.edit_cost(letters(typed), 0, len(typed), letters(word), 0, len(word), rows))

    assert 0 < cost(likelier) < cost(less)
    assert edit_cost.edit_cost(letters(typed), 0, len(typed), letters(typed), 0, len(typed), rows) == 0


@pytest.mark.parametrize(
    ("one", "two"), [("fotograf", "photograph"), ("nife", "knife"), ("sity", "city"), ("кот", "год")]
)
def test_words_of_one_sound_have_one_number(one: str, two: str) -> None:
    assert edit_cost.sound_key(letters(one), 0, len(one)) == edit_cost.sound_key(letters(two), 0, len(two))
    assert edit_cost.sound_key(letters("harbour"), 0, 7) != edit_cost.sound_key(letters("lighthouse"), 0, 10)


def table_of(texts: list[str], worth: list[int]) -> completion_table.CompletionTable:
    order = sorted(range(len(texts)), key=lambda n: texts[n].encode())
    blob, places = b"", []
    for text in texts:
        places.append(len(blob))
        blob += text.encode() + b"\n"
    ranks = np.array([worth[n] for n in order], np.uint8)
    padded = np.zeros(-(-len(order) // completion_table.BLOCK) * completion_table.BLOCK, np.uint8)
    padded[: len(ranks)] = ranks
    peaks = padded.reshape(-1, completion_table.BLOCK).max(axis=1)
    table = completion_table.CompletionTable(
        np.frombuffer(blob, np.uint8), np.array([places[n] for n in order], np.uint32), ranks, peaks
    )
    for array in table:
        array.flags.writeable = False
    return table


def given_by(kernel: object, table: completion_table.CompletionTable, typed: str, most: int) -> list[tuple[str, int]]:
    best, worth = np.zeros(most, np.int32), np.zeros(most, np.int32)
    count = kernel(table, np.frombuffer(typed.encode(), np.uint8), best, worth)  # type: ignore[operator]
    raw = table.text.tobytes()
    texts = [raw[table.order[n] :].partition(b"\n")[0].decode() for n in best[:count]]
    return list(zip(texts, worth[:count].tolist(), strict=True))


@given(
    st.lists(st.text("abc é", min_size=1, max_size=7), min_size=1, max_size=200, unique=True),
    st.text("abcé", min_size=1, max_size=5),
    st.integers(1, 6),
)
def test_the_best_of_a_beginning_are_given(texts: list[str], typed: str, most: int) -> None:
    worth = [1 + 7 * n % 250 for n in range(len(texts))]
    found = given_by(completion_table.complete, table_of(texts, worth), typed, most)
    expected = naive.completions([text.encode() for text in texts], typed.encode())
    by_worth = sorted((worth[texts.index(text.decode())] for text in expected), reverse=True)
    assert [value for _, value in found] == by_worth[:most]
    assert {text.encode() for text, _ in found} <= expected


@given(
    st.lists(st.text("abcé", min_size=2, max_size=7), min_size=1, max_size=60, unique=True),
    st.text("abcé", min_size=3, max_size=6),
)
def test_one_letter_amiss_is_found_wherever_it_is(texts: list[str], typed: str) -> None:
    table = table_of(texts, [9] * len(texts))
    found = {text for text, _ in given_by(completion_table.complete_fuzzy, table, typed, 4 * len(texts) + 64)}
    exact = {text for text in texts if text.startswith(typed)}
    assert naive.amiss(typed, texts) - exact <= found
    assert found <= naive.amiss(typed, texts) | exact
