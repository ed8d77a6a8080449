"""Records of the search stages as msgpack, so that the stages can run on different machines."""

import functools
import math
from typing import Any, Final, TypeVar, get_args

import msgspec
import numpy as np

__all__ = ["decode_record", "encode_record"]

Record = TypeVar("Record")
_DTYPES: Final = {
    np.dtype(kind).str: np.dtype(kind)
    for kind in ("?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
}
"""The types that elements of an array may have: a name of any other is not interpreted."""
_MAX_DIMENSIONS: Final = 4
_MAX_LENGTH: Final = 1 << 31


def encode_record(record: Any) -> bytes:
    """Return a record of arrays, numbers and strings as msgpack; an array is its type, its shape and its bytes."""
    return msgspec.msgpack.encode(record, enc_hook=_encode_array)


def decode_record(data: bytes, record: type[Record]) -> Record:
    """Return the record of a type that `encode_record` wrote; raise `msgspec.MsgspecError` for anything else.

    Arrays have the types of the annotations, `npt.NDArray[np.int32]` for example.
    """
    try:
        return msgspec.msgpack.decode(data, type=record, dec_hook=_decode_array)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"a string is not UTF-8: {error}") from None


def _encode_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, np.ascontiguousarray(value).data if value.size else b""
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"cannot encode {type(value).__name__}")


def _decode_array(kind: Any, value: Any) -> Any:
    """Return an array over the bytes that were received; everything is checked before."""
    match value:
        case [str(name), list(shape) | tuple(shape), bytes(data)]:
            pass
        case _:
            raise msgspec.ValidationError("no array: it is not a type, a shape and bytes")
    dtype = _DTYPES.get(name)
    if dtype is None:
        raise msgspec.ValidationError(f"no array: elements of type {name[:20]!r}")
    expected = _annotated_dtype(kind)
    if expected is not None and dtype != expected:
        raise msgspec.ValidationError(f"no array of {expected}: elements of type {dtype}")
    if len(shape) > _MAX_DIMENSIONS or not all(type(size) is int and 0 <= size <= _MAX_LENGTH for size in shape):
        raise msgspec.ValidationError("no array: its shape is not a few lengths")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise msgspec.ValidationError(f"no array: {len(data)} bytes are not its shape")
    try:
        return np.frombuffer(data, dtype).reshape(shape)
    except ValueError as error:  # an empty array of lengths whose product is too large
        raise msgspec.ValidationError(f"no array: {error}") from None


@functools.cache
def _annotated_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the type of elements that an annotation names; None if it names none."""
    for argument in get_args(kind)[1:]:
        for scalar in get_args(argument):
            if isinstance(scalar, type) and issubclass(scalar, np.generic):
                return np.dtype(scalar)
    return None
