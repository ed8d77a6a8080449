"""Read the published weights of granite-embedding: a pack of its package, without that package's code.

    magic 8 bytes | header length u64 | header (JSON) | tokenizer.json | tensors in the header's order, little-endian

A tensor is 32-bit floats, or bytes by rows that are followed by a float scale for each group of a row's values. The
file is checked: one that is truncated, or whose sizes disagree, is refused.
"""

import math
import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
import numpy as np

from periplus.embeddings.safetensors import HEAD_SIZE, Floats, Layer, Model, Norm
from periplus.errors import BadFile
from periplus.typed_decoding import parse_json

__all__ = ["ModelPack", "assemble_model", "read_pack"]

_MAGIC: Final = b"HMSEMB01"
_PREFIX: Final = struct.Struct("<8sQ")
_MAX_HEADER_BYTES: Final = 1 << 20
_MAX_LAYERS: Final = 64


class _Tensor(msgspec.Struct, frozen=True):
    name: str
    dtype: str
    shape: tuple[int, ...]
    len: int
    group: int = 0


class _Architecture(msgspec.Struct, frozen=True):
    layers: int
    heads: int
    position_offset: int = 0


class _Header(msgspec.Struct, frozen=True):
    tokenizer_len: int
    arch: _Architecture
    tensors: tuple[_Tensor, ...]


class ModelPack(NamedTuple):
    """The contents of a pack."""

    tensors: dict[str, Floats]
    tokenizer: bytes
    layers: int
    position_offset: int
    """Rows of the table of positions before that of the first token."""
    word_group: int
    """Values of a word's embedding that share a scale; 0 if they are floats."""

    @property
    def width(self) -> int:
        """Dimensions of a vector; 0 without word embeddings."""
        return int(self.tensors["word_emb"].shape[-1]) if "word_emb" in self.tensors else 0


def read_pack(raw: bytes, name: str) -> ModelPack:
    """Read all tensors as floats; `name` is for messages."""
    if len(raw) < _PREFIX.size or raw[:8] != _MAGIC:
        raise BadFile(f"{name} is not a pack of model weights.")
    length = _PREFIX.unpack_from(raw)[1]
    if length > min(_MAX_HEADER_BYTES, len(raw) - _PREFIX.size):
        raise BadFile(f"{name} is truncated.")
    at = _PREFIX.size + length
    try:
        header = parse_json(raw[_PREFIX.size : at], _Header)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadFile(f"{name} has a damaged header: {error}.") from None
    sizes = [header.tokenizer_len, *(tensor.len for tensor in header.tensors)]
    if min(sizes) < 0 or sum(sizes) != len(raw) - at:
        raise BadFile(f"{name} is truncated, or its sizes disagree.")
    tokenizer = raw[at : at + header.tokenizer_len]
    at += header.tokenizer_len
    tensors: dict[str, Floats] = {}
    for tensor in header.tensors:
        tensors[tensor.name] = _read_tensor(raw[at : at + tensor.len], tensor, f"{name}: {tensor.name}")
        at += tensor.len
    group = next((tensor.group for tensor in header.tensors if tensor.name == "word_emb"), 0)
    return ModelPack(tensors, tokenizer, header.arch.layers, header.arch.position_offset, group)


def _read_tensor(raw: bytes, tensor: _Tensor, name: str) -> Floats:
    count = math.prod(tensor.shape) if all(size > 0 for size in tensor.shape) else -1
    if tensor.dtype == "f32" and 4 * count == len(raw):
        return np.frombuffer(raw, "<f4").reshape(tensor.shape)
    if tensor.dtype == "i8" and len(tensor.shape) == 2 and tensor.group > 0 and tensor.shape[1] % tensor.group == 0:
        rows, groups = tensor.shape[0], tensor.shape[1] // tensor.group
        if count + 4 * rows * groups == len(raw):
            integers = np.frombuffer(raw, np.int8, count).reshape(rows, groups, tensor.group)
            scales = np.frombuffer(raw, "<f4", rows * groups, count).reshape(rows, groups, 1)
            floats: Floats = (integers * scales).astype(np.float32).reshape(tensor.shape)
            return floats
    raise BadFile(f"{name} has a size or a type that is not supported.")


def assemble_model(tensors: Mapping[str, Floats], layers: range | tuple[int, ...], pack: ModelPack, name: str) -> Model:
    """Return a model of some of the `layers` of these tensors; `name` is for messages."""
    try:
        positions = tensors["pos_emb"][pack.position_offset :] + tensors["type_emb"][0]
        words = tensors["word_emb"]
        parts = tuple(_layer(tensors, f"l{number}.") for number in layers[:_MAX_LAYERS])
        norm, centre = _norm(tensors, "emb_ln"), tensors.get("centre")
        model = Model(words, positions, norm, parts, "first", pack.word_group, centre)
    except (KeyError, ValueError, IndexError) as error:
        raise BadFile(f"{name} is not a model of a supported kind: {error}.") from None
    if not model.layers or model.width % HEAD_SIZE or (model.word_group and model.width % model.word_group):
        raise BadFile(f"{name} has no layers, or a width that is not a multiple of {HEAD_SIZE}.")
    return model


def _layer(tensors: Mapping[str, Floats], prefix: str) -> Layer:
    return Layer(
        *_dense(tensors, f"{prefix}qkv"),
        *_dense(tensors, f"{prefix}ao"),
        _norm(tensors, f"{prefix}aln"),
        *_dense(tensors, f"{prefix}f1"),
        *_dense(tensors, f"{prefix}f2"),
        _norm(tensors, f"{prefix}fln"),
    )


def _dense(tensors: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return np.ascontiguousarray(tensors[f"{name}.w"].T), tensors[f"{name}.b"]


def _norm(tensors: Mapping[str, Floats], name: str) -> Norm:
    return Norm(tensors[f"{name}.w"], tensors[f"{name}.b"])
