"""Workers that need more than package `cluster` may import: builds, and brokers with their web server."""

import contextlib
import itertools
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.app.clusters.broker_process import BrokerArguments
from periplus.app.serving.broker_server import OPENED_SUFFIX
from periplus.errors import BadInput, ClusterError, FolderInUse, NothingHere, PeriplusError
from periplus.files import make_folder, write_atomically
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.cluster import ClusterKey, Duty, RayHost, UnitSpec, WorkerFactory
    from periplus.storage import Storage

__all__ = ["BrokerWorker", "BuildCommand", "BuildWorker", "make_duties", "worker_factories"]

_STOP_SECONDS: Final = 10.0
_DELETED: Final = "deleted.json"
_COUNT: Final = "records.json"
"""In the folder of a build: how many records of the store it reads."""


def worker_factories() -> "dict[str, WorkerFactory]":
    """Return what makes the worker of each kind of unit."""
    from periplus.cluster import CrawlWorker, ReplicaWorker

    return {"crawl": CrawlWorker, "build": BuildWorker, "replica": ReplicaWorker, "broker": BrokerWorker}


def make_duties(settings: Settings, key: "ClusterKey", storage: "Storage", host: "RayHost") -> "Sequence[Duty]":
    """Return the duties of a coordinator."""
    from periplus.cluster import CrawlDuty, ServingDuty

    return CrawlDuty(settings, key, storage), ServingDuty(host, storage)


class BuildCommand(msgspec.Struct, frozen=True):
    """A step of a build."""

    generation: int
    statistics: bytes = b""
    """The statistics of the whole collection, as JSON."""
    epoch: int = 0
    shards: tuple[int, ...] = ()
    """By which pages are divided: each shard uses those of the hosts that it owns among them."""
    rounds: str = ""
    """Name of the rounds in which the graph is built."""


class BuildWorker:
    """Builds graph and index of a shard, beside the crawl of the shard, in a folder of its own.

    Steps: 'prepare' (the pages are there), 'graph', 'statistics' (of this shard), 'index' (with those of all shards),
    'store' (the generation is in storage). All of them can be repeated.
    """

    def __init__(self, spec: "UnitSpec") -> None:
        from periplus.storage import open_storage

        self._spec = spec
        self._storage = open_storage(spec.settings.storage.url, spec.settings.storage)
        self._lock = threading.Lock()
        self._state = "ready"
        self._stop = threading.Event()
        self._steps: dict[str, Callable[[BuildCommand], bytes]] = {
            "prepare": self._prepare,
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
        if command == "prepare":
            self._stop.set()  # what an earlier attempt still waits for does not come
        with self._lock:
            self._state = command
            self._stop.clear()
            try:
                return step(msgspec.msgpack.decode(argument, type=BuildCommand))
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

    def _prepare(self, command: BuildCommand) -> bytes:
        """Restore the pages of the shard unless this node has the newest, and fix which of them the build reads.

        A crawl that runs here has the newest, and goes on: all steps read the records that there are now.
        """
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
        (output / "store").symlink_to(self._pages / "store")
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(self._pages / _DELETED, output / _DELETED)
        records = 0
        with contextlib.suppress(NothingHere), PageStore.open(output / "store", self._spec.settings.store) as store:
            records = store.statistics().records
        write_atomically(output / _COUNT, msgspec.json.encode(records))
        return b""

    def _count(self, command: BuildCommand) -> int:
        """Return how many records the build reads; raise `ClusterError` if it was not prepared here."""
        try:
            return msgspec.json.decode((self._output(command) / _COUNT).read_bytes(), type=int)
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

        statistics = msgspec.json.decode(command.statistics, type=BuildStatistics)
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


class BrokerWorker:
    """Runs a broker with its web server in a child process; starts it again when it ends."""

    def __init__(self, spec: "UnitSpec") -> None:
        self._spec = spec
        folder = Path(spec.node_dir) / f"broker-{spec.number:02d}"
        make_folder(folder)
        self._folder, self._table, self._ready = folder, folder / "serving.json", folder / "ready"
        self._opened = self._table.with_suffix(OPENED_SUFFIX)
        self._ready.unlink(missing_ok=True)
        self._version = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._restarts = -1
        # Children end with the thread that started them.
        self._thread = threading.Thread(target=self._keep_running, name="broker", daemon=True)
        self._thread.start()

    def describe(self) -> dict[str, Any]:
        """Return the URL, and the version of the table that the broker has."""
        pid, _, url = self._read_ready()
        process = self._process
        is_ready = process is not None and process.poll() is None and pid == str(process.pid)
        return {
            "state": "serving" if is_ready else "starting",
            "url": url if is_ready else "",
            "table": self._read_opened() if is_ready else 0,
            "process": process.pid if process is not None else 0,
            "restarts": max(0, self._restarts),
        }

    def _read_ready(self) -> tuple[str, str, str]:
        try:
            return self._ready.read_text().partition(" ")
        except OSError:
            return "", "", ""

    def _read_opened(self) -> int:
        """Return the version of the table that queries are answered by, as the process has written it."""
        try:
            return int(self._opened.read_text())
        except (OSError, ValueError):
            return 0

    def call(self, command: str, argument: bytes) -> bytes:
        """Execute 'table': write the serving table, which the broker reads again."""
        from periplus.cluster import decode_table

        if command != "table":
            raise BadInput(f"A broker has no command {command!r}.")
        table = decode_table(argument, "the serving table")
        with self._lock:
            if table.version > self._version:
                write_atomically(self._table, argument)
                self._version = table.version
        return b""

    def _keep_running(self) -> None:
        while not self._stopped.wait(0.1):
            if self._version and (self._process is None or self._process.poll() is not None):
                self._start()
            self._stopped.wait(0.1)

    def _start(self) -> None:
        import os

        from periplus.cluster import key_path

        change = msgspec.structs.replace
        settings = self._spec.settings
        serve = change(settings.serve, port=settings.serve.port + self._spec.number if settings.serve.port else 0)
        self._ready.unlink(missing_ok=True)
        self._opened.unlink(missing_ok=True)
        arguments = BrokerArguments(
            settings.folder,
            change(settings, serve=serve),
            str(self._table),
            str(key_path(settings)),
            str(self._ready),
            os.getpid(),
        )
        with (self._folder / "broker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "periplus.app.clusters.broker_process"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(msgspec.json.encode(arguments))
        self._process = process
        self._restarts += 1

    def close(self) -> None:
        """Stop the web server; requests under way are answered."""
        self._stopped.set()
        self._thread.join(_STOP_SECONDS)
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
