"""Read a SentencePiece model of the unigram kind, and write it as the tokenizers library reads it.

The file is a protocol buffer: field 1 repeats the pieces (1: text, 2: score, 32-bit float), field 3 is the normalizer
(2: a compiled map of characters). The library implements both; only the container is converted.
"""

import base64
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from periplus.errors import BadFile

__all__ = ["SentencePieces", "read_sentence_pieces", "write_tokenizer"]

_SPACE: Final = "\u2581"
_MAX_PIECES: Final = 1 << 20
_FIXED_SIZES: Final = {1: 8, 5: 4}
"""Lengths of fields by their wire type; 0 is a variable-length integer, 2 has a length before it."""


class SentencePieces(NamedTuple):
    """A vocabulary."""

    pieces: list[tuple[str, float]]
    """Texts and logarithms of their probabilities, by number; the first is the unknown one."""
    character_map: bytes


def read_sentence_pieces(raw: bytes, name: str) -> SentencePieces:
    """Read a model; raise `BadFile` if it is damaged. `name` is for messages."""
    pieces: list[tuple[str, float]] = []
    character_map = b""
    try:
        for field, value in _read_fields(raw):
            if field == 1 and len(pieces) < _MAX_PIECES:
                parts = dict(_read_fields(value))
                score = struct.unpack("<f", parts[2])[0] if 2 in parts else 0.0
                pieces.append((parts[1].decode("utf-8"), score))
            elif field == 3:
                character_map = dict(_read_fields(value)).get(2, b"")
    except (IndexError, KeyError, ValueError, struct.error) as error:
        raise BadFile(f"{name} is not a SentencePiece model: {error}.") from None
    if len(pieces) < 3 or not character_map:
        raise BadFile(f"{name} has no pieces, or no map of characters.")
    return SentencePieces(pieces, character_map)


def _read_fields(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the numbers and contents of a message's fields; those of integers are empty."""
    at = 0
    while at < len(raw):
        tag, at = _read_integer(raw, at)
        field, kind = tag >> 3, tag & 7
        size = _FIXED_SIZES.get(kind, 0)
        if kind == 0:
            _, at = _read_integer(raw, at)
        elif kind == 2:
            size, at = _read_integer(raw, at)
        elif not size:
            raise ValueError(f"a field of type {kind}")
        if at + size > len(raw):
            raise ValueError("truncated")
        yield field, raw[at : at + size]
        at += size


def _read_integer(raw: bytes, at: int) -> tuple[int, int]:
    """Return an integer of seven bits a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("an integer of more than ten bytes")


def write_tokenizer(vocabulary: SentencePieces) -> bytes:
    """Return the vocabulary as a file of the tokenizers library."""
    characters = base64.b64encode(vocabulary.character_map).decode()
    metaspace = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": "always", "split": True}
    normalizers = [
        {"type": "Precompiled", "precompiled_charsmap": characters},
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]
    return msgspec.json.encode(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": {"type": "Sequence", "normalizers": normalizers},
            "pre_tokenizer": metaspace,
            "post_processor": None,
            "decoder": None,
            "model": {"type": "Unigram", "unk_id": 0, "vocab": vocabulary.pieces, "byte_fallback": False},
        }
    )
