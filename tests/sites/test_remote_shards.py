"""Requests to the shards of other sites that are never answered."""

from concurrent.futures import Future
from typing import Any

from periplus.sites.exchange.remote_shards import TransportSites


class ClosedTransport:
    """Cancels every request, as a connection does that is closed while sites are asked."""

    def submit(self, site: str, subject: str, body: bytes, deadline: float) -> "Future[bytes]":
        future: Future[bytes] = Future()
        future.cancel()
        return future


def test_a_site_whose_request_was_cancelled_is_missing() -> None:
    transport: Any = ClosedTransport()
    assert TransportSites(transport, ("a", "b"), lambda name: True).call("describe", {1: None}, 0.1) == {}
