"""What the server answers: a status, headers and a body, or a script of bytes and pauses for servers that misbehave."""

import functools
import http
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

__all__ = ["FakeResponse", "ResponseCache", "ScriptStep", "html_response"]

_OVERHEAD: Final = 512


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """Wait, then send some bytes, so many times."""

    data: bytes
    pause: float = 0.0
    times: int = 1


@dataclass(frozen=True)
class FakeResponse:
    """One answer."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    steps: tuple[ScriptStep, ...] = ()
    """When there are any, they are sent as they are, instead of status, headers and body."""
    end: str = "keep"
    """What happens to the connection afterwards: 'keep', 'close' or 'reset'."""

    def header(self, name: str) -> str:
        """Give the first header of that name (lower case), or ''."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @functools.cached_property
    def head(self) -> bytes:
        """The status line and the headers as they go over the wire."""
        return head_bytes(self.status, (*self.headers, ("Content-Length", str(len(self.body)))))

    @functools.cached_property
    def wire(self) -> bytes:
        """The whole answer as it goes over the wire."""
        return self.head if self.status == 304 else self.head + self.body


def head_bytes(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Write a status line and headers."""
    reason = http.HTTPStatus(status).phrase
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} {reason}\r\n{lines}\r\n".encode("latin-1")


def html_response(status: int, title: str, body: str = "", headers: tuple[tuple[str, str], ...] = ()) -> FakeResponse:
    """Answer with a small page."""
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1>\n{body}</body></html>\n"
    )
    return FakeResponse(status, (("Content-Type", "text/html; charset=utf-8"), *headers), page.encode())


class ResponseCache:
    """The answers used last, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[Hashable, FakeResponse] = OrderedDict()

    def get(self, key: Hashable) -> FakeResponse | None:
        """Give the answer kept under `key`, and count it as used."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Hashable, response: FakeResponse) -> None:
        """Keep an answer, and drop the ones not used for longest."""
        if key in self._kept:
            return
        self._kept[key] = response
        self._size += _weight(response)
        while self._size > self._limit and self._kept:
            _, dropped = self._kept.popitem(last=False)
            self._size -= _weight(dropped)

    @property
    def size(self) -> int:
        """Bytes kept, about."""
        return self._size


def _weight(response: FakeResponse) -> int:
    """Count the body twice: `FakeResponse.wire` keeps it a second time."""
    return 2 * len(response.body) + _OVERHEAD
