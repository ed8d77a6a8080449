"""The worker of a build unit: graph and index of one shard, of its crawled and its published pages."""

import contextlib
import itertools
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.errors import BadInput, ClusterError, FolderInUse, NothingHere, PeriplusError
from periplus.files import make_folder, write_atomically
from periplus.storage import StoredObject
from periplus.typed_decoding import parse_json, parse_msgpack

if TYPE_CHECKING:
    from periplus.cluster import UnitSpec

__all__ = ["BuildCommand", "BuildWorker"]

_DELETED: Final = "deleted.json"
_COUNT: Final = "records.json"
"""In the folder of a build: how many records of the store it reads."""


class BuildCommand(msgspec.Struct, frozen=True):
    """A step of a build."""

    generation: int
    statistics: bytes = b""
    """The statistics of the whole collection, as JSON."""
    epoch: int = 0
    shards: tuple[int, ...] = ()
    """By which pages are divided: each shard uses those of the hosts that it owns among them."""
    rounds: str = ""
    """Name of the attempt: of the rounds in which the graph is built, and of the published pages."""
    base: int = 0
    """The generation whose published pages this one has too."""
    publications: tuple[StoredObject, ...] = ()
    """What all shards have collected for this one."""
    deleted: tuple[str, ...] = ()
    """URLs that were deleted on any shard: hosts move, and what was deleted of them has to stay so."""


class BuildWorker:
    """Builds graph and index of a shard, beside the crawl of the shard, in a folder of its own.

    Steps: 'collect' (published pages, for all shards), 'prepare' (the pages are there), 'delete' (what was deleted on
    any shard), 'graph', 'statistics' (of this shard), 'index' (with those of all shards), 'store' (the generation is in
    storage). All of them can be repeated.
    """

    def __init__(self, spec: "UnitSpec") -> None:
        from periplus.storage import open_storage

        self._spec = spec
        self._storage = open_storage(spec.settings.storage.url, spec.settings.storage)
        self._lock = threading.Lock()
        self._state = "ready"
        self._stop = threading.Event()
        self._steps: dict[str, Callable[[BuildCommand], bytes]] = {
            "collect": self._collect,
            "prepare": self._prepare,
            "delete": self._delete,
            "graph": self._build_graph,
            "statistics": self._gather_statistics,
            "index": self._build_index,
            "store": self._store,
        }

    def describe(self) -> dict[str, Any]:
        """Return which step is executed."""
        return {"state": self._state}

    def call(self, command: str, argument: bytes) -> bytes:
        """Execute a step; one at a time."""
        step = self._steps.get(command)
        if step is None:
            raise BadInput(f"A build has no step {command!r}.")
        if command in ("collect", "prepare"):
            self._stop.set()  # what an earlier attempt still waits for does not come
        with self._lock:
            self._state = command
            self._stop.clear()
            try:
                return step(parse_msgpack(argument, BuildCommand))
            finally:
                self._state = "ready"

    def close(self) -> None:
        """Do nothing: what a step has not completed is done again."""

    @property
    def _pages(self) -> Path:
        return self._spec.folder

    def _output(self, command: BuildCommand) -> Path:
        name = f"build-shard-{self._spec.number:02d}"
        return Path(self._spec.node_dir) / name / f"generation-{command.generation:08d}"

    def _collect(self, command: BuildCommand) -> bytes:
        """Store the published pages of this shard's log and of the last set by the shards that own them now."""
        from periplus.cluster import collect_publications

        scratch = self._output(command).parent / ".collection"
        collected = collect_publications(
            self._storage, self._spec.number, command.shards, command.base, command.rounds, scratch
        )
        shutil.rmtree(scratch, ignore_errors=True)
        return msgspec.msgpack.encode(collected)

    def _prepare(self, command: BuildCommand) -> bytes:
        """Restore the pages of the shard unless this node has the newest, and fix which of them the build reads.

        A crawl that runs here has the newest, and goes on: all steps read the records that there are now. Return the
        URLs that were deleted here.
        """
        from periplus.publish import DeletionList
        from periplus.storage import restore_shard
        from periplus.store import PageStore

        try:
            with contextlib.suppress(NothingHere):  # a shard that was never stored
                restore_shard(self._storage, self._spec.number, self._pages, replace=True)
        except FolderInUse as error:
            raise ClusterError(f"This node has an old copy of shard {self._spec.number}: {error.message}") from error
        output = self._output(command)
        for other in output.parent.glob("generation-*"):
            shutil.rmtree(other, ignore_errors=True)
        make_folder(output)
        make_folder(self._pages / "store")
        if command.publications:
            self._link_stores(output / "store", command)
        else:
            (output / "store").symlink_to(self._pages / "store")
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(self._pages / _DELETED, output / _DELETED)
        records = 0
        with contextlib.suppress(NothingHere), PageStore.open(output / "store", self._spec.settings.store) as store:
            store.number_records()  # while the crawl goes on, its pages follow the published ones
            records = store.statistics().records
        write_atomically(output / _COUNT, msgspec.json.encode(records))
        return msgspec.msgpack.encode(list(DeletionList(output).pages()))

    def _delete(self, command: BuildCommand) -> bytes:
        """Leave out pages that were deleted on any shard."""
        from periplus.publish import DeletionList

        self._count(command)
        DeletionList(self._output(command)).add(command.deleted)
        return b""

    def _link_stores(self, folder: Path, command: BuildCommand) -> None:
        """Make a store of the pages of the crawl, by links to its stores, and of published pages, which come last."""
        from periplus.cluster import append_collected
        from periplus.store import PageStore, shard_folder, shard_folders

        crawled = self._pages / "store"
        make_folder(folder)
        for number, path in enumerate([crawled, *shard_folders(crawled).values()], 1):
            shard_folder(folder, number).symlink_to(path)
        with contextlib.ExitStack() as stack:
            store = None
            with contextlib.suppress(NothingHere):
                store = stack.enter_context(PageStore.open(crawled, self._spec.settings.store))
            append_collected(self._storage, command.publications, folder.parent, self._spec.settings.store, store)

    def _count(self, command: BuildCommand) -> int:
        """Return how many records the build reads; raise `ClusterError` if it was not prepared here."""
        try:
            return parse_json((self._output(command) / _COUNT).read_bytes(), int)
        except (OSError, msgspec.MsgspecError) as error:
            raise ClusterError(f"Shard {self._spec.number} was not prepared for this build.") from error

    def _build_graph(self, command: BuildCommand) -> bytes:
        """Rank the pages of this shard by the links of all shards, in rounds; wait for the other shards."""
        from periplus.cluster import RoundStore, ShardRanker

        rounds = RoundStore(self._storage, command.rounds)
        ranker = ShardRanker(
            self._output(command),
            self._spec.number,
            command.shards,
            self._spec.settings.graph,
            rounds,
            records=self._count(command),
        )
        try:
            status = ranker.run(self._stop.is_set, self._stop.wait)
        finally:
            ranker.close()
        if status.statistics is None:
            raise ClusterError("The build was begun again.")
        return b""

    def _gather_statistics(self, command: BuildCommand) -> bytes:
        from periplus.index import gather_build_statistics

        with self._records(command) as (records, graph):
            return msgspec.json.encode(gather_build_statistics(records, graph))

    def _build_index(self, command: BuildCommand) -> bytes:
        from periplus.index import BuildStatistics, build_index

        statistics = parse_json(command.statistics, BuildStatistics)
        with self._records(command) as (records, graph):
            build_index(
                records, self._output(command) / "index", self._spec.settings.index, graph, statistics=statistics
            )
        return b""

    @contextlib.contextmanager
    def _records(self, command: BuildCommand) -> Any:
        """Yield the pages of the shard's hosts, without deleted ones, and their graph; None if there are no links."""
        from periplus.crawl import select_owned
        from periplus.graph import Graph
        from periplus.publish import DeletionList
        from periplus.store import PageStore

        count = self._count(command)  # a unit that has moved to another node finds no pages there: not an empty shard
        graph = None
        with contextlib.suppress(PeriplusError):
            graph = Graph.open(self._output(command) / "graph")
        with contextlib.ExitStack() as stack:
            try:
                store = stack.enter_context(PageStore.open(self._output(command) / "store", self._spec.settings.store))
                first = itertools.islice(store.records(), count)
                owned = select_owned(first, command.shards, self._spec.number)
                records = DeletionList(self._output(command)).apply_to_records(owned)
            except NothingHere:
                records = iter(())
            yield records, graph

    def _store(self, command: BuildCommand) -> bytes:
        from periplus.cluster import store_generation

        self._count(command)
        size = store_generation(
            self._storage, self._output(command), command.generation, self._spec.number, command.epoch
        )
        shutil.rmtree(self._output(command), ignore_errors=True)
        return str(size).encode()
