"""The layers of our own model, a file in this package: three layers that were trained to agree with a larger model's.

    notes: layers of the larger model that they began as, its SHA-256, and a card: sources of texts, seeds, licence
    NAME i8 (out, in)  | NAME.scale f32 (out, 1) or (1, in)    matrices
    NAME f32           biases and norms, and `centre`, the share of the mean of all vectors that is subtracted

The word embeddings are the larger model's and not in the file, which `training/embeddings/pack_student.py` writes. Each
matrix has a scale for each output or for each input, whichever loses less: where one input has weights that are a
hundred times as large as the others, scales of outputs would lose the others.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.embeddings.safetensors import Floats
from periplus.errors import CorruptFile

__all__ = ["CENTRE", "STUDENT_PATH", "StudentLayers", "read_student", "write_student"]

STUDENT_PATH: Final = Path(__file__).with_name("granite_small.arrays")
CENTRE: Final = "centre"
"""The name of what is subtracted from vectors, of the larger model too."""
_KIND: Final = "embedding-layers"
_FORMAT: Final = 1
_LARGEST: Final = 127
_SMALLEST: Final = 1e-12


class StudentLayers(NamedTuple):
    """What differs from the larger model."""

    tensors: dict[str, Floats]
    layers: tuple[int, ...]
    """Numbers of the layers of the larger model, by which the tensors are named."""
    teacher: str
    """SHA-256 of the larger model's weights."""


def write_student(
    path: Path, tensors: Mapping[str, npt.NDArray[Any]], layers: Sequence[int], teacher: str, card: Mapping[str, Any]
) -> int:
    """Write trained tensors, by the names of the larger model's; return the length of the file in bytes.

    teacher: SHA-256 of the larger model's weights. card: what the tensors were trained from.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, tensor in sorted(tensors.items()):
        floats = np.asarray(tensor, np.float32)
        if floats.ndim == 2:
            arrays[name], arrays[f"{name}.scale"] = _quantise(floats)
        else:
            arrays[name] = floats
    return write_arrays(
        path, _KIND, arrays, {"layers": list(layers), "teacher_sha256": teacher, "card": dict(card)}, format=_FORMAT
    )


def _quantise(matrix: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return a matrix as bytes, and the scales of its rows or columns."""
    choices = []
    for axis in (0, 1):
        scale = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True), _SMALLEST) / np.float32(_LARGEST)
        integers = np.clip(np.rint(matrix / scale), -_LARGEST, _LARGEST)
        choices.append((float(np.square(integers * scale - matrix).sum()), integers.astype(np.int8), scale))
    _, values, scales = min(choices, key=lambda choice: choice[0])
    return values, scales.astype(np.float32)


def read_student(path: Path = STUDENT_PATH) -> StudentLayers:
    """Read and check a file of layers; raise `CorruptFile` if it is damaged."""
    file = ArrayFile(path, _KIND, format=_FORMAT)
    file.check()
    names = [name for name in file.sizes() if not name.endswith(".scale")]
    try:
        tensors = {name: _dequantise(file, name) for name in names}
        if CENTRE not in tensors:
            raise KeyError(CENTRE)
        layers = tuple(int(number) for number in file.notes["layers"])
        return StudentLayers(tensors, layers, str(file.notes["teacher_sha256"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path} does not contain layers of a model: {error}.", "Install Periplus again.") from None


def _dequantise(file: ArrayFile, name: str) -> Floats:
    if f"{name}.scale" not in file:
        return np.array(file[name], np.float32)
    floats: Floats = (file[name] * file[f"{name}.scale"]).astype(np.float32)
    return floats
