"""The kernels of the static model against their naive twins, and against the tokenizer of the training."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from naive import word_pieces as naive
from periplus.static_embeddings import StaticModel, load_static_model, tabulate_code_points, write_model
from periplus.static_embeddings.kernels import numbered_words, passage_scores, passage_vectors, word_memory, word_pieces

TEXTS = (
    "Who invented the telephone? Schrödinger's cat, 1987.",
    "mp3s, H2O and 3D; ½ cup, x² and ﬁne ﬂour; Straße, Øre, Ångström",
    "日本語 mixed with English, Привет мир, العربية, हिन्दी, 한국어",
    "soft\u00adhyphen, zero\u200bwidth, combining e\u0301 and a\u0308o\u0308, ①②③ ℌello, ㎏",
    "a" * 40 + " " + "b" * 41 + " tail",
    "",
    "... !!!",
    "\u0301\u0302 marks only",
)
PIECES = ("a", "b", "c", "ab", "abc", "1", "12", "##a", "##b", "##c", "##bc", "##abc", "##2")


@pytest.fixture(scope="module")
def code_points() -> tuple[np.ndarray, dict[int, bytes]]:
    return tabulate_code_points()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, code_points: tuple[np.ndarray, dict[int, bytes]]) -> StaticModel:
    """A model of a few pieces, with vectors by chance."""
    chance = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("static") / "small.arrays"
    vectors = chance.integers(-127, 128, (len(PIECES), 16)).astype(np.int8)
    scales = chance.random(len(PIECES)).astype(np.float32) + 0.1
    write_model(path, {piece: row for row, piece in enumerate(PIECES)}, vectors, scales, code_points, {})
    return StaticModel(path)


def random_texts(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    alphabet = "aaabbbccc122 -é\u0301½ßДAB9"
    for _ in range(count):
        yield "".join(chance.choices(alphabet, k=chance.randrange(60)))


def vocabulary_of(model: StaticModel) -> dict[str, int]:
    return {piece: row for row, piece in enumerate(model.pieces)}


def floats_of(model: StaticModel) -> np.ndarray:
    return model.table.vectors.astype(np.float64) * model.table.scales[:, None]


@pytest.mark.parametrize("seed", range(4))
def test_pieces_are_the_longest_of_the_vocabulary(model: StaticModel, seed: int) -> None:
    vocabulary = vocabulary_of(model)
    assert set(vocabulary) == set(PIECES)
    for text in random_texts(seed, 200):
        expected = [piece for word in naive.words_of(text) for piece in naive.pieces_of_word(word, vocabulary)]
        assert model.split_pieces(text) == expected, text


def test_texts_of_every_script_are_split_as_their_characters_say() -> None:
    model = load_static_model()
    vocabulary = vocabulary_of(model)
    for text in TEXTS:
        expected = [piece for word in naive.words_of(text) for piece in naive.pieces_of_word(word, vocabulary)]
        assert model.split_pieces(text) == expected, text


def test_pieces_are_those_of_the_tokenizer_of_the_training() -> None:
    """The vocabulary in a tokenizer of the package `tokenizers`, set up as for the training."""
    tokenizers = pytest.importorskip("tokenizers", reason="the extra 'semantic' is not installed")
    model = load_static_model()
    vocabulary = {"[UNK]": 0} | {piece: row + 1 for row, piece in enumerate(model.pieces)}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=40)
    )
    parts = tokenizers.normalizers
    tokenizer.normalizer = parts.Sequence([parts.NFKD(), parts.StripAccents(), parts.Lowercase()])
    split = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = split.Sequence(
        [split.Split(tokenizers.Regex(r"[^\p{L}\p{N}]+"), "removed"), split.Digits(individual_digits=False)]
    )
    # Blocks that both know, whatever version of Unicode they are of.
    blocks = ((0x20, 0x377), (0x384, 0x52F), (0x1E00, 0x1FBC), (0x2000, 0x2064), (0x2100, 0x2189), (0x3041, 0x3096))
    characters = [chr(code) for low, high in (*blocks, (0xAC00, 0xAC80), (0xFF00, 0xFF5E)) for code in range(low, high)]
    texts = [*TEXTS, *(f"ab{c}cd {c}12{c}3 Tele{c}phone" for c in characters)]
    for text in texts:
        expected = [piece for piece in tokenizer.encode(text).tokens if piece != "[UNK]"]
        assert model.split_pieces(text) == expected, text


@pytest.mark.parametrize("limits", [(3, 4, 1), (2, 3, 4), (0, 5, 2)])
def test_passages_are_sums_of_their_pieces(model: StaticModel, limits: tuple[int, int, int]) -> None:
    texts = [(title, body) for title, body in zip(random_texts(1, 60), random_texts(2, 60), strict=True)]
    texts += [("", ""), ("ab", ""), ("", "ab"), ("ab", "...")]
    data, titles, bodies = bytearray(), [], []
    for title, body in texts:
        for text, spans in ((title, titles), (body, bodies)):
            begin = len(data)
            data += text.encode()
            spans.append((begin, len(data)))
    count = len(texts)
    signs = np.zeros((count * limits[2], 2), np.uint8)
    rows, counts = np.zeros(count, np.int32), np.zeros((count, 3), np.int32)
    raw = np.frombuffer(bytes(data), np.uint8)
    spans = np.array(titles, np.int64), np.array(bodies, np.int64)
    memory, texts_of = word_memory.allocate_memory(model.table, 16), numbered_words.no_numbers()
    used = passage_vectors.embed_documents(model.table, raw, *spans, limits, memory, texts_of, signs, rows, counts)
    vocabulary, floats, at = vocabulary_of(model), floats_of(model), 0
    for number, (title, body) in enumerate(texts):
        own = [naive.embed(words, vocabulary, floats) for words in naive.passages_of(title, body, limits, vocabulary)]
        assert rows[number] == len(own), (title, body)
        for expected in own:
            got = np.unpackbits(signs[at], bitorder="little").astype(bool)
            certain = np.abs(expected) > 1e-6
            assert (got == (expected > 0))[certain].all()
            at += 1
        words = naive.words_of(title)[: limits[0]] + naive.words_of(body)[: limits[1] * limits[2]]
        pieces = [naive.pieces_of_word(word, vocabulary) for word in words]
        assert counts[number].tolist() == [len(words), sum(len(p) == 1 for p in pieces), sum(map(len, pieces))]
    assert used == at
    again = np.zeros_like(signs)  # With what the memory has of the words by now.
    used_again = passage_vectors.embed_documents(
        model.table, raw, *spans, limits, memory, texts_of, again, rows, counts
    )
    assert used_again == used
    assert (again == signs).all()


def test_a_text_is_the_sum_of_its_pieces(model: StaticModel) -> None:
    vocabulary, floats = vocabulary_of(model), floats_of(model)
    for text in random_texts(7, 100):
        vector, counts = np.empty(16, np.float32), np.empty(3, np.int32)
        passage_vectors.embed_text(model.table, np.frombuffer(text.encode(), np.uint8), vector, counts)
        assert np.allclose(vector, naive.embed(naive.words_of(text), vocabulary, floats), atol=1e-5)
        assert counts[0] == len(naive.words_of(text))


@pytest.mark.parametrize("seed", range(4))
def test_words_that_are_remembered_have_the_same_pieces(seed: int) -> None:
    """Of long texts with many words, more than a memory has room for, and of words of every kind."""
    model, chance = load_static_model(), random.Random(seed)
    vocabulary, floats = vocabulary_of(model), floats_of(model)
    words = ["".join(chance.choices("aeiourstln", k=chance.randrange(1, 24))) for _ in range(300)]
    words += ["The", "the", "1984", "7", "mp3", "3D", "ÅNGSTRÖM", "caf\u00e9", "soft\u00adhyphen", "x\u00b2", "a" * 41]
    text = "".join(chance.choice(words) + chance.choice((" ", " ", ", ", "-", "\u2014", "\u00a0")) for _ in range(900))
    vector, counts = np.empty(model.width, np.float32), np.empty(3, np.int32)
    passage_vectors.embed_text(model.table, np.frombuffer(text.encode(), np.uint8), vector, counts)
    split = naive.words_of(text)
    pieces = [naive.pieces_of_word(word, vocabulary) for word in split]
    assert counts.tolist() == [len(split), sum(len(p) == 1 for p in pieces), sum(map(len, pieces))]
    assert np.allclose(vector, naive.embed(split, vocabulary, floats), atol=1e-5)


def test_a_table_may_read_ascii_in_its_own_way(model: StaticModel) -> None:
    kinds = model.table.kinds.copy()
    kinds[ord("B")], kinds[ord("-")] = word_pieces.SEPARATOR, word_pieces.DROPPED
    kinds.flags.writeable = False
    vectors = []
    for table, text in ((model.table._replace(kinds=kinds), b"aBc a-b"), (model.table, b"a c ab")):
        vector, counts = np.empty(16, np.float32), np.empty(3, np.int32)
        passage_vectors.embed_text(table, np.frombuffer(text, np.uint8), vector, counts)
        vectors.append((vector.tolist(), counts.tolist()))
    assert vectors[0] == vectors[1]


def test_documents_are_scored_by_their_best_passage() -> None:
    chance = np.random.default_rng(3)
    counts = chance.integers(0, 4, 30)
    start = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
    signs = chance.integers(0, 256, (int(start[-1]), 4)).astype(np.uint8)
    query = chance.standard_normal(32).astype(np.float32)
    documents, out = chance.permutation(30).astype(np.int32), np.zeros(30, np.float32)
    passage_scores.score_documents(signs, start, query, documents, out)
    assert np.allclose(out, naive.score_documents(signs, start, query, documents), atol=1e-5, equal_nan=True)
    assert np.isnan(out).any()


def test_damaged_utf8_is_read_to_its_end(model: StaticModel) -> None:
    chance = random.Random(9)
    out = np.zeros(64, np.int32)
    for _ in range(500):
        data = np.frombuffer(bytes(chance.choices((97, 98, 32, 0xC3, 0xE2, 0xF0, 0x9F, 0x80, 0xFF), k=24)), np.uint8)
        used, words = word_pieces.split_pieces(model.table, data, 0, len(data), out)
        assert 0 <= used <= 64
        assert words <= 24


def test_the_card_names_its_sources() -> None:
    card = load_static_model().card
    assert {"sources", "teacher", "seeds", "licence"} <= card.keys()
    committed = Path(__file__).parents[2] / "training" / "embeddings" / "static_card.json"
    assert card == json.loads(committed.read_text("utf-8"))
