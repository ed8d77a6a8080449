"""The file of the static model, and what it does with languages that it does not cover."""

from pathlib import Path

import numpy as np
import pytest

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.static_embeddings import MODEL_PATH, StaticModel, load_static_model, read_model

MAX_BYTES = 8_000_000


def test_the_table_is_small_enough_for_a_package() -> None:
    assert MODEL_PATH.stat().st_size <= MAX_BYTES


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    raw = bytearray(MODEL_PATH.read_bytes())
    raw[len(raw) // 2] ^= 1
    path = tmp_path / "model.arrays"
    path.write_bytes(raw)
    with pytest.raises(CorruptFile):
        read_model(path)


def forge(tmp_path: Path, **changes: np.ndarray) -> Path:
    """Return a model with other arrays, whose checksums are right."""
    file = ArrayFile(MODEL_PATH, "static-model")
    arrays = {name: file[name] for name in file.sizes()} | changes
    path = tmp_path / "forged.arrays"
    write_arrays(path, "static-model", arrays, {}, format=1)
    return path


def test_arrays_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    file = ArrayFile(MODEL_PATH, "static-model")
    lengths, letters = file["lengths"], file["letters"]
    unsorted = letters.copy()
    unsorted[:2] = unsorted[1::-1] + 1
    forgeries = (
        {"lengths": np.zeros_like(lengths)},
        {"lengths": lengths[:-1]},
        {"letters": np.full_like(letters, 255)},
        {"letters": unsorted},
        {"inner": np.array([len(lengths) + 1], np.int64)},
        {"inner": np.array([-1], np.int64)},
        {"run_start": file["run_start"][::-1].copy()},
        {"run_kind": np.full_like(file["run_kind"], 200)},
        {"expanded": file["expanded"][::-1].copy()},
        {"expanded_end": file["expanded_end"] + 1},
        {"expansions": np.full_like(file["expansions"], 4)},
        {"vectors": file["vectors"][1:]},
        {"vectors": np.zeros((len(lengths), 0), np.int8)},
        {"vectors": np.zeros((len(lengths), 12), np.int8)},
        {"scales": file["scales"][1:]},
        {"scale_unit": np.array([np.nan], np.float32)},
    )
    for changes in forgeries:
        with pytest.raises(CorruptFile):
            read_model(forge(tmp_path, **changes))
    assert load_static_model().recipe.startswith(read_model(forge(tmp_path)).name)


def cosine(model: StaticModel, left: str, right: str) -> float:
    first, second = model.encode_query(left), model.encode_query(right)
    assert first is not None
    assert second is not None
    return float(first[0] @ second[0])


def test_texts_of_one_meaning_are_nearer_than_others() -> None:
    model = load_static_model()
    assert cosine(model, "physician", "doctor") > cosine(model, "physician", "volcano")
    assert cosine(model, "tallest mountain", "highest peak") > cosine(model, "tallest mountain", "recipe for soup")
    assert cosine(model, "car engine repair", "automobile motor") > cosine(model, "car engine repair", "medieval king")


@pytest.mark.parametrize("query", ["", "???", "日本語", "почему небо голубое", "هل السماء زرقاء", "\u0301"])
def test_a_query_of_another_script_has_no_vector(query: str) -> None:
    assert load_static_model().encode_query(query) is None


@pytest.mark.parametrize("query", ["9/11", "2025", "24/7", "3.14159", "1,000,000"])
def test_a_query_without_letters_has_no_vector(query: str) -> None:
    model = load_static_model()
    assert model.encode_query(query) is None
    assert model.encode_query(f"{query} memorial") is not None


def test_a_long_query_is_read_up_to_a_limit() -> None:
    model = load_static_model()
    query = model.encode_query("mountain " * 1_000_000)
    assert query is not None
    assert abs(float(query[0] @ query[0]) - 1) < 0.05
    assert query[1] < 1_000
