"""Published content between sites: one that lacks it asks those that may have it, and checks what comes by its id.

The id of content is its SHA-256, so it does not matter who sends it: bytes that are something else are refused, and the
next site is asked. What is known about the content (title, author, media type) is not covered by the id: it is what the
site says that has it, within bounds, and its id and size have to be those of the content.

Who asks for an id that nobody has must not make this site ask all others each time: few are looked up at once, and what
was not found is remembered for a while.
"""

import hashlib
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from periplus.errors import BadInput, SiteUnreachable
from periplus.sites.messaging.transport import Transport
from periplus.typed_decoding import parse_json, parse_msgpack

__all__ = ["ContentExchange", "SharedContent"]

_SUBJECT: Final = "content"
_ID: Final = re.compile("[0-9a-f]{64}")
_PART: Final = 512 << 10
MAX_CONTENT_BYTES: Final = 64 << 20
_MAX_METADATA_BYTES: Final = 256 << 10
_PART_SECONDS: Final = 10.0
_LOOKUP_SECONDS: Final = 5.0
_FETCH_SECONDS: Final = 60.0
"""For all parts of some content."""
_MAX_LOOKUPS: Final = 4
"""At a time; while there are more, content of other sites is not found."""
_MAX_MISSING: Final = 4_096
_MISSING_SECONDS: Final = 30.0
"""For which an id that no site has is not asked for again."""


class SharedContent(NamedTuple):
    """Content and what is known about it."""

    metadata: dict[str, Any]
    content: bytes


class _Question(msgspec.Struct, frozen=True, array_like=True):
    id: str
    offset: int


class _Part(msgspec.Struct, frozen=True, array_like=True):
    size: int
    """Of the whole content."""
    metadata: bytes
    """As JSON, with the first part only."""
    body: bytes


class ContentExchange:
    """Serves the content of this site to others, and finds theirs. Any thread may call it."""

    def __init__(
        self,
        transport: Transport,
        read: Callable[[str], SharedContent | None],
        alive: Callable[[], Sequence[str]],
    ) -> None:
        """Serve what `read` returns for an id; alive: the names of the other sites that are alive."""
        self._transport, self._read, self._alive = transport, read, alive
        self._lock = threading.Lock()
        self._lookups = 0
        self._missing: dict[str, float] = {}
        transport.serve(_SUBJECT, self._answer)

    def find(self, identifier: str) -> SharedContent | None:
        """Return content that another site has; None if none does, or too much is looked for at once."""
        if not _ID.fullmatch(identifier) or not self._begin(identifier):
            return None
        try:
            found = self._fetch_any(identifier)
        finally:
            with self._lock:
                self._lookups -= 1
        if found is None:
            with self._lock:
                if len(self._missing) >= _MAX_MISSING:
                    del self._missing[next(iter(self._missing))]
                self._missing[identifier] = time.monotonic()
        return found

    def _begin(self, identifier: str) -> bool:
        with self._lock:
            if time.monotonic() - self._missing.get(identifier, -_MISSING_SECONDS) < _MISSING_SECONDS:
                return False
            self._missing.pop(identifier, None)
            if self._lookups >= _MAX_LOOKUPS:
                return False
            self._lookups += 1
            return True

    def _fetch_any(self, identifier: str) -> SharedContent | None:
        """Ask all sites at once for the first part; fetch the rest from one that has it, else from the next."""
        question = msgspec.msgpack.encode(_Question(identifier, 0))
        end = time.monotonic() + _LOOKUP_SECONDS
        answers = {
            name: self._transport.submit(name, _SUBJECT, question, _LOOKUP_SECONDS) for name in sorted(self._alive())
        }
        for name, answer in answers.items():
            try:
                first = _decode_part(answer.result(max(0.0, end - time.monotonic())))
                found = self._fetch_rest(name, identifier, first) if first is not None else None
            except (SiteUnreachable, TimeoutError):
                continue
            if found is not None:
                return found
        return None

    def _fetch_rest(self, site: str, identifier: str, first: _Part) -> SharedContent | None:
        """Return content whose first part has come; None if what comes is not what its id says."""
        body, size = bytearray(first.body), first.size
        limit = time.monotonic() + _FETCH_SECONDS
        if size > MAX_CONTENT_BYTES or len(first.body) != min(_PART, size):
            return None
        while len(body) < size and time.monotonic() < limit:
            question = msgspec.msgpack.encode(_Question(identifier, len(body)))
            part = _decode_part(self._transport.request(site, _SUBJECT, question, _PART_SECONDS))
            if part is None or part.size != size or len(part.body) != min(_PART, size - len(body)):
                return None
            body += part.body
        metadata = _decode_metadata(first.metadata)
        if hashlib.sha256(body).hexdigest() != identifier or metadata is None:
            return None
        is_its = metadata.get("id") == identifier and metadata.get("bytes") == size
        return SharedContent(metadata, bytes(body)) if is_its else None

    def _answer(self, sender: str, body: bytes) -> bytes:
        """Return a part of content of this site, or b'' if it has none: it does not ask others in turn."""
        try:
            question = parse_msgpack(body[:1024], _Question)
        except msgspec.MsgspecError as error:
            raise BadInput("A request for content is not readable.") from error
        found = self._read(question.id) if _ID.fullmatch(question.id) else None
        if found is None or len(found.content) > MAX_CONTENT_BYTES:
            return b""
        offset = min(max(question.offset, 0), len(found.content))
        metadata = msgspec.json.encode(found.metadata) if not offset else b""
        return msgspec.msgpack.encode(_Part(len(found.content), metadata, found.content[offset : offset + _PART]))


def _decode_part(body: bytes) -> _Part | None:
    """Return a part that a site has sent; None if it has no such content, or sends something else."""
    try:
        return parse_msgpack(body, _Part) if body else None
    except msgspec.MsgspecError:
        return None


def _decode_metadata(body: bytes) -> dict[str, Any] | None:
    try:
        found = parse_json(body, dict[str, Any]) if len(body) <= _MAX_METADATA_BYTES else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found
