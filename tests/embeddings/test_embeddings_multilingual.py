"""The multilingual encoder computes what its naive twin does, and its vocabulary is read from a SentencePiece file."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest

from naive import sentence_encoder as naive
from periplus.embeddings import Encoder, convert_model
from periplus.embeddings.model_languages import is_readable
from periplus.embeddings.models.multilingual_model import read_multilingual
from periplus.embeddings.models.sentence_pieces import read_sentence_pieces, write_tokenizer
from periplus.errors import BadFile
from periplus.settings import EmbeddingSettings

WIDTH, BRANCH, HIDDEN, ROWS = 16, 8, 12, 2
PIECES = ["<unk>", "<s>", "</s>", "\u2581", "\u2581sea", "\u2581Meer", "sea", "s", "e", "a", "M", "r", "\u2581море"]
TEXTS = ["sea", "sea Meer sea", "море", "", "  sea   sea  ", "unknown words"]


def field(number: int, content: bytes) -> bytes:
    size, length = len(content), b""
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def pieces_file() -> bytes:
    """Return a SentencePiece model; its map of characters makes no changes."""
    made = b""
    for number, piece in enumerate(PIECES):
        made += field(
            1, field(1, piece.encode()) + b"\x15" + struct.pack("<f", -float(len(PIECES) - number)) + b"\x18\x01"
        )
    character_map = struct.pack("<I", 1024) + bytes(1024) + b"\0"
    return made + field(2, b"\x08\x05") + field(3, field(1, b"identity") + field(2, character_map))


def weights_file() -> bytes:
    chance = np.random.default_rng(3)

    def some(*shape: int) -> np.ndarray:
        return (chance.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    arrays = {f"q{n + 1}": chance.integers(0, 256, (ROWS, WIDTH), np.uint8) for n in range(17)}
    arrays |= {"scale": chance.random(17, np.float32) / 100 + 0.01, "lo": -chance.random(17, np.float32)}
    for size in (2, 3, 5):
        arrays |= {f"proj{size}": some(WIDTH, BRANCH), f"proj_b{size}": some(BRANCH)}
        arrays |= {f"ln_g{size}": 1 + some(BRANCH), f"ln_b{size}": some(BRANCH)}
        for part in "12":
            arrays |= {f"w{part}_{size}": some(size * BRANCH, BRANCH), f"b{part}_{size}": some(BRANCH)}
    joined = WIDTH + 3 * BRANCH
    arrays |= {"ln_g": 1 + some(joined), "ln_b": some(joined), "cnn_W": some(joined, WIDTH), "cnn_b": some(WIDTH)}
    arrays |= {"d0": some(WIDTH, HIDDEN), "p1": some(WIDTH, HIDDEN), "d1": some(HIDDEN, HIDDEN)}
    arrays |= {"d2": some(HIDDEN, WIDTH), "p3": some(HIDDEN, WIDTH), "d3": some(WIDTH, WIDTH), "eps": np.float64(1e-3)}
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


WEIGHTS, VOCABULARY = weights_file(), pieces_file()


def settings(tmp_path: Path) -> EmbeddingSettings:
    return EmbeddingSettings(enabled=True, encoder="multilingual", model=str(tmp_path / "model"))


def test_the_converted_model_computes_what_the_naive_twin_does(tmp_path: Path) -> None:
    model = read_multilingual(WEIGHTS, "made")
    for bits, least in ((0, 0.99999), (7, 0.98)):
        encoder = Encoder(convert_model(settings(tmp_path), (WEIGHTS, VOCABULARY), trusted=True, bits=bits))
        pieces = encoder.tokenize(TEXTS)
        exact = np.array([naive.encode(model, [1, *text, 2]) for text in pieces])
        assert (encoder.encode(pieces, 64) * exact).sum(axis=1).min() > least
        assert (np.array([encoder.encode_query(text) for text in TEXTS]) * exact).sum(axis=1).min() > least


def test_the_vocabulary_is_that_of_the_file(tmp_path: Path) -> None:
    encoder = Encoder(convert_model(settings(tmp_path), (WEIGHTS, VOCABULARY), trusted=True))
    assert encoder.tokenize(["sea Meer", " sea  sea", "море"]) == [[4, 5], [4, 4], [12]]
    assert read_sentence_pieces(VOCABULARY, "made").pieces[4][0] == PIECES[4]
    assert b"Unigram" in write_tokenizer(read_sentence_pieces(VOCABULARY, "made"))


@pytest.mark.parametrize("cut", [0, 1, 20, 100, len(VOCABULARY) - 1])
def test_a_truncated_vocabulary_is_refused(cut: int) -> None:
    with pytest.raises(BadFile):
        read_sentence_pieces(VOCABULARY[:cut], "cut")


@pytest.mark.parametrize("raw", [b"\xff" * 100, b"\x0b\x00", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x02\x0a\x05"])
def test_what_is_no_vocabulary_is_refused(raw: bytes) -> None:
    with pytest.raises(BadFile):
        read_sentence_pieces(raw, "bad")


@pytest.mark.parametrize("cut", [0, 100, len(WEIGHTS) // 2, len(WEIGHTS) - 30])
def test_truncated_weights_are_refused(cut: int) -> None:
    with pytest.raises(BadFile):
        read_multilingual(WEIGHTS[:cut], "cut")


def test_other_files_than_the_published_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="not what was published"):
        convert_model(settings(tmp_path), (WEIGHTS, VOCABULARY))


def test_the_model_decides_the_languages_unless_they_are_set() -> None:
    assert EmbeddingSettings().supported_languages == ("en",)
    many = EmbeddingSettings(encoder="multilingual")
    assert {"de", "ru", "zh"} <= set(many.supported_languages)
    assert EmbeddingSettings(encoder="multilingual", languages=("de",)).supported_languages == ("de",)
    text = "Маяк на берегу моря не был виден капитану, и корабль сел на рифы, а не вошёл в гавань. " * 4
    assert is_readable("", "Маяк", text, many.supported_languages)
    assert not is_readable("", "Маяк", text, ("en",))
    assert not is_readable("hi", "", text, many.supported_languages)
