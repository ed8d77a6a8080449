"""Records of the search stages as msgpack, so that the stages can run on different machines."""

from typing import Any, TypeVar

import msgspec
import numpy as np

__all__ = ["decode_record", "encode_record"]

Record = TypeVar("Record")


def encode_record(record: Any) -> bytes:
    """Return a record of arrays, numbers and strings as msgpack; an array is its type, its shape and its bytes."""
    return msgspec.msgpack.encode(record, enc_hook=_encode_array)


def decode_record(data: bytes, record: type[Record]) -> Record:
    """Return the record of a type that `encode_record` wrote; raise `msgspec.MsgspecError` for anything else."""
    try:
        return msgspec.msgpack.decode(data, type=record, dec_hook=_decode_array)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"a string is not UTF-8: {error}") from None


def _encode_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"cannot encode {type(value).__name__}")


def _decode_array(kind: Any, value: Any) -> Any:
    try:
        dtype, shape, data = value
        return np.frombuffer(data, np.dtype(dtype)).reshape(shape)
    except (TypeError, ValueError) as error:
        raise msgspec.ValidationError(f"no array: {error}") from None
