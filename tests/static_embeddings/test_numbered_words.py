"""Vectors of texts whose words are numbered are those of the texts themselves."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from periplus.static_embeddings import StaticModel, WordNumbers, load_static_model
from periplus.static_embeddings.kernels import numbered_words, passage_vectors, word_memory
from periplus.static_embeddings.static_model import PASSAGE_WORDS, PASSAGES, TITLE_WORDS
from periplus.text import WordTable, ascii_forms

LIMITS = TITLE_WORDS, PASSAGE_WORDS, PASSAGES
ODD = (
    "",
    "...",
    "C++17, C# and .NET on the 2nd of May: mp3s, H2O, a1b2c3d4e5",
    "Schrödinger’s café – m² “naïve” Ångström, Ławrynowicz",
    "½ cup of ﬁne ﬂour; Straße, Øre; ①②③ ℌello ㎏ Привет 日本語 हिन्दी 한국어 ไทย",
    "soft\u00adhyphen, zero\u200bwidth and \u200cjoiner, combining e\u0301 and a\u0308o\u0308",
    "a" * 40 + " " + "b" * 41 + " " + "c" * 63 + " " + "d" * 64 + " e " + "f9" * 40,
    "antidisestablishmentarianism zzzzqqqq floccinaucinihilipilification x",
    "\u0301\u0302",
    "+ ++ # . .x",
)
COMMON = "the of and a in to was it is for on as by with at from that he his"


def number_texts(
    model: StaticModel, texts: Sequence[str], table: WordTable, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, WordNumbers]:
    """Return texts, of which every other is a title, as bytes, as spans of titles and bodies, and as numbers."""
    raw = [text.encode("utf-8", "replace") for text in texts]
    bounds = np.cumsum([0, *map(len, raw)]).astype(np.int64)
    data = b"".join(raw)
    tokens = table.split(data, bounds, np.zeros(len(texts), np.uint8))
    numbered = np.cumsum([0, *tokens.lengths.tolist()]).astype(np.int64)
    spans, number_spans = (np.stack((starts[:-1], starts[1:]), axis=1) for starts in (bounds, numbered))
    words = WordNumbers(
        tokens.words,
        number_spans[::2].copy(),
        number_spans[1::2].copy(),
        *table.as_arrays(),
        ascii_forms(),
        rows,
    )
    return np.frombuffer(data, np.uint8), spans[::2].copy(), spans[1::2].copy(), words


def embed(
    model: StaticModel, data: np.ndarray, titles: np.ndarray, bodies: np.ndarray, texts: numbered_words.NumberedTexts
) -> list[list[object]]:
    """Return what the kernel writes."""
    count = len(titles)
    signs = np.zeros((count * PASSAGES, model.width // 8), np.uint8)
    rows, counts = np.zeros(count, np.int32), np.zeros((count, 3), np.int32)
    memory = word_memory.allocate_memory(model.table, 16)
    used = passage_vectors.embed_documents(
        model.table, data, titles, bodies, LIMITS, memory, texts, signs, rows, counts
    )
    return [signs[:used].tolist(), rows.tolist(), counts.tolist()]


def compare(model: StaticModel, texts: Sequence[str], table: WordTable, rows: np.ndarray) -> int:
    """Compare both, and return for how many documents numbers say all."""
    data, titles, bodies, words = number_texts(model, texts, table, rows)
    numbered = model._numbered_texts(words)
    without = embed(model, data, titles, bodies, numbered_words.no_numbers())
    assert embed(model, data, titles, bodies, numbered) == without
    assert embed(model, data, titles, bodies, numbered) == without  # With the pieces that it knows now.
    pairs = np.concatenate((titles, bodies), axis=1).tolist()
    return sum(
        is_plain(data, a, b, numbered.is_alike) and is_plain(data, c, d, numbered.is_alike) for a, b, c, d in pairs
    )


def is_plain(data: np.ndarray, begin: int, end: int, is_alike: np.ndarray) -> bool:
    """Decide as `numbered_words.is_plain` does, character by character."""
    text = data[begin:end].tobytes().decode()
    return all(is_alike[ord(character)] for character in text)


@pytest.mark.parametrize("rows", [0, 8, 1 << 12])
def test_numbers_say_what_texts_say(rows: int) -> None:
    model, table, chance = load_static_model(), WordTable(), random.Random(rows)
    known = np.zeros(rows, np.uint64)
    words = [*" ".join(ODD).split(), *COMMON.split() * 6]
    for _ in range(4):
        texts = [" ".join(chance.choices(words, k=chance.randrange(500))) for _ in range(40)]
        compare(model, [*ODD, *reversed(ODD), *texts], table, known)
    plain = " ".join(word for word in words if word.isascii() and len(word) < 40).split()
    texts = [chance.choice(" ,.-'").join(chance.choices(plain, k=chance.randrange(500))) for _ in range(100)]
    assert compare(model, texts, table, known) == 50


def test_every_character_that_counts_as_alike_is() -> None:
    model, table = load_static_model(), WordTable()
    rows = model.number_pieces()
    is_alike = model._alike(ascii_forms())
    codes = np.flatnonzero(is_alike).tolist()
    assert is_alike[:128].all()
    assert all(is_alike[ord(character)] for character in "é’–“”°áüöñç²\u0301")
    assert not any(is_alike[ord(character)] for character in "ßæłДא½日ﬁ\u200c")
    codes = [code for code in codes if not 0xD800 <= code < 0xE000]
    few = codes if len(codes) < 8_000 else codes[:4_000] + codes[4_000 :: len(codes) // 4_000]
    texts = [f"ab{c}cd {c}12{c}3 x{c}{c} {c} Tele{c}phone" for c in map(chr, few)]
    texts = [part for text in texts for part in (text, text[::-1])]
    assert compare(model, texts, table, rows) == len(few)


def test_texts_are_plain_only_if_all_of_their_characters_are() -> None:
    model = load_static_model()
    is_alike = model._alike(ascii_forms())
    chance = random.Random(7)
    for _ in range(300):
        text = "".join(chance.choices("abc é–ß日2", (30, 30, 30, 30, 2, 2, 0.3, 0.3, 9), k=chance.randrange(60)))
        data = np.frombuffer(b"xy" + text.encode() + "ß".encode(), np.uint8)
        end = len(data) - 2
        assert numbered_words.is_plain(data, 2, end, is_alike) == is_plain(data, 2, end, is_alike)
