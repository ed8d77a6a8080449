"""Read the published weights of a model: a safetensors file, without a framework.

    header length u64 | header (JSON: name -> dtype, shape, data_offsets) | values, little-endian

The file is checked: one that is truncated, or whose arrays lie outside of it, is refused.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadFile
from periplus.typed_decoding import convert_to, parse_json

__all__ = ["Layer", "Model", "Norm", "read_model", "read_safetensors"]

Floats = npt.NDArray[np.float32]

_MAX_HEADER_BYTES: Final = 1 << 24
_MAX_LAYERS: Final = 64
HEAD_SIZE: Final = 32
"""Width of an attention head in all models of this family."""


class _TensorEntry(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class Norm(NamedTuple):
    """Layer normalisation: the factor and the bias of each dimension."""

    weight: Floats
    bias: Floats


class Layer(NamedTuple):
    """One layer of the encoder. Matrices are (in, out), so that a row of values is multiplied from the left."""

    attention: Floats
    """Query, key and value matrices, concatenated."""
    attention_bias: Floats
    projection: Floats
    projection_bias: Floats
    projection_norm: Norm
    expansion: Floats
    expansion_bias: Floats
    contraction: Floats
    contraction_bias: Floats
    contraction_norm: Norm


class Model(NamedTuple):
    """An encoder of the BERT family."""

    words: Floats
    positions: Floats
    """Position embeddings, with the embedding of the only token type added."""
    norm: Norm
    layers: tuple[Layer, ...]
    pooling: str = "mean"
    """The vector of a text: 'mean' of all its tokens, or that of the 'first'."""
    word_group: int = 0
    """Values of a word's embedding that share a scale if it is stored as integers; 0 stores floats."""
    centre: Floats | None = None
    """What is subtracted from a vector of length 1, before that is made one of length 1 again."""

    @property
    def width(self) -> int:
        """Dimensions of a vector."""
        return int(self.words.shape[1])

    @property
    def heads(self) -> int:
        """Attention heads of a layer."""
        return self.width // HEAD_SIZE


def read_safetensors(raw: bytes | memoryview, name: str) -> dict[str, Floats]:
    """Read all arrays of 32-bit floats; `name` is for messages."""
    view = memoryview(raw)
    if len(view) < 8:
        raise BadFile(f"{name} is truncated: {len(view)} bytes.")
    length = struct.unpack("<Q", view[:8])[0]
    if length > min(_MAX_HEADER_BYTES, len(view) - 8):
        raise BadFile(f"{name} is not a safetensors file, or it is truncated.")
    try:
        header = parse_json(view[8 : 8 + length], dict[str, Any])
        entries = {key: convert_to(value, _TensorEntry) for key, value in header.items() if not key.startswith("__")}
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadFile(f"{name} has a damaged header: {error}.") from None
    values = view[8 + length :]
    return {key: _array(values, entry, f"{name}: {key}") for key, entry in entries.items() if entry.dtype == "F32"}


def _array(values: memoryview, entry: _TensorEntry, name: str) -> Floats:
    begin, end = entry.data_offsets
    count = 1
    for size in entry.shape:
        count *= size
    if not (0 <= begin <= end <= len(values) and count >= 0 and end - begin == 4 * count):
        raise BadFile(f"{name} lies outside of the file.")
    return np.frombuffer(values[begin:end], "<f4").reshape(entry.shape)


def read_model(arrays: Mapping[str, Floats], name: str) -> Model:
    """Return the model of the arrays of a BERT encoder; `name` is for messages."""
    try:
        token_type = arrays["embeddings.token_type_embeddings.weight"][0]
        positions = arrays["embeddings.position_embeddings.weight"] + token_type
        words = arrays["embeddings.word_embeddings.weight"]
        model = Model(words, positions, _norm(arrays, "embeddings.LayerNorm"), tuple(_layers(arrays)))
    except (KeyError, ValueError, IndexError) as error:
        raise BadFile(f"{name} is not a model of a supported kind: {error}.") from None
    if not model.layers or model.width % HEAD_SIZE:
        raise BadFile(f"{name} has no layers, or a width that is not a multiple of {HEAD_SIZE}.")
    return model


def _layers(arrays: Mapping[str, Floats]) -> Iterator[Layer]:
    for number in range(_MAX_LAYERS):
        prefix = f"encoder.layer.{number}."
        if f"{prefix}output.dense.weight" not in arrays:
            return
        inputs = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        yield Layer(
            np.concatenate([arrays[f"{part}.weight"].T for part in inputs], axis=1),
            np.concatenate([arrays[f"{part}.bias"] for part in inputs]),
            *_dense(arrays, f"{prefix}attention.output.dense"),
            _norm(arrays, f"{prefix}attention.output.LayerNorm"),
            *_dense(arrays, f"{prefix}intermediate.dense"),
            *_dense(arrays, f"{prefix}output.dense"),
            _norm(arrays, f"{prefix}output.LayerNorm"),
        )


def _dense(arrays: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return np.ascontiguousarray(arrays[f"{name}.weight"].T), arrays[f"{name}.bias"]


def _norm(arrays: Mapping[str, Floats], name: str) -> Norm:
    return Norm(arrays[f"{name}.weight"], arrays[f"{name}.bias"])
