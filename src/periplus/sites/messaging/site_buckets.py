"""Key-value buckets of a site: which other sites are alive, and what services each of them has.

    liveness     SITE -> announcement; expires by itself `site.liveness_seconds` after it was heard last
    services     SITE -> announcement; the last one that was heard

They are in the NATS server of the site, in the account that does not leave it: the process that hears other sites
writes them, and any other process of the site, or an operator with a NATS client, reads and watches them.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import msgspec

from periplus.sites.messaging.liveness import SiteAnnouncement, decode_announcement
from periplus.sites.messaging.nats_config import LOCAL_ACCOUNT
from periplus.sites.messaging.nats_transport import NatsTransport, import_nats

__all__ = ["SiteBuckets"]

_LOG: Final = logging.getLogger("periplus.sites")
_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 1.0
Watcher = Callable[[str, SiteAnnouncement], None]
"""watcher(site, announcement): what a site offers has changed, or it has returned."""


class SiteBuckets:
    """The buckets of one site, over the connection of a transport."""

    def __init__(self, transport: NatsTransport, liveness_seconds: float) -> None:
        self._transport, self._ttl = transport, liveness_seconds
        self._nats = import_nats()
        self._written: dict[str, bytes] = {}

    async def _bucket(self, name: str) -> Any:
        client = await self._transport.client(LOCAL_ACCOUNT)
        stream = client.jetstream(timeout=_SECONDS)
        try:
            return await stream.key_value(name)
        except self._nats.js.errors.NotFoundError:
            ttl = self._ttl if name == "liveness" else None
            return await stream.create_key_value(bucket=name, history=1, ttl=ttl)

    def put(self, announcement: SiteAnnouncement) -> "Future[None]":
        """Note that a site was heard; return at once. A server that is down is no reason to fail."""
        return self._transport.spawn(self._put(announcement))

    async def _put(self, announcement: SiteAnnouncement) -> None:
        body = msgspec.msgpack.encode(announcement)
        # What changes with every announcement is not news for those who watch services.
        lasting = msgspec.structs.replace(announcement, time=0.0, round_trips={})
        services = msgspec.msgpack.encode(lasting)
        with contextlib.suppress(self._nats.errors.Error, OSError, TimeoutError):
            await (await self._bucket("liveness")).put(announcement.site, body)
            if self._written.get(announcement.site) != services:
                await (await self._bucket("services")).put(announcement.site, services)
                self._written[announcement.site] = services

    def alive(self) -> dict[str, SiteAnnouncement]:
        """Return the sites that are alive, from any process of this site; raise `SiteUnreachable` without a server."""
        return self._transport.run(self._read("liveness"), _SECONDS)

    async def _read(self, name: str) -> dict[str, SiteAnnouncement]:
        bucket, entries = await self._bucket(name), {}
        try:
            keys = await bucket.keys()
        except self._nats.js.errors.NoKeysError:
            return {}
        for key in keys:
            with contextlib.suppress(self._nats.js.errors.KeyNotFoundError):  # it has expired meanwhile
                announcement = decode_announcement((await bucket.get(key)).value or b"")
                if announcement is not None:
                    entries[key] = announcement
        return entries

    def watch(self, watcher: Watcher) -> "Future[None]":
        """Call a function with every change of what sites offer, until the transport is closed."""
        return self._transport.spawn(self._watch(watcher))

    async def _watch(self, watcher: Watcher) -> None:
        while True:
            try:
                updates = await (await self._bucket("services")).watchall()
                async for update in updates:
                    announcement = decode_announcement(update.value or b"") if update is not None else None
                    if announcement is not None:
                        await asyncio.to_thread(watcher, announcement.site, announcement)
            except (self._nats.errors.Error, OSError, TimeoutError) as error:
                _LOG.debug("The bucket of services is not watched: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
