"""The weights of granite are read from their pack, and its smaller student from the file in the package."""

import hashlib
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tiny_model

from naive import encoder as naive
from periplus.embeddings import Encoder, convert_model, find_model
from periplus.embeddings.models.model_conversion import convert_to_onnx
from periplus.embeddings.models.model_pack import assemble_model, read_pack
from periplus.embeddings.models.published_models import PUBLISHED, load_model
from periplus.embeddings.models.student_file import read_student, write_student
from periplus.errors import BadFile, CorruptFile, NothingHere
from periplus.settings import EmbeddingSettings

TENSORS = tiny_model.pack_tensors()
PACK = tiny_model.pack(TENSORS)
TEXTS = ["sea chart", "the ship of the sea, the sea", "Harbour lights in fog", "", "x" * 300, "chart of the sea " * 40]
FIRST, LAST = 0, 2


def settings(tmp_path: Path) -> EmbeddingSettings:
    return EmbeddingSettings(enabled=True, encoder="granite", model=str(tmp_path / "model"))


def with_loud_unit(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return tensors in which the first word of a text has a value of a few hundred in one unit of a layer."""
    made = {name: tensor.copy() for name, tensor in tensors.items()}
    made["l0.f1.w"][7] *= 60
    made["l0.f2.w"][:, 7] *= 30
    return made


def test_a_pack_is_read_as_it_was_written() -> None:
    pack = read_pack(PACK, "made")
    assert (pack.layers, pack.position_offset, pack.word_group) == (3, 2, tiny_model.GROUP)
    assert pack.tokenizer == tiny_model.byte_tokenizer()
    for name, tensor in TENSORS.items():
        assert np.abs(pack.tensors[name] - tensor).max() <= np.abs(tensor).max() / 127
    assert np.array_equal(pack.tensors["l1.f2.b"], TENSORS["l1.f2.b"])


@pytest.mark.parametrize("cut", [0, 7, 16, 60, 500, 4_000, len(PACK) - 1])
def test_a_truncated_pack_is_refused(cut: int) -> None:
    with pytest.raises(BadFile):
        read_pack(PACK[:cut], "cut")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"shape": [3, ', b'"shape": [-3,'),
        (b'"dtype": "i8"', b'"dtype": "i4"'),
        (b'"group": 16', b'"group": 17'),
        (b'"tokenizer_len": ', b'"tokenizer_len":-'),
        (b"HMSEMB01", b"HMSEMB02"),
        (b'"arch": {', b'"arch": ['),
    ],
)
def test_a_pack_with_impossible_sizes_is_refused(old: bytes, new: bytes) -> None:
    shape = f'"shape": [{len(TENSORS["word_emb"])}, '.encode()
    old, new = (
        part.replace(b'"shape": [3, ', shape).replace(b'"shape": [-3,', shape[:-2] + b"0,") for part in (old, new)
    )
    assert old in PACK
    with pytest.raises(BadFile):
        read_pack(PACK.replace(old, new, 1), "bad")


def test_a_pack_without_a_tensor_is_refused() -> None:
    pack = read_pack(PACK, "made")
    del pack.tensors["l2.aln.w"]
    with pytest.raises(BadFile, match="not a model of a supported kind"):
        assemble_model(pack.tensors, range(3), pack, "less")


def exact_vectors(pieces: list[list[int]], tensors: dict[str, np.ndarray], longest: int) -> np.ndarray:
    pack = read_pack(tiny_model.pack(tensors), "made")
    model = assemble_model(pack.tensors, range(3), pack, "made")
    return np.array([naive.encode(model, [FIRST, *text[: longest - 2], LAST]) for text in pieces])


def test_the_converted_pack_computes_what_the_naive_twin_does(tmp_path: Path) -> None:
    files = convert_model(settings(tmp_path), (PACK,), trusted=True, bits=0)
    assert (files.model, files.longest) == ("granite", tiny_model.LONGEST)
    encoder = Encoder(files, early_exit=False)
    pieces = encoder.tokenize(TEXTS)
    assert np.abs(encoder.encode(pieces, 64) - exact_vectors(pieces, TENSORS, 64)).max() < 1e-4
    queries = np.array([encoder.encode_query(text) for text in TEXTS])
    assert np.abs(queries - exact_vectors(pieces, TENSORS, tiny_model.LONGEST)).max() < 1e-4


@pytest.mark.parametrize("tensors", [TENSORS, with_loud_unit(TENSORS)], ids=["plain", "with a loud unit"])
def test_integers_lose_little_even_beside_an_outlier(tmp_path: Path, tensors: dict[str, np.ndarray]) -> None:
    encoder = Encoder(convert_model(settings(tmp_path), (tiny_model.pack(tensors),), trusted=True), early_exit=False)
    pieces = encoder.tokenize(TEXTS)
    assert (encoder.encode(pieces, 64) * exact_vectors(pieces, tensors, 64)).sum(axis=1).min() > 0.98


def test_a_centre_is_subtracted_from_vectors() -> None:
    pack = read_pack(PACK, "made")
    centre = np.full(tiny_model.WIDTH, 0.05, np.float32)
    plain, centred = (
        assemble_model({**pack.tensors, **more}, range(3), pack, "made") for more in ({}, {"centre": centre})
    )
    inputs = {"words": np.array([[FIRST, 9, 8, 7, LAST]], np.int32), "kept": np.arange(5)}
    for model in (plain, centred):
        session = onnxruntime.InferenceSession(convert_to_onnx(model, 0))
        vector = session.run(None, inputs)[0][0]
        assert np.abs(vector - naive.encode(model, inputs["words"][0])).max() < 1e-4


def test_stop_words_of_a_vocabulary_of_bytes_end_early(tmp_path: Path) -> None:
    files = convert_model(settings(tmp_path), (PACK,), trusted=True, bits=0)
    early, whole = Encoder(files), Encoder(files, early_exit=False)
    pieces = whole.tokenize([" ship", " the ship", "x the ship", " theship"])
    assert [len(text) for text in pieces] == [1, 2, 3, 5]
    same = [
        np.allclose(a, b, atol=1e-6) for a, b in zip(early.encode(pieces, 64), whole.encode(pieces, 64), strict=True)
    ]
    assert same == [True, False, False, True], "the first piece of a longer word is no stop word"


def test_layers_of_the_student_are_read_as_they_were_written(tmp_path: Path) -> None:
    tensors = {name: tensor for name, tensor in with_loud_unit(TENSORS).items() if name[:2] in ("l0", "l2", "po")}
    tensors["centre"] = TENSORS["l1.ao.b"]
    path = tmp_path / "layers.arrays"
    write_student(path, tensors, (0, 2), "0" * 64, {})
    student = read_student(path)
    assert student.layers == (0, 2)
    assert student.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert np.linalg.norm(student.tensors[name] - tensor) < 0.02 * np.linalg.norm(tensor)
    # One input that is loud must not silence the others.
    rest = np.arange(tiny_model.WIDE) != 7
    quiet, read = tensors["l0.f2.w"][:, rest], student.tensors["l0.f2.w"][:, rest]
    assert np.linalg.norm(read - quiet) < 0.02 * np.linalg.norm(quiet)


def test_a_damaged_file_of_layers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "layers.arrays"
    write_student(path, {"l0.f1.w": TENSORS["l0.f1.w"], "centre": TENSORS["l0.ao.b"]}, (0,), "0" * 64, {})
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(CorruptFile):
        read_student(path)


def test_the_student_in_the_package_belongs_to_the_published_weights() -> None:
    student = read_student()
    assert student.teacher == PUBLISHED["granite-small"].files[0].sha256
    assert len(student.layers) == 3
    assert all(np.isfinite(tensor).all() for tensor in student.tensors.values())
    with pytest.raises(BadFile, match="other weights"):
        load_model("granite-small", (PACK,))


def test_other_weights_than_the_published_are_refused(tmp_path: Path) -> None:
    assert hashlib.sha256(PACK).hexdigest() != PUBLISHED["granite"].files[0].sha256
    with pytest.raises(BadFile, match="not what was published"):
        convert_model(settings(tmp_path), (PACK,))
    with pytest.raises(NothingHere):
        find_model(settings(tmp_path))


def test_the_model_of_an_earlier_version_is_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    weights = tiny_model.safetensors(tiny_model.arrays())
    with pytest.raises(NothingHere, match="periplus embeddings fetch") as without:
        find_model(EmbeddingSettings())
    assert "minilm" not in str(without.value)
    earlier = EmbeddingSettings(encoder="minilm")
    convert_model(earlier, (weights, tiny_model.tokenizer()), trusted=True)
    with pytest.raises(NothingHere, match=r"embeddings\.encoder=minilm"):
        find_model(EmbeddingSettings())
    assert find_model(earlier).model == "minilm"
