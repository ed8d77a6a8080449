"""Records of the search stages as msgpack, so that the stages can run on different machines.

An array is one binary value:

    byte  0         type of its elements: its place in `_TYPES`
          1         dimensions
          2 to 7    zero
          8 on      8 bytes for each dimension, little-endian; then zeros up to a multiple of 16
                    then the elements
"""

import math
import struct
from typing import Any, Final, TypeVar, get_args

import msgspec
import numpy as np

from periplus.typed_decoding import msgpack_decoder

__all__ = ["decode_record", "encode_record"]

Record = TypeVar("Record")
_TYPES: Final = tuple(
    np.dtype(kind) for kind in ("?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
)
"""The types that elements of an array may have. The order is part of the format."""
_CODES: Final = {kind: code for code, kind in enumerate(_TYPES)}
_MAX_DIMENSIONS: Final = 4
_MAX_LENGTH: Final = 1 << 31
_HEADERS: Final = tuple(struct.Struct(f"<BB6x{count}Q{8 * ((count + 1) % 2)}x") for count in range(_MAX_DIMENSIONS + 1))
"""By the number of dimensions. A multiple of 16 bytes long, so that the elements are aligned."""


def encode_record(record: Any) -> bytes:
    """Return a record of arrays, numbers and strings as msgpack."""
    return msgspec.msgpack.encode(record, enc_hook=_encode_array)


def decode_record(data: bytes, record: type[Record]) -> Record:
    """Return the record of a type that `encode_record` wrote; raise `msgspec.MsgspecError` for anything else.

    Arrays have the types of the annotations, `npt.NDArray[np.int32]` for example.
    """
    try:
        return msgpack_decoder(record, _decode_array).decode(data)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"a string is not UTF-8: {error}") from None


def _encode_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        code = _CODES.get(value.dtype)
        if code is None or value.ndim > _MAX_DIMENSIONS:
            raise NotImplementedError(f"cannot encode an array of {value.dtype} with {value.ndim} dimensions")
        return _HEADERS[value.ndim].pack(code, value.ndim, *value.shape) + value.tobytes()
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"cannot encode {type(value).__name__}")


def _decode_array(kind: Any, value: Any) -> Any:
    """Return an array over the bytes that were received; everything is checked before."""
    if type(value) is not bytes or len(value) < 8 or value[0] >= len(_TYPES) or value[1] > _MAX_DIMENSIONS:
        raise msgspec.ValidationError("no array: it is not a type, a shape and elements")
    dtype, header = _TYPES[value[0]], _HEADERS[value[1]]
    entry = _ANNOTATIONS.get(id(kind)) or _annotate(kind)
    if entry[1] is not dtype and entry[1] is not None:
        raise msgspec.ValidationError(f"no array of {entry[1]}: elements of type {dtype}")
    if value[1] == 1 and len(value) >= header.size:  # most are
        count = header.unpack_from(value)[2]
        if count * dtype.itemsize != len(value) - header.size:
            raise msgspec.ValidationError(f"no array: {len(value)} bytes are not its shape")
        return np.frombuffer(value, dtype, count, header.size) if count else np.zeros(0, dtype)
    if len(value) < header.size:
        raise msgspec.ValidationError("no array: its shape is cut off")
    shape = header.unpack_from(value)[2:]
    if shape and max(shape) > _MAX_LENGTH:
        raise msgspec.ValidationError("no array: its shape is not a few lengths")
    if math.prod(shape) * dtype.itemsize != len(value) - header.size:
        raise msgspec.ValidationError(f"no array: {len(value)} bytes are not its shape")
    if len(value) == header.size:  # of no elements, which cannot be read from a buffer
        try:
            return np.zeros(shape, dtype)
        except ValueError as error:  # the product of its other lengths is too large
            raise msgspec.ValidationError(f"no array: {error}") from None
    return np.frombuffer(value, dtype, offset=header.size).reshape(shape)


_ANNOTATIONS: Final[dict[int, tuple[Any, np.dtype[Any] | None]]] = {}
"""By identity of an annotation, which takes long to hash: the annotation, and the type of elements that it names."""


def _annotate(kind: Any) -> tuple[Any, np.dtype[Any] | None]:
    """Enter an annotation, with the type of elements that it names; None if it names none."""
    entry = _ANNOTATIONS[id(kind)] = (kind, _read_annotation(kind))
    return entry


def _read_annotation(kind: Any) -> np.dtype[Any] | None:
    for argument in get_args(kind)[1:]:
        for scalar in get_args(argument):
            if isinstance(scalar, type) and issubclass(scalar, np.generic):
                return _TYPES[_CODES[np.dtype(scalar)]]
    return None
