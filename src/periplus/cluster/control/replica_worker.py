"""The worker of a replica: thin, around `ShardServer`; it restores generations of the index from storage."""

import shutil
import threading
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.cluster.control.coordinator_actor import key_path
from periplus.cluster.control.generation_store import restore_generation
from periplus.cluster.control.topology_store import read_topology_record
from periplus.cluster.control.unit_actor import UnitSpec
from periplus.cluster.serving.serving_table import format_address
from periplus.cluster.serving.shard_server import ShardServer
from periplus.cluster.wire.listening import choose_port
from periplus.cluster.wire.signing import load_key
from periplus.errors import BadInput, PeriplusError
from periplus.files import make_folder
from periplus.records import Query
from periplus.search import IndexShard, LocalShards, ShardedSearcher
from periplus.storage import open_storage
from periplus.typed_decoding import parse_msgpack

__all__ = ["GenerationCommand", "ReplicaWorker"]

_WARM_UP: Final = ("web page", "the first page of a site", '"first page" OR home -none')
_WARM_UP_MS: Final = 300_000


class GenerationCommand(msgspec.Struct, frozen=True):
    """Open or close a generation of the index."""

    generation: int
    position: int = 0
    """Of the shard among those of the generation, from 0 on."""
    owners: tuple[int, ...] = ()
    """The shards that own hosts in this generation."""
    shards: tuple[int, ...] = ()
    """The shards of the generation."""


class ReplicaWorker:
    """Serves one replica of a shard: the generation that the cluster serves, and during a switch the next one too."""

    def __init__(self, spec: UnitSpec) -> None:
        self._spec = spec
        self._storage = open_storage(spec.settings.storage.url, spec.settings.storage)
        self._lock = threading.Lock()
        self._fault = ""
        self._opened: dict[int, float] = {}
        self._closed: set[int] = set()
        """Generations that are to be closed, and whose folders are still there."""
        self._key = load_key(key_path(spec.settings))
        listen = (spec.listen_address, choose_port(spec.listen_address, spec.settings.cluster))
        self._server = ShardServer(spec.number, listen, self._key, spec.settings, self._storage)
        self._server.start()
        make_folder(spec.folder)
        self._open_served()

    def _open_served(self) -> None:
        """Open the generation that is served, and remove the folders of others."""
        topology = read_topology_record(self._storage)
        if topology is None:
            return
        for generation, shards, owners in (
            (topology.served_generation, topology.served_shards, topology.served_owners),
            (topology.generation, topology.generation_shards, topology.generation_owners),
        ):
            if generation and self._spec.number in shards:
                self._open(GenerationCommand(generation, shards.index(self._spec.number), owners, shards))
        for path in self._spec.folder.glob("generation-*"):
            if path.name not in {self._folder(generation).name for generation in self._opened}:
                shutil.rmtree(path, ignore_errors=True)

    def _folder(self, generation: int) -> Path:
        return self._spec.folder / f"generation-{generation:08d}"

    def _open(self, command: GenerationCommand) -> None:
        with self._lock:
            if command.generation in self._opened:
                return
            folder = self._folder(command.generation)
            restore_generation(self._storage, command.generation, self._spec.number, folder)
            self._warm_up(folder)
            self._server.open(command.generation, folder, command.position, command.owners, command.shards)
            self._opened[command.generation] = command.position

    def _warm_up(self, folder: Path) -> None:
        """Search the generation, so that everything that queries need is loaded before brokers ask for it."""
        limits = msgspec.structs.replace(self._spec.settings.search, budget_ms=_WARM_UP_MS)
        settings = msgspec.structs.replace(self._spec.settings, search=limits)
        searcher = ShardedSearcher(LocalShards([IndexShard(folder, settings)], encoded=True), settings)
        for words in _WARM_UP:
            query = Query(words, explain=words != _WARM_UP[0])
            searcher.search(query)  # as the only shard of a collection
            searcher.preview(query, {})  # and as one of several

    def describe(self) -> dict[str, Any]:
        """Return address, open generations and figures; remove the folders of generations that are closed."""
        health = self._server.health()
        self._remove_closed({generation.generation for generation in health.generations})
        return {
            "state": "serving" if self._opened else "empty",
            "address": format_address((self._spec.address, self._server.address[1])),
            "generations": sorted(self._opened),
            "requests": health.requests,
            "fault": self._fault,
        }

    def _remove_closed(self, still_open: set[int]) -> None:
        """Remove the folders of generations that no query uses any more."""
        if self._closed and self._lock.acquire(blocking=False):  # otherwise a generation is being opened: later
            try:
                for generation in self._closed - still_open - set(self._opened):
                    shutil.rmtree(self._folder(generation), ignore_errors=True)
                    self._closed.discard(generation)
            finally:
                self._lock.release()

    def call(self, command: str, argument: bytes) -> bytes:
        """Execute 'open' or 'close' of a generation."""
        order = parse_msgpack(argument, GenerationCommand)
        if command == "open":
            try:
                self._open(order)
                self._fault = ""
            except PeriplusError as error:
                self._fault = str(error)
                raise
        elif command == "close":
            self._server.close_generation(order.generation)
            with self._lock:
                self._opened.pop(order.generation, None)
                self._closed.add(order.generation)
        else:
            raise BadInput(f"A replica has no command {command!r}.")
        return b""

    def close(self) -> None:
        """Stop answering."""
        self._server.close()
