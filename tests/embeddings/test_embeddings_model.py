"""The published weights become a model that computes what the paper says, and a damaged one is refused."""

import re
from pathlib import Path

import numpy as np
import pytest
import tiny_model

from naive import encoder as naive
from periplus.embeddings import Encoder, convert_model, find_model, open_encoder
from periplus.embeddings.safetensors import read_model, read_safetensors
from periplus.errors import BadFile, CorruptFile, MissingPart, NothingHere
from periplus.settings import EmbeddingSettings

WEIGHTS = tiny_model.safetensors(tiny_model.arrays())
TEXTS = [
    "sea chart",
    "the ship of the sea",
    "harbour lights in fog and a bell 1850",
    "",
    "x" * 300,
    "of the sea, the fog " * 3,
]


def kept(text: list[int]) -> list[int]:
    """Return the positions of pieces that are not pruned, special tokens included."""
    names = ["[CLS]", *(tiny_model.VOCABULARY[piece] for piece in text), "[SEP]"]
    whole = [not follower.startswith("##") for follower in [*names[1:], ""]]
    little = {"the", "of", "a", "i"}
    return [at for at, name in enumerate(names) if not (name in little and whole[at])]


def settings(tmp_path: Path) -> EmbeddingSettings:
    return EmbeddingSettings(enabled=True, encoder="minilm", early_exit=True, model=str(tmp_path / "model"))


def test_safetensors_are_read_as_they_were_written() -> None:
    made = tiny_model.arrays()
    found = read_safetensors(WEIGHTS, "made")
    assert all(np.array_equal(found[name], array) for name, array in made.items())
    assert tiny_model.MODEL.heads == 2
    assert len(tiny_model.MODEL.layers) == tiny_model.LAYERS


@pytest.mark.parametrize("cut", [0, 5, 8, 100, 2_000, len(WEIGHTS) - 1])
def test_a_file_that_is_cut_off_is_refused(cut: int) -> None:
    with pytest.raises(BadFile):
        read_model(read_safetensors(WEIGHTS[:cut], "cut"), "cut")


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff" * 64,
        (2).to_bytes(8, "little") + b"{}",
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,160]}}    ',
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}}    ' + b"\0" * 16,
        (4).to_bytes(8, "little") + b"null",
    ],
)
def test_what_is_no_model_is_refused(raw: bytes) -> None:
    with pytest.raises(BadFile):
        read_model(read_safetensors(raw, "bad"), "bad")


def test_a_model_that_lacks_an_array_is_refused() -> None:
    made = tiny_model.arrays()
    del made["encoder.layer.1.output.LayerNorm.bias"]
    with pytest.raises(BadFile, match="not a model of a supported kind"):
        read_model(read_safetensors(tiny_model.safetensors(made), "less"), "less")


def test_the_converted_model_computes_what_the_naive_twin_does(tmp_path: Path) -> None:
    convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()), trusted=True, bits=0)
    encoder = open_encoder(settings(tmp_path))
    pieces = encoder.tokenize(TEXTS)
    found = encoder.encode(pieces, 64)
    for row, text in zip(found, pieces, strict=True):
        assert np.abs(row - naive.encode(tiny_model.MODEL, [2, *text[:62], 3], kept(text[:62]))).max() < 1e-4
    for words, text in zip(TEXTS, pieces, strict=True):
        exact = naive.encode(tiny_model.MODEL, [2, *text[: tiny_model.LONGEST - 2], 3])
        assert np.abs(encoder.encode_query(words) - exact).max() < 1e-4, "a query goes through whole"
    assert pieces[4], "the vocabulary's own truncation is not in force"
    assert len(pieces[2]) > 8


def test_whole_numbers_lose_little(tmp_path: Path) -> None:
    convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()), trusted=True)
    encoder = open_encoder(settings(tmp_path))
    pieces = encoder.tokenize(TEXTS)
    found = encoder.encode(pieces, 64)
    exact = np.array([naive.encode(tiny_model.MODEL, [2, *text[:62], 3], kept(text[:62])) for text in pieces])
    assert (found * exact).sum(axis=1).min() > 0.97
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-5


@pytest.mark.parametrize("bits", [0, 7])
def test_threads_and_neighbours_change_no_vector(tmp_path: Path, bits: int) -> None:
    files = convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()), trusted=True, bits=bits)
    encoder, two = Encoder(files), Encoder(files, threads=2)
    pieces = encoder.tokenize([f"{'ship ' * n}sea" for n in range(60)])
    alone = np.concatenate([encoder.encode([text], 64) for text in pieces])
    assert np.array_equal(encoder.encode(pieces, 64), alone)
    assert np.array_equal(two.encode(pieces, 64), alone)
    assert encoder.encode([], 64).shape == (0, tiny_model.WIDTH)


def test_words_that_say_little_can_be_made_to_count(tmp_path: Path) -> None:
    files = convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()), trusted=True, bits=0)
    pieces = Encoder(files).tokenize(["the ship of the sea"])
    exact = naive.encode(tiny_model.MODEL, [2, *pieces[0], 3])
    whole, skimmed = (Encoder(files, early_exit=early_exit).encode(pieces, 64)[0] for early_exit in (False, True))
    assert np.abs(whole - exact).max() < 1e-4
    assert 0.5 < skimmed @ exact < 0.999


def test_a_query_of_any_length_has_a_vector(tmp_path: Path) -> None:
    encoder = Encoder(convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()), trusted=True))
    long = "chart of the " * 12
    assert not np.array_equal(encoder.encode_query(long + "ship"), encoder.encode_query(long + "sea"))
    assert not np.array_equal(encoder.encode_query(long + "ship"), encoder.encode_query("chart " * 12 + "ship"))
    for words in (
        "the " * 5_000,
        "x" * 1_000_000,
        "\0",
        "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    ):
        assert np.isfinite(encoder.encode_query(words)).all()
        assert np.linalg.norm(encoder.encode_query(words)) == pytest.approx(1, abs=1e-5)


def test_a_model_of_an_older_format_is_to_be_fetched_again(tmp_path: Path) -> None:
    convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()), trusted=True)
    card = tmp_path / "model" / "model.json"
    card.write_bytes(re.sub(rb'"format":\d+', b'"format":1', card.read_bytes()))
    with pytest.raises(CorruptFile, match="periplus embeddings fetch"):
        open_encoder(settings(tmp_path))


def test_other_weights_than_the_published_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="not what was published"):
        convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()))


@pytest.mark.parametrize("name", ["encoder.onnx", "tokenizer.json", "model.json"])
def test_a_damaged_model_is_found(tmp_path: Path, name: str) -> None:
    convert_model(settings(tmp_path), (WEIGHTS, tiny_model.tokenizer()), trusted=True)
    path = tmp_path / "model" / name
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(CorruptFile, match="periplus embeddings fetch"):
        find_model(settings(tmp_path))


def test_no_model_is_a_line_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NothingHere, match="periplus embeddings fetch"):
        find_model(settings(tmp_path))
    with pytest.raises(MissingPart, match=r"periplus embeddings fetch|periplus doctor"):
        open_encoder(settings(tmp_path))
