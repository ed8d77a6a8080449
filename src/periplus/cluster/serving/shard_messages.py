"""The methods of a shard server by number, and the bytes of their requests and responses.

A request has the generation of the index in 8 bytes, then a record; a response has a record. Both as msgpack
(`search.encode_record`). Methods up to 63 are those of a shard (`search.SHARD_METHODS`), from 64 on those of its
server.
"""

import struct
from typing import Any, Final, NamedTuple

import msgspec

from periplus.errors import BadInput, PeerFailed
from periplus.search import SHARD_METHODS, decode_record, encode_record

__all__ = [
    "CATCH_UP",
    "CLOSE_GENERATION",
    "HEALTH",
    "METHODS",
    "METHOD_NUMBERS",
    "OPEN_GENERATION",
    "PUBLISH",
    "GenerationHealth",
    "GenerationRequest",
    "PublishMessage",
    "ShardHealth",
    "decode_reply",
    "decode_request",
    "encode_reply",
    "encode_request",
]

METHOD_NUMBERS: Final = {
    "describe": 1,
    "dictionary": 2,
    "statistics": 3,
    "retrieve": 4,
    "signatures": 5,
    "present": 6,
    "suggest": 7,
    "cached_page": 8,
    "cached_blocks": 9,
    "page_status": 10,
    "parts": 11,
    "answer": 12,
    "collect": 13,
    "passages": 14,
    "evidence": 15,
    "trace": 16,
}
METHODS: Final = {number: name for name, number in METHOD_NUMBERS.items()}
HEALTH: Final = 64
OPEN_GENERATION: Final = 65
CLOSE_GENERATION: Final = 66
PUBLISH: Final = 67
CATCH_UP: Final = 68
_GENERATION: Final = struct.Struct("<Q")


class GenerationRequest(NamedTuple):
    """Asks a shard server to open a generation, or to close it once nobody uses it."""

    generation: int
    folder: str = ""
    """The data folder of the generation, on the node of the server."""
    position: int = 0
    """The number of the shard among those of the generation, counted from 0."""
    owners: tuple[int, ...] = ()
    """The shards that own hosts in this generation."""
    served: tuple[int, ...] = ()
    """The shards of the generation, in their order."""


class PublishMessage(NamedTuple):
    """A page for the shard that owns its host, or the withdrawal of one."""

    name: str
    """Identifies the publication: sending it again changes nothing."""
    page: bytes
    """Its fetch record, as in an inbox."""
    owner: int = -1
    """The shard that owns the host; -1 is the one that gets the message."""


class GenerationHealth(NamedTuple):
    """One generation that a shard server has open."""

    generation: int
    documents: int
    commit: int
    """The commit of the index, which grows with every page that is published."""
    running: int
    """Requests that use it now."""
    closing: bool


class ShardHealth(NamedTuple):
    """How a shard server is."""

    shard: int
    generations: tuple[GenerationHealth, ...]
    requests: int
    running: int
    waiting: int
    refused: int
    busy: int
    publications: int
    """Publications that it has applied."""


def encode_request(generation: int, request: Any) -> bytes:
    """Return the body of a request."""
    return _GENERATION.pack(generation) + encode_record(request)


def decode_request(name: str, body: bytes) -> tuple[int, Any]:
    """Return generation and record of a request for a method of a shard; raise `BadInput` for what is none."""
    try:
        generation = int(_GENERATION.unpack_from(body)[0])
        return generation, decode_record(body[_GENERATION.size :], SHARD_METHODS[name].request)
    except (struct.error, msgspec.MsgspecError) as error:
        raise BadInput(f"A request for '{name}' cannot be read: {error}") from None


def encode_reply(reply: Any) -> bytes:
    """Return the body of a response."""
    return encode_record(reply)


def decode_reply(name: str, body: bytes) -> Any:
    """Return the record of a response; raise `PeerFailed` for what is none."""
    try:
        return decode_record(body, SHARD_METHODS[name].reply)
    except msgspec.MsgspecError as error:
        raise PeerFailed(f"A response to '{name}' cannot be read: {error}") from None
