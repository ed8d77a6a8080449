"""The records that crawl shards and their coordinator send each other, and their encoding.

Messages of a sender are numbered: the number of its process in the upper bits (the incarnation, which the coordinator
assigns and never assigns twice), a counter in the lower 40. Numbers of one sender therefore only grow, on whatever
machine it is started again.
"""

import zlib
from typing import Final

import msgspec

from periplus.crawl import CrawlStatus, TransferMessage
from periplus.errors import CorruptFile
from periplus.typed_decoding import parse_msgpack

__all__ = [
    "COUNTER_BITS",
    "MAX_BODY",
    "Envelope",
    "MailReply",
    "MailState",
    "ShardPlan",
    "ShardReport",
    "decode_message",
    "encode_message",
]

MAX_BODY: Final = 16 << 20
"""Bytes of one HTTP request."""
_MAX_MESSAGE: Final = 64 << 20
"""Bytes of one message after decompression."""
COUNTER_BITS: Final = 40


class Envelope(msgspec.Struct, frozen=True):
    """What a sender posts: one message, or, with number 0, only the question how far the receiver is."""

    sender: int
    receiver: int
    epoch: int
    """The topology by which the message was routed."""
    number: int = 0
    previous: int = 0
    """Number of the message before this one; 0 if the receiver has stored all earlier ones for good."""
    is_transfer: bool = False
    body: bytes = b""


class ShardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator wants of a shard."""

    term: int = 0
    """Grows with every coordinator: what an earlier one wants no longer counts."""
    incarnation: int = 0
    """Number of the process; 0 before the coordinator has assigned one."""
    instance: str = ""
    """The process that the incarnation was assigned to."""
    epoch: int = 1
    """Number of the topology: the shards that own hosts, and those that owned them in the epoch before."""
    shards: tuple[int, ...] = (0,)
    previous: tuple[int, ...] = ()
    addresses: dict[int, str] = {}
    """'host:port' of the mailbox of each shard."""
    seeds: tuple[str, ...] = ()
    quota: int = 0
    paused: bool = False
    stopped: bool = False
    forwards: bool = False
    """Whether to forward the pages of hosts that have moved: all hosts have arrived."""
    lease: float = 30.0
    """Seconds for which the plan holds; a shard that hears nothing for longer starts no more requests."""


class MailReply(msgspec.Struct, frozen=True):
    """How far the receiver is with the messages of a sender."""

    state: str
    """'accepted', 'duplicate', 'gap' (an earlier message is missing), 'full', 'waiting' (the receiver does not know the
    topology yet) or 'status'."""
    received: int = 0
    """Number of the last message on its disk."""
    committed: int = 0
    """Number of the last message that will survive the loss of its machine: the sender may delete it."""
    epoch: int = 0
    plan: ShardPlan | None = None
    """The receiver's plan, if the topology of the message is older."""


class ShardReport(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a shard at one moment."""

    number: int
    instance: str
    incarnation: int = 0
    serial: int = 0
    """Grows with every report of a process."""
    epoch: int = 0
    settled: int = 0
    """The last epoch whose hosts have all arrived and are in a durable checkpoint."""
    forwarded: int = 0
    """The last epoch for which all pages of hosts that moved away are in durable checkpoints of their new owners."""
    address: str = ""
    state: str = "waiting"
    """That of `CrawlStatus`, or 'waiting' (for a plan), 'moving' (hosts), 'failed'."""
    is_drained: bool = False
    """Of a shard that is removed: whether it has nothing left, here or on the way."""
    status: CrawlStatus | None = None
    written: dict[int, int] = {}
    """By receiver: number of the last message."""
    processed: dict[int, int] = {}
    """By sender: number of the last message that the state reflects."""
    seeds: tuple[str, ...] = ()
    fault: str = ""


class MailState(msgspec.Struct):
    """What a snapshot contains about messages: it changes atomically with the frontier."""

    epoch: int = 0
    shards: tuple[int, ...] = ()
    previous: tuple[int, ...] = ()
    awaiting: list[int] = []
    """Shards whose hosts have not arrived yet."""
    written: dict[int, int] = {}
    processed: dict[int, int] = {}
    forward_next: int = 0
    """Of the store's records up to `forward_end`, the first that is not in the outbox for the owner of its host."""
    forward_end: int = 0
    forward_last: dict[int, int] = {}
    """By receiver: number of the last message with such records."""


def encode_message(message: TransferMessage) -> bytes:
    """Return a message as compressed bytes."""
    return zlib.compress(msgspec.msgpack.encode(message), 1)


def decode_message(data: bytes, name: str) -> TransferMessage:
    """Return the message in `data`; raise `CorruptFile`, with `name`, if it is none or too large."""
    try:
        engine = zlib.decompressobj()
        body = engine.decompress(data, _MAX_MESSAGE)
        if engine.unconsumed_tail or not engine.eof:
            raise CorruptFile(f"{name} is damaged: it is cut off, or longer than {_MAX_MESSAGE:,} bytes.")
        return parse_msgpack(body, TransferMessage)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{name} is damaged: {error}.") from error
