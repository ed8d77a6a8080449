"""Typed decoding that several threads may begin at the same time.

msgspec prepares what it knows of a record class when the class is first decoded. Another thread that decodes the class
meanwhile finds it half prepared, and the process ends with a segmentation fault (seen with msgspec 0.22). So decoders
are made here, by one thread at a time, once for each type. Only the making is locked: decoders themselves are safe.

    parse_json, parse_msgpack    bytes to a value of a type
    convert_to                     plain dicts and lists to a value of a type
    json_decoder, msgpack_decoder  the decoder itself, for many values
"""

import os
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

__all__ = ["convert_to", "json_decoder", "msgpack_decoder", "parse_json", "parse_msgpack"]

Value = TypeVar("Value")
Hook = Callable[[Any, Any], Any]

_LOCK = threading.Lock()
_JSON: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
_MSGPACK: Final[dict[Any, msgspec.msgpack.Decoder[Any]]] = {}


def json_decoder(kind: type[Value]) -> msgspec.json.Decoder[Value]:
    """Return the decoder of JSON for a type."""
    decoder = _JSON.get(kind)
    if decoder is None:
        with _LOCK:
            decoder = _JSON[kind] = msgspec.json.Decoder(kind)
    return decoder


def msgpack_decoder(kind: type[Value], hook: Hook | None = None) -> msgspec.msgpack.Decoder[Value]:
    """Return the decoder of msgpack for a type; hook: as `dec_hook` of msgspec."""
    key = kind if hook is None else (kind, hook)
    decoder = _MSGPACK.get(key)
    if decoder is None:
        with _LOCK:
            decoder = _MSGPACK[key] = msgspec.msgpack.Decoder(kind, dec_hook=hook)
    return decoder


def parse_json(data: bytes | bytearray | memoryview | str, kind: type[Value]) -> Value:
    """Return the value of a type that JSON has; raise `msgspec.MsgspecError` for anything else."""
    return json_decoder(kind).decode(data)


def parse_msgpack(data: bytes | bytearray | memoryview, kind: type[Value]) -> Value:
    """Return the value of a type that msgpack has; raise `msgspec.MsgspecError` for anything else."""
    return msgpack_decoder(kind).decode(data)


def convert_to(value: Any, kind: type[Value], *, strict: bool = True, from_attributes: bool = False) -> Value:
    """Return plain values as a value of a type; raise `msgspec.ValidationError` for what does not fit."""
    msgpack_decoder(kind)
    return msgspec.convert(value, kind, strict=strict, from_attributes=from_attributes)


def _renew_lock() -> None:
    global _LOCK
    _LOCK = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
