"""One worker as the crawl sees it: a socket that is never waited for, and the document at its other end."""

import signal
import socket
import time
from typing import Final

import msgspec

from periplus.errors import BadInput
from periplus.parse.formats.thumbnail import is_thumbnail
from periplus.parse.sandbox.page_validation import check_page
from periplus.parse.sandbox.parse_job import FRAME, MAX_REPLY, MEMORY_FAULT, ParseJob, ParseReply, WorkerReady
from periplus.typed_decoding import msgpack_decoder

__all__ = ["Ticket", "WorkerChannel"]

_CHUNK: Final = 1 << 20
_NEARLY: Final = 0.7
_REPLIES: Final = msgpack_decoder(ParseReply)
_READY: Final = msgpack_decoder(WorkerReady)


class Ticket(msgspec.Struct):
    """A document that waits or is being parsed."""

    number: int
    job: ParseJob
    attempts: int = 0


class WorkerChannel:
    """The connection to one worker. What it sends is bounded, decoded strictly and checked."""

    def __init__(self, number: int, channel: socket.socket) -> None:
        channel.setblocking(False)
        self.number = number
        self.socket = channel
        self.ticket: Ticket | None = None
        """The document that it parses."""
        self.mechanisms: tuple[str, ...] | None = None
        """What limits it; None before it is ready."""
        self.started = time.monotonic()
        """When it was started, or when it got its document."""
        self.reported_slow = False
        self.kill_reason = ""
        """Why it was killed, if it was."""
        self.at_end = False
        """Whether it has closed its end."""
        self.is_ending = False
        """Whether it has announced that it ends."""
        self.exit_status: int | None = None
        self.peak_kb = 0
        self._first_mb = 0.0
        self._unsent = memoryview(b"")
        self._received = bytearray()

    @property
    def used_mb(self) -> float:
        """The peak of the memory that its documents took; known at its end."""
        return self.peak_kb / 1024 - self._first_mb

    @property
    def is_idle(self) -> bool:
        """Whether it can get a document."""
        idle = self.mechanisms is not None and self.ticket is None
        return idle and not (self.is_ending or self.at_end or self.kill_reason or self.exit_status is not None)

    @property
    def has_unsent(self) -> bool:
        """Whether a part of its document is still to be sent."""
        return bool(self._unsent)

    def assign(self, ticket: Ticket) -> None:
        """Hand a document to the worker."""
        ticket.attempts += 1
        self.ticket, self.started, self.reported_slow = ticket, time.monotonic(), False
        message = msgspec.msgpack.encode(ticket.job)
        self._unsent = memoryview(FRAME.pack(len(message)) + message)
        self.send()

    def send(self) -> None:
        """Send as much of the document as the socket has room for."""
        try:
            while self._unsent:
                self._unsent = self._unsent[self.socket.send(self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = memoryview(b"")  # the worker has ended: reading says so

    def receive(self) -> ParseReply | None:
        """Read what has arrived; return the reply if it is complete.

        Raise `BadInput` for what no worker sends that is still in control of itself.
        """
        while len(self._received) < FRAME.size + MAX_REPLY:
            try:
                piece = self.socket.recv(_CHUNK)
            except BlockingIOError:
                break
            except OSError:
                piece = b""
            if not piece:
                self.at_end = True
                break
            self._received += piece
        return self._next_message()

    def _next_message(self) -> ParseReply | None:
        if len(self._received) < FRAME.size:
            return None
        length = FRAME.unpack_from(self._received)[0]
        if length > MAX_REPLY:
            raise BadInput("gives more than can be read")
        if len(self._received) < FRAME.size + length:
            return None
        message = bytes(self._received[FRAME.size : FRAME.size + length])
        del self._received[: FRAME.size + length]
        try:
            if self.mechanisms is None:
                ready = _READY.decode(message)
                self.mechanisms, self._first_mb = ready.mechanisms[:8], ready.resident_mb
                return None
            if self.ticket is None or self._received or self._unsent:
                raise BadInput("answers what was not asked")
            reply = _REPLIES.decode(message)
            job = self.ticket.job
            if reply.page is not None:
                check_page(reply.page, job.result.request.address.url, job.settings)
            if not is_thumbnail(reply.image):
                raise BadInput("The thumbnail is none.")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, BadInput) as error:
            raise BadInput(f"gives an invalid page: {error}"[:200]) from None
        self.is_ending = reply.is_last
        return ParseReply(reply.page, reply.fault[:200], image=reply.image)

    def describe_end(self, memory_mb: int) -> str:
        """Return why the worker, which may use so much memory, has ended without a reply."""
        if self.kill_reason:
            return self.kill_reason
        status = self.exit_status or 0
        number = status & 0x7F
        if number == signal.SIGXCPU:
            return "needs more seconds than parse.max_seconds"
        if status and self.used_mb > _NEARLY * memory_mb:
            # Libraries in C abort when they get no memory.
            return MEMORY_FAULT
        if number == signal.SIGKILL:
            return "was killed, probably for lack of memory"
        if number:
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            return f"ended its parser by {name}"
        return f"ended its parser with status {status >> 8}"
