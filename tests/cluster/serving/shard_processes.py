"""Shards of a small collection, and processes that serve their replicas on loopback."""

import contextlib
import functools
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from index.made_pages import Ranks, random_ranks, random_visits
from periplus.cluster import ClusterKey, ServingTable, ShardEntry, ShardServer, format_address, write_table
from periplus.index import build_index
from periplus.settings import ClusterSettings, SearchSettings, Settings
from periplus.storage import open_storage

KEY = ClusterKey(bytes(range(32)))
SETTINGS = msgspec.structs.replace(
    Settings(), search=SearchSettings(budget_ms=60_000), cluster=ClusterSettings(deadline=30.0)
)
"""Nothing is left out for want of time: kernels may have to be compiled, and the machine may be busy."""


def build_shards(folder: Path, count: int, pages: int = 60, seed: int = 1) -> list[Path]:
    """Build an index for each shard, by host; return their folders."""
    visits = random_visits(seed, pages)
    ranks = Ranks(random_ranks(seed, visits))
    hosts = sorted({visit.url.split("/")[2] for visit in visits})
    folders = []
    for shard in range(count):
        part = [visit for visit in visits if hosts.index(visit.url.split("/")[2]) % count == shard]
        folders.append(folder / f"shard-{shard:02d}")
        build_index(part, folders[-1] / "index", SETTINGS.index, ranks)
    return folders


def _serve(shard: int, folder: str, generation: int, position: int, port: int, storage: str, ready: Any) -> None:
    settings = SETTINGS
    opened = open_storage(storage, settings.storage, create=True) if storage else None
    server = ShardServer(shard, ("127.0.0.1", port), KEY, settings, opened)
    if folder:
        server.open(generation, Path(folder), position)
    server.start()
    ready.send(server.address)
    signal.pause()


@functools.cache
def _fork_server() -> ForkServerContext:
    """Start a process that loads everything once, from which replicas are forked; return its context."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cluster.serving.loaded_replica"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
        forkserver.ensure_running()
    return context


class Replica:
    """A process that serves one replica."""

    def __init__(
        self, shard: int, folder: Path | None, generation: int = 1, port: int = 0, storage: str = "", position: int = -1
    ) -> None:
        context = _fork_server()
        receiver, sender = context.Pipe(duplex=False)
        arguments = (
            shard,
            str(folder or ""),
            generation,
            shard if position < 0 else position,
            port,
            storage,
            sender,
        )
        self.process: BaseProcess = context.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        sender.close()  # so that the end of the process is seen here
        self._receiver = receiver
        self.shard = shard
        self._address: tuple[str, int] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens; waits until it does."""
        if self._address is None:
            assert self._receiver.poll(120), "the replica did not start"
            self._address = self._receiver.recv()
        return self._address

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Within the block, the process does nothing."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)


def table_of(replicas: Sequence[Replica], generation: int = 1, version: int | None = None) -> ServingTable:
    """Return the table of some replicas."""
    shards: dict[int, list[str]] = {}
    for replica in replicas:
        shards.setdefault(replica.shard, []).append(format_address(replica.address))
    entries = tuple(ShardEntry(shard, tuple(shards[shard])) for shard in sorted(shards))
    return ServingTable(version or time.time_ns(), generation, entries)


def publish_table(path: Path, replicas: Sequence[Replica], generation: int = 1) -> None:
    """Write the table of some replicas to a file."""
    write_table(path, table_of(replicas, generation))
