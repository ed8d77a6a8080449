"""The index of another site as a shard: requests and replies of `search.SHARD_METHODS` over a transport.

request     name of the method (one byte for its length, then ASCII), record
reply       record, compressed
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any, Final

import msgspec

from periplus.errors import BadInput, CorruptFile, SiteUnreachable
from periplus.search import SHARD_METHODS, Shard, decode_record, encode_record
from periplus.sites.forwarding import SiteReply
from periplus.sites.messaging.transport import Transport
from periplus.store import compress, decompress

__all__ = ["TransportSites", "serve_shard"]

_SUBJECT: Final = "shard"
_MAX_REPLY: Final = 256 << 20
_LEVEL: Final = 1
_SLOW: Final = frozenset(("describe", "dictionary"))
"""Methods that learn what a site has; a query does not wait for them."""
_SLOW_SECONDS: Final = 10.0


class TransportSites:
    """Sends requests to the shards of other sites, all at the same time; implements `RemoteSites`."""

    def __init__(self, transport: Transport, names: Sequence[str], is_alive: Callable[[str], bool]) -> None:
        """names: of all sites, by number; is_alive: whether a site is to be asked at all."""
        self._transport, self._names, self._is_alive = transport, tuple(names), is_alive

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, SiteReply]:
        """Send each site its request; return the replies by site. Sites that are not alive, or late, are missing."""
        if method in _SLOW:
            seconds = max(seconds, _SLOW_SECONDS)
        began = time.monotonic()
        futures = {}
        for number, request in requests.items():
            name = self._names[number]
            if self._is_alive(name):
                body = bytes([len(method)]) + method.encode("ascii") + encode_record(request)
                future = self._transport.submit(name, _SUBJECT, body, seconds)
                ended: list[float] = []
                future.add_done_callback(lambda done, ended=ended: ended.append(time.monotonic()))  # type: ignore[misc]
                futures[number] = (future, ended)
        replies: dict[int, SiteReply] = {}
        for number, (future, ended) in futures.items():
            # A request is cancelled when this site closes its connection meanwhile.
            with contextlib.suppress(SiteUnreachable, TimeoutError, CancelledError, CorruptFile, msgspec.MsgspecError):
                packed = future.result(max(0.0, began + seconds - time.monotonic()) + 0.05)
                reply = decode_record(decompress(packed, _MAX_REPLY), SHARD_METHODS[method].reply)
                replies[number] = SiteReply(reply, (ended[0] if ended else time.monotonic()) - began)
        return replies


def serve_shard(transport: Transport, shard: Callable[[], Shard | None]) -> None:
    """Answer the requests of other sites for the shard of this one; `shard` returns None while there is no index."""

    def answer(sender: str, body: bytes) -> bytes:
        method = body[1 : 1 + body[0]].decode("ascii", "replace") if body else ""
        types = SHARD_METHODS.get(method)
        current = shard()
        if types is None or current is None:
            raise BadInput(f"There is no method {method[:20]!r} here." if current else "There is no index yet.")
        try:
            request = decode_record(body[1 + body[0] :], types.request)
        except msgspec.MsgspecError as error:
            raise BadInput(f"A request for {method} is not readable: {error}.") from error
        reply = getattr(current, method)(request)
        return compress(encode_record(reply), _LEVEL)

    transport.serve(_SUBJECT, answer)
