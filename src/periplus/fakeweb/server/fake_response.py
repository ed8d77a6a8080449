"""Responses: a status, headers and a body, or a script of bytes and pauses for misbehaving servers."""

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
    """A pause and the bytes to send after it, `times` times."""

    data: bytes
    pause: float = 0.0
    times: int = 1


@dataclass(frozen=True)
class FakeResponse:
    """One HTTP response."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    steps: tuple[ScriptStep, ...] = ()
    """If not empty, sent instead of status, headers and body."""
    end: str = "keep"
    """What happens to the connection after the response: 'keep', 'close' or 'reset'."""

    def header(self, name: str) -> str:
        """Return the value of the first header of that name (lower case), or ''."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @functools.cached_property
    def head(self) -> bytes:
        """The status line and the headers as sent."""
        return head_bytes(self.status, (*self.headers, ("Content-Length", str(len(self.body)))))

    @functools.cached_property
    def wire(self) -> bytes:
        """The whole response as sent."""
        return self.head if self.status == 304 else self.head + self.body


def head_bytes(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return a status line and headers as bytes."""
    reason = http.HTTPStatus(status).phrase
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} {reason}\r\n{lines}\r\n".encode("latin-1")


def html_response(status: int, title: str, body: str = "", headers: tuple[tuple[str, str], ...] = ()) -> FakeResponse:
    """Return a response with a small page."""
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1>\n{body}</body></html>\n"
    )
    return FakeResponse(status, (("Content-Type", "text/html; charset=utf-8"), *headers), page.encode())


class ResponseCache:
    """An LRU cache of responses, limited in bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._responses: OrderedDict[Hashable, FakeResponse] = OrderedDict()

    def get(self, key: Hashable) -> FakeResponse | None:
        """Return the cached response for `key`, and mark it as used."""
        response = self._responses.get(key)
        if response is not None:
            self._responses.move_to_end(key)
        return response

    def put(self, key: Hashable, response: FakeResponse) -> None:
        """Add a response, and evict the least recently used ones."""
        if key in self._responses:
            return
        self._responses[key] = response
        self._size += _size_of(response)
        while self._size > self._limit and self._responses:
            _, evicted = self._responses.popitem(last=False)
            self._size -= _size_of(evicted)

    @property
    def size(self) -> int:
        """Approximate size of the cached responses, in bytes."""
        return self._size


def _size_of(response: FakeResponse) -> int:
    """Return the size of a response; the body counts twice because `FakeResponse.wire` has a copy of it."""
    return 2 * len(response.body) + _OVERHEAD
