"""Signed requests to the mailbox of a shard, over a connection that stays open."""

import contextlib
import http.client
from typing import Final, NamedTuple

from periplus.cluster.crawling.mailbox_server import request_purpose
from periplus.cluster.wire.signing import SIGNATURE_HEADER, ClusterKey, read_header, sign_header
from periplus.errors import PeerFailed, Unauthenticated, WrongVersion

__all__ = ["MailboxAnswer", "MailboxClient"]

_MAX_ANSWER: Final = 16 << 20
_MAX_RETRY_AFTER: Final = 60.0


class MailboxAnswer(NamedTuple):
    """The answer of a mailbox."""

    status: int
    """200; 429 or 503 if the peer is too busy."""
    body: bytes
    retry_after: float
    """Seconds to wait before the next attempt, if the peer is too busy."""


class MailboxClient:
    """Posts to the mailbox of one shard."""

    def __init__(self, number: int, key: ClusterKey, address: str, timeout: float = 30.0) -> None:
        self._number, self._key, self.address = number, key, address
        host, _, port = address.rpartition(":")
        self._connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=timeout)
        self.sent_bytes = 0

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._connection.close()

    def post(self, path: str, body: bytes) -> MailboxAnswer:
        """Return the signed answer to a body, or that the peer is too busy (429, 503).

        Raise `PeerFailed`, `Unauthenticated` or `WrongVersion`.
        """
        try:
            return self._exchange(path, request_purpose(self._number, path), body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise PeerFailed(f"Shard {self._number} at {self.address} does not answer: {error}.") from error
        except BaseException:
            self.close()
            raise

    def _exchange(self, path: str, purpose: str, body: bytes) -> MailboxAnswer:
        try:
            response, nonce = self._request(path, purpose, body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The peer has closed an idle connection. A message that arrived all the same is recognised as a duplicate.
            self.close()
            response, nonce = self._request(path, purpose, body)
        answer = response.read(_MAX_ANSWER + 1)
        self.sent_bytes += len(body)
        text, given = answer[:300].decode("utf-8", "replace"), response.headers.get(SIGNATURE_HEADER)
        if response.status == 426:
            raise WrongVersion(text)
        if response.status == 401:
            raise Unauthenticated(text)
        if response.status not in (200, 429, 503) or len(answer) > _MAX_ANSWER:
            raise PeerFailed(f"Shard {self._number} at {self.address} answered {response.status} {text}.")
        if response.status == 503 and given is None:
            return MailboxAnswer(503, b"", 1.0)
        read_header(self._key, f"answer to {purpose} {response.status}", given, answer, None, context=nonce)
        retry_after = response.headers.get("Retry-After", "")
        seconds = min(float(retry_after), _MAX_RETRY_AFTER) if retry_after.isascii() and retry_after.isdigit() else 0.0
        return MailboxAnswer(response.status, answer, seconds)

    def _request(self, path: str, purpose: str, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request, signed now; return the response and the nonce of the request."""
        if self._connection.sock is None:
            self._connection.connect()  # which sets TCP_NODELAY
        signature = sign_header(self._key, purpose, body)
        headers = {SIGNATURE_HEADER: signature, "Content-Type": "application/octet-stream"}
        self._connection.request("POST", path, body, headers)
        return self._connection.getresponse(), bytes.fromhex(signature.split(" ")[3])
