"""Batches: what sites send each other through sinks, in one form that is bounded, signed and checked.

    magic "PERISITE", version u16, length of the header u16, header (msgpack `BatchHeader`),
    items (one zstd frame of msgpack), signature (64 bytes, Ed25519 of the sender over all before it)

A batch has a number within the *lane* of its sender: one outbox of one process, with a random name. So a batch is
identified by sender, lane and number, and nothing depends on clocks.
"""

import struct
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from periplus.errors import BadBatch, CorruptFile
from periplus.records import VisitReport
from periplus.sites.messaging.site_keys import SiteKey, is_signed_by
from periplus.sites.site_topology import SINKS, SiteTopology
from periplus.store import compress, decompress
from periplus.typed_decoding import parse_msgpack

__all__ = [
    "ITEM_TYPES",
    "MAX_BATCH_BYTES",
    "MAX_ITEMS",
    "Batch",
    "BatchHeader",
    "DataItem",
    "PageItem",
    "UrlItem",
    "decode_batch",
    "encode_batch",
    "read_header",
]

_PREFIX: Final = struct.Struct("<8sHH")
_MAGIC: Final = b"PERISITE"
_VERSION: Final = 1
_SIGNATURE_BYTES: Final = 64
_MAX_HEADER: Final = 1_024
MAX_BATCH_BYTES: Final = 32 << 20
"""Of a batch as it travels."""
MAX_ITEMS: Final = 100_000
_Name = Annotated[str, Meta(pattern="^[a-z0-9-]{1,64}$")]
_Number = Annotated[int, Meta(ge=0, le=1 << 53)]


class UrlItem(NamedTuple):
    """A URL of a host that the receiver crawls."""

    url: str
    depth: int = 0
    rank: float = 0.0
    hops: int = 0
    is_list: bool = False
    """Whether it is a sitemap or a feed."""


class PageItem(NamedTuple):
    """A page that the receiver indexes: a crawled one, or one that was published."""

    record: bytes
    """The fetch record, as compressed msgpack."""
    response: bytes = b""
    """The WARC record of its response, compressed; b'' if it is not sent."""
    digest: str = ""
    """SHA-256 of `record` and `response`, in hexadecimal."""


class DataItem(NamedTuple):
    """A version of something that the newest version replaces: statistics or thresholds of the sender."""

    name: str
    version: int
    body: bytes


ITEM_TYPES: Final[dict[str, type[Any]]] = {
    "urls": UrlItem,
    "pages": PageItem,
    "statistics": DataItem,
    "thresholds": DataItem,
    "visits": VisitReport,
    "submissions": PageItem,
}
"""What the items of each sink are."""
_LIST_TYPES: Final = {sink: list[ITEM_TYPES[sink]] for sink in SINKS}  # type: ignore[valid-type]


class BatchHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who sends what to whom."""

    network: _Name
    sender: _Name
    receiver: _Name
    sink: _Name
    lane: _Name
    number: _Number
    count: _Number
    """Number of items."""
    size: _Number
    """Of the items, decompressed, in bytes."""


class Batch(NamedTuple):
    """A batch that was checked."""

    header: BatchHeader
    items: list[Any]
    """Of the type that `ITEM_TYPES` has for the sink."""


def encode_batch(
    key: SiteKey,
    network: str,
    sender: str,
    receiver: str,
    sink: str,
    lane: str,
    number: int,
    items: Sequence[Any],
) -> bytes:
    """Return a signed batch."""
    body = msgspec.msgpack.encode(list(items))
    header = BatchHeader(network, sender, receiver, sink, lane, number, len(items), len(body))
    packed = msgspec.msgpack.encode(header)
    signed = _PREFIX.pack(_MAGIC, _VERSION, len(packed)) + packed + compress(body)
    return signed + key.sign("batch", signed)


def read_header(data: bytes) -> BatchHeader:
    """Return the header of a batch, which is not checked otherwise; raise `BadBatch` if it has none."""
    if len(data) < _PREFIX.size + _SIGNATURE_BYTES:
        raise BadBatch(f"A batch has {len(data)} bytes only.")
    magic, version, length = _PREFIX.unpack_from(data)
    if magic != _MAGIC:
        raise BadBatch("What another site has sent is not a batch.")
    if version != _VERSION:
        raise BadBatch(f"A batch has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
    if length > _MAX_HEADER or _PREFIX.size + length + _SIGNATURE_BYTES > len(data):
        raise BadBatch("The header of a batch is cut off.")
    try:
        return parse_msgpack(data[_PREFIX.size : _PREFIX.size + length], BatchHeader)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadBatch(f"The header of a batch is not readable: {error}.") from error


def decode_batch(data: bytes, topology: SiteTopology, receiver: str, max_bytes: int) -> Batch:
    """Return a batch for `receiver` after all checks; raise `BadBatch`, which says what is wrong.

    Nothing is decompressed before the signature of the sender, a site of the topology, was checked.
    """
    if len(data) > min(max_bytes, MAX_BATCH_BYTES):
        raise BadBatch(f"A batch has {len(data):,} bytes, more than the {min(max_bytes, MAX_BATCH_BYTES):,} allowed.")
    header = read_header(data)
    if header.network != topology.network or header.receiver != receiver:
        raise BadBatch(f"A batch of {header.sender} is for site {header.receiver} of another federation, or not us.")
    sender = next((site for site in topology.sites if site.name == header.sender and not site.left), None)
    if sender is None:
        raise BadBatch(f"A batch is from {header.sender}, which is not a site of this federation.")
    if not is_signed_by(sender.key, "batch", data[:-_SIGNATURE_BYTES], data[-_SIGNATURE_BYTES:]):
        raise BadBatch(f"A batch is not signed by the key of {header.sender}.")
    if header.sink not in ITEM_TYPES:
        raise BadBatch(f"A batch of {header.sender} is for a sink {header.sink}, which this Periplus does not know.")
    if header.size > max_bytes or header.count > MAX_ITEMS or header.number < 1:
        raise BadBatch(f"A batch of {header.sender} claims {header.count:,} items of {header.size:,} bytes.")
    length = _PREFIX.unpack_from(data)[2]
    return Batch(header, _decode_items(header, data[_PREFIX.size + length : -_SIGNATURE_BYTES]))


def _decode_items(header: BatchHeader, packed: bytes) -> list[Any]:
    try:
        body = decompress(packed, header.size)
        items: list[Any] = parse_msgpack(body, _LIST_TYPES[header.sink])
    except (CorruptFile, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadBatch(f"A batch of {header.sender} for {header.sink} is not readable: {error}.") from error
    if len(items) != header.count:
        raise BadBatch(f"A batch of {header.sender} has {len(items):,} items, not {header.count:,}.")
    return items
