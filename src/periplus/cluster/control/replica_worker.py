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
from periplus.cluster.serving.generation_switch import close_generation
from periplus.cluster.serving.shard_server import ShardServer
from periplus.cluster.wire.signing import load_key
from periplus.errors import BadInput, PeriplusError
from periplus.files import make_folder
from periplus.records import Query
from periplus.search import IndexShard, LocalShards, ShardedSearcher
from periplus.storage import open_storage

__all__ = ["GenerationCommand", "ReplicaWorker"]

_WARM_UP: Final = ("web page", "the first page of a site", '"first page" OR home -none')
_WARM_UP_MS: Final = 300_000


class GenerationCommand(msgspec.Struct, frozen=True):
    """Open or close a generation of the index."""

    generation: int
    position: int = 0
    """Of the shard among those of the generation, from 0 on."""


class ReplicaWorker:
    """Serves one replica of a shard: the generation that the cluster serves, and during a switch the next one too."""

    def __init__(self, spec: UnitSpec) -> None:
        self._spec = spec
        self._storage = open_storage(spec.settings.storage.url, spec.settings.storage)
        self._lock = threading.Lock()
        self._fault = ""
        self._opened: dict[int, float] = {}
        self._key = load_key(key_path(spec.settings))
        self._server = ShardServer(spec.number, (spec.address, 0), self._key, spec.settings, self._storage)
        self._server.start()
        make_folder(spec.folder)
        self._open_served()

    def _open_served(self) -> None:
        """Open the generation that is served, and remove the folders of others."""
        topology = read_topology_record(self._storage)
        if topology is None:
            return
        for generation, shards in (
            (topology.served_generation, topology.served_shards),
            (topology.generation, topology.generation_shards),
        ):
            if generation and self._spec.number in shards:
                self._open(GenerationCommand(generation, shards.index(self._spec.number)))
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
            self._server.open(command.generation, folder, command.position)
            self._opened[command.generation] = command.position

    def _warm_up(self, folder: Path) -> None:
        """Search the generation, so that everything that queries need is loaded before brokers ask for it."""
        limits = msgspec.structs.replace(self._spec.settings.search, budget_ms=_WARM_UP_MS)
        settings = msgspec.structs.replace(self._spec.settings, search=limits)
        searcher = ShardedSearcher(LocalShards([IndexShard(folder, settings)], encoded=True), settings)
        for words in _WARM_UP:
            searcher.search(Query(words, explain=words != _WARM_UP[0]))

    def describe(self) -> dict[str, Any]:
        """Return address, open generations and figures."""
        health = self._server.health()
        host, port = self._server.address
        return {
            "state": "serving" if self._opened else "empty",
            "address": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "generations": sorted(self._opened),
            "requests": health.requests,
            "fault": self._fault,
        }

    def call(self, command: str, argument: bytes) -> bytes:
        """Execute 'open' or 'close' of a generation."""
        order = msgspec.msgpack.decode(argument, type=GenerationCommand)
        if command == "open":
            try:
                self._open(order)
                self._fault = ""
            except PeriplusError as error:
                self._fault = str(error)
                raise
        elif command == "close":
            close_generation(self._server.address, self._key, order.generation)
            with self._lock:
                self._opened.pop(order.generation, None)
        else:
            raise BadInput(f"A replica has no command {command!r}.")
        return b""

    def close(self) -> None:
        """Stop answering."""
        self._server.close()
