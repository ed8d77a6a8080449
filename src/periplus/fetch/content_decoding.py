"""Content encodings of a body, undone within bounds: gzip, deflate and brotli, one within another if need be."""

import zlib
from typing import Final, NamedTuple

import brotli

__all__ = ["ACCEPTED", "DecodedBody", "decode_body", "encodings_of"]

ACCEPTED: Final = "gzip, deflate, br"
"""What requests ask for."""
_MAX_LAYERS: Final = 5
_GZIP: Final = frozenset(("gzip", "x-gzip"))
_SIMPLE: Final = frozenset(("gzip", "br", "deflate"))
_GZIP_MAGIC: Final = b"\x1f\x8b"
_FIRST_PIECE, _PIECE = 65_536, 4_096
"""Bytes of gzip that are decoded at a time, of the first member and of others: most bodies have one, and are short."""
_GZIP_WINDOW, _RAW_WINDOW = 47, -15
"""Windows of zlib: gzip or zlib by the header, and neither."""


class DecodedBody(NamedTuple):
    """What a body is without its encodings: as much as was asked for, at most."""

    body: bytes
    too_large: bool = False
    error: str = ""
    ordinary: bool = False
    """Whether readers of archives decode it too: one encoding, under its own name, and nothing behind it."""


def encodings_of(headers: list[tuple[str, str]]) -> list[str]:
    """Return the content encodings that headers state, in the order in which they were applied."""
    fields = [value for name, value in headers if name == "content-encoding"]
    if len(fields) == 1 and fields[0] in _SIMPLE:
        return fields
    names = [name.strip().lower() for field in fields for name in field.split(",")]
    return [name for name in names if name not in ("", "identity", "none")]


def decode_body(raw: bytes, encodings: list[str], max_bytes: int, *, whole: bool = True) -> DecodedBody:
    """Return a body without its encodings, at most `max_bytes` of it after each; `whole` unless its end is missing."""
    if len(encodings) == 1:
        layer = _decode_layer(raw, encodings[0], max_bytes, whole)
        return layer if encodings[0] != "x-gzip" else layer._replace(ordinary=False)
    if len(encodings) > _MAX_LAYERS:
        return DecodedBody(b"", error="Too many content encodings.")
    too_large, layer = False, DecodedBody(raw)
    for encoding in reversed(encodings):
        layer = _decode_layer(raw, encoding, max_bytes, whole and not too_large)
        if layer.error:
            return layer
        raw, too_large = layer.body, too_large or layer.too_large
    return DecodedBody(raw, too_large)


def _decode_layer(raw: bytes, encoding: str, max_bytes: int, whole: bool) -> DecodedBody:
    try:
        if encoding in _GZIP:
            return _decode_members(raw, max_bytes, whole)
        if encoding == "deflate":
            return _decode_deflate(raw, max_bytes, whole)
        if encoding == "br":
            return _decode_brotli(raw, max_bytes, whole)
    except (zlib.error, brotli.error) as error:
        return DecodedBody(b"", error=f"The body is not {encoding}: {error}.")
    return DecodedBody(b"", error=f"Unknown content encoding '{encoding[:40]}'.")


def _decode_members(raw: bytes, max_bytes: int, whole: bool) -> DecodedBody:
    """Decode gzip: one member after the other; what follows the last one is padding."""
    engine, pieces, size, at, members = zlib.decompressobj(_GZIP_WINDOW), list[bytes](), 0, 0, 1
    while at < len(raw) and size <= max_bytes:
        # A member gives back what follows it: all of the body would be copied each time.
        part = raw[at : at + (_FIRST_PIECE if members == 1 else _PIECE)]
        pieces.append(engine.decompress(part, max_bytes + 1 - size))
        size += len(pieces[-1])
        at += len(part) - len(engine.unused_data) - len(engine.unconsumed_tail)
        if engine.eof:
            if raw[at : at + 2] != _GZIP_MAGIC:
                break
            engine, members = zlib.decompressobj(_GZIP_WINDOW), members + 1
    ordinary = raw[:2] == _GZIP_MAGIC and members == 1 and at == len(raw)
    return _check_end(b"".join(pieces), engine.eof, max_bytes, whole, ordinary)


def _decode_deflate(raw: bytes, max_bytes: int, whole: bool) -> DecodedBody:
    """Decode deflate, which some servers send without the header of zlib."""
    engine, ordinary = zlib.decompressobj(), True
    try:
        body = engine.decompress(raw, max_bytes + 1)
    except zlib.error:
        engine, ordinary = zlib.decompressobj(_RAW_WINDOW), False
        body = engine.decompress(raw, max_bytes + 1)
    ordinary = ordinary and not engine.unused_data
    return _check_end(body, engine.eof, max_bytes, whole, ordinary)


def _decode_brotli(raw: bytes, max_bytes: int, whole: bool) -> DecodedBody:
    engine = brotli.Decompressor()
    pieces = [engine.process(raw, output_buffer_limit=max_bytes + 1)]
    size = len(pieces[0])
    while size <= max_bytes and not engine.can_accept_more_data() and not engine.is_finished():
        pieces.append(engine.process(b"", output_buffer_limit=max_bytes + 1 - size))
        size += len(pieces[-1])
    return _check_end(b"".join(pieces), engine.is_finished(), max_bytes, whole, True)


def _check_end(body: bytes, ended: bool, max_bytes: int, whole: bool, ordinary: bool) -> DecodedBody:
    if len(body) > max_bytes:
        return DecodedBody(body[:max_bytes], True, "", ordinary)
    if whole and not ended:
        return DecodedBody(b"", False, "The end of the encoded body is missing.", ordinary)
    return DecodedBody(body, False, "", ordinary)
