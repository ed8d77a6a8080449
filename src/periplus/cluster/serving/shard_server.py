"""The server of one replica of one shard: a process that answers brokers over framed messages.

It has one generation of the index open or more, each a data folder; brokers name the generation that they ask. Pages
that are published are written to the log of the shard in storage before they are acknowledged, and applied by every
replica (`replica_publications`).
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.cluster.serving.open_generations import OpenGenerations
from periplus.cluster.serving.publication_log import Publication, PublicationLog
from periplus.cluster.serving.replica_publications import PublicationSource
from periplus.cluster.serving.served_shard import ServedShard
from periplus.cluster.serving.shard_messages import (
    CATCH_UP,
    CLOSE_GENERATION,
    HEALTH,
    METHODS,
    OPEN_GENERATION,
    PUBLISH,
    GenerationRequest,
    PublishMessage,
    ShardHealth,
    decode_request,
    encode_reply,
)
from periplus.cluster.wire.message_server import MessageServer, PeerRequest, ServerLimits
from periplus.cluster.wire.peer_connection import PeerAddress
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import BadInput, PeriplusError
from periplus.settings import Settings
from periplus.storage import Storage
from periplus.supervision import start_supervised
from periplus.typed_decoding import parse_msgpack

__all__ = ["ShardServer"]

_LOG: Final = logging.getLogger("periplus.cluster")
_REFRESH_SECONDS: Final = 0.05
_CATCH_UP_SECONDS: Final = 2.0
_MAX_SHARD: Final = (1 << 16) - 1


class ShardServer:
    """Serves one replica of a shard until it is closed."""

    def __init__(
        self,
        shard: int,
        address: PeerAddress,
        key: ClusterKey,
        settings: Settings,
        storage: Storage | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        """Listen at an address; port 0 is any free one. storage: without it, pages cannot be published."""
        self._shard, self._settings = shard, settings
        self._storage = storage
        self._logs: dict[int, PublicationLog] = {}
        self._shares: dict[int, tuple[Sequence[int], Sequence[int]]] = {}
        """By generation, the shards that own hosts and those that are served."""
        self._generations = OpenGenerations(self._open)
        self._stopped, self._wake = threading.Event(), threading.Event()
        max_body = settings.cluster.max_message_mb << 20
        self._server = MessageServer(address, key, self._answer, limits or ServerLimits(max_body=max_body))
        self.address = self._server.address
        self._methods: dict[int, Callable[[bytes], Any]] = {
            HEALTH: lambda _: self.health(),
            OPEN_GENERATION: self._open_generation,
            CLOSE_GENERATION: self._close_generation,
            PUBLISH: self._publish,
            CATCH_UP: self._catch_up,
        }

    def start(self) -> None:
        """Begin to answer, in threads."""
        self._server.start()
        start_supervised("shard-refresh", self._refresh_loop, self._stopped)
        if self._storage is not None:
            start_supervised("shard-publications", self._catch_up_loop, self._stopped)

    def open(
        self,
        generation: int,
        folder: Path,
        position: int = 0,
        owners: Sequence[int] = (),
        served: Sequence[int] = (),
    ) -> None:
        """Open a generation beside those that are open, with what was published since it was built.

        owners: the shards that own hosts; served: those of the generation. Without them, this shard owns all hosts
        of its log.
        """
        self._shares[generation] = (owners, served)
        self._generations.open(generation, folder, position)
        self._wake.set()

    def close_generation(self, generation: int) -> None:
        """Close a generation once no query uses it."""
        self._generations.close(generation)
        self._shares.pop(generation, None)

    def close(self) -> None:
        """Stop answering, and close the index."""
        self._stopped.set()
        self._wake.set()
        self._server.close()
        self._generations.close_all()

    def health(self) -> ShardHealth:
        """Return how the server is."""
        figures = self._server.statistics()
        shards: list[ServedShard] = self._generations.shards()
        return ShardHealth(
            self._shard,
            self._generations.health(),
            figures.requests,
            figures.running,
            figures.waiting,
            figures.refused,
            figures.busy,
            max((shard.publications.count for shard in shards), default=0),
        )

    def _open(self, folder: Path, generation: int, position: int) -> tuple[ServedShard, Callable[[], None]]:
        """Open a generation; on return, its index has what is published, so that nothing withdrawn is found."""
        source = None
        if self._storage is not None:
            source = PublicationSource(self._storage, self._shard, *self._shares.get(generation, ((), ())))
        shard = ServedShard(folder, self._settings, position, source)
        try:
            shard.publications.start()
            shard.refresh()
        except BaseException:
            shard.close()
            raise
        return shard, shard.close

    def _answer(self, request: PeerRequest) -> bytes:
        """Return the response to a request of an authenticated peer."""
        name = METHODS.get(request.method)
        if name is not None:
            generation, record = decode_request(name, request.body)
            return self._generations.run(generation, lambda shard: encode_reply(shard.call(name, record)))
        method = self._methods.get(request.method)
        if method is None:
            raise BadInput(f"There is no method {request.method}.")
        return msgspec.msgpack.encode(method(request.body))

    def _open_generation(self, body: bytes) -> bool:
        request = _decode(body, GenerationRequest)
        if not request.folder:
            raise BadInput("A generation has no folder.")
        self.open(request.generation, Path(request.folder), request.position, request.owners, request.served)
        return True

    def _close_generation(self, body: bytes) -> bool:
        self.close_generation(_decode(body, GenerationRequest).generation)
        return True

    def _publish(self, body: bytes) -> int:
        """Write a publication to the log of the shard that owns it, then to the indexes here; return 0.

        If a later number than its own was claimed, return that: it has to be sent again with a higher one.
        """
        message = _decode(body, PublishMessage)
        publication = Publication(message.name, message.page)
        publication.record()  # refused before it is stored
        if self._storage is None:
            raise BadInput("Pages cannot be published here: the shard has no storage.")
        owner = message.owner if message.owner >= 0 else self._shard
        if owner > _MAX_SHARD:
            raise BadInput(f"There is no shard {owner}.")
        log = self._logs.setdefault(owner, PublicationLog(self._storage, owner))
        last = log.claim(publication)
        if last:
            return last
        log.add(publication)
        for shard in self._generations.shards():
            with contextlib.suppress(PeriplusError, OSError):  # it is durable: `catch_up` tries again
                shard.publications.apply(publication)
        return 0

    def _catch_up(self, _: bytes) -> bool:
        self._wake.set()
        return True

    def _refresh_loop(self) -> None:
        """Open what was published, and close generations that nobody uses."""
        while not self._stopped.wait(_REFRESH_SECONDS):
            for shard in self._generations.shards():
                shard.refresh()
            self._generations.sweep()

    def _catch_up_loop(self) -> None:
        """Apply what other replicas have accepted, or this one before it was ended."""
        while not self._stopped.is_set():
            self._wake.wait(_CATCH_UP_SECONDS)
            self._wake.clear()
            for shard in self._generations.shards():
                if not self._stopped.is_set():
                    shard.publications.catch_up()


def _decode(body: bytes, kind: type[Any]) -> Any:
    try:
        return parse_msgpack(body, kind)
    except msgspec.MsgspecError as error:
        raise BadInput(f"A request cannot be read: {error}") from None
