"""Messages of Chromium's DevTools protocol over two pipes: JSON objects that end in a zero byte."""

import contextlib
import os
from typing import Any, Final

import msgspec

from periplus.errors import BadInput
from periplus.typed_decoding import parse_json

__all__ = ["DevToolsPipe"]

_MAX_MESSAGE: Final = 48 << 20
"""Bytes of one message: a page as text, with what JSON adds."""
_READ: Final = 1 << 18


class DevToolsPipe:
    """Sends and receives messages; never waits."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._received, self._unsent = bytearray(), bytearray()
        self._searched = 0

    @property
    def has_unsent(self) -> bool:
        """Whether `flush` has to be called again, when there is room in the pipe."""
        return bool(self._unsent)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, as much of it as there is room for."""
        self._unsent += msgspec.json.encode(message) + b"\0"
        self.flush()

    def flush(self) -> None:
        """Send what is left; raise `BadInput` if nobody reads it any more."""
        try:
            while self._unsent:
                with memoryview(self._unsent) as view:
                    sent = os.write(self._write, view[:_READ])
                del self._unsent[:sent]
        except BlockingIOError:
            return
        except OSError as error:
            raise BadInput(f"Chromium has ended: {error.strerror}.") from None

    def receive(self) -> list[dict[str, Any]]:
        """Return the messages that have arrived; raise `BadInput` at the end, or for what is not a message."""
        ended = False
        with contextlib.suppress(BlockingIOError):
            while len(self._received) <= _MAX_MESSAGE:
                data = os.read(self._read, _READ)
                if not data:
                    ended = True
                    break
                self._received += data
        messages: list[dict[str, Any]] = []
        while (end := self._received.find(b"\0", self._searched)) >= 0:
            messages.append(_decode(bytes(self._received[:end])))
            del self._received[: end + 1]
            self._searched = 0
        self._searched = len(self._received)
        if self._searched > _MAX_MESSAGE:
            raise BadInput("Chromium sent a message that is too long.")
        if ended and not messages:
            raise BadInput("Chromium has ended.")
        return messages


def _decode(data: bytes) -> dict[str, Any]:
    try:
        return parse_json(data, dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"Chromium sent what is not a message: {error}.") from None
