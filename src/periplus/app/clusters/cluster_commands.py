"""What `periplus cluster` does: start a cluster or join one, crawl, build, serve, resize, report and stop."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from periplus.app.clusters.cluster_workers import make_duties, worker_factories
from periplus.app.clusters.generation_build import GenerationBuild, build_generation
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadInput, ClusterError, NothingHere
from periplus.files import make_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.cluster import ClusterClient, RayHost
    from periplus.storage import Storage

__all__ = ["ClusterSession", "cluster_down", "cluster_up", "is_complete", "join_cluster", "with_storage"]

_READY_SECONDS: Final = 600.0
_POLL_SECONDS: Final = 0.5


class ClusterSession(NamedTuple):
    """A connection to a cluster that runs."""

    ray: Any
    client: "ClusterClient"
    host: "RayHost"
    storage: "Storage"
    settings: Settings
    observer: Observer

    def crawl(
        self, seeds: Sequence[str] = (), on_progress: Callable[[dict[str, Any]], None] = lambda status: None
    ) -> dict[str, Any]:
        """Crawl until nothing is left or a limit is reached; return the last status.

        If this is interrupted, the crawl goes on: `stop_crawl` ends it.
        """
        self.start_crawl(seeds)
        while True:
            status = self.client.status()
            on_progress(status)
            if status.get("crawl", {}).get("is_done") or not status["crawling"]:
                break
            if fault := _crawl_fault(status):
                raise ClusterError(f"The crawl has failed: {fault}")
            time.sleep(_POLL_SECONDS)
        self.stop_crawl()
        return status

    def start_crawl(self, seeds: Sequence[str] = ()) -> None:
        """Begin or continue the crawl; it runs until `stop_crawl`."""
        from periplus.app.jobs.crawl_runner import check_seeds

        check_seeds(seeds)
        topology = self.client.topology()
        every = tuple(dict.fromkeys((*topology.seeds, *seeds)))
        if not every:
            raise BadInput("There is nothing to crawl.", "Name a seed: periplus cluster crawl URL.")
        self.client.update(crawling=True, seeds=every)

    def stop_crawl(self) -> None:
        """Stop the crawl, and wait until what it has done is in storage."""
        self.client.update(crawling=False)
        self.client.wait(
            lambda status: not any(unit.kind == "crawl" for unit in self.host.units()), "stopped", _READY_SECONDS
        )

    def build(self) -> GenerationBuild:
        """Build an index of all pages, and serve it where replicas run."""
        return build_generation(self.client, self.host, self.storage, self.observer)

    def serve(self, seconds: float = _READY_SECONDS) -> list[str]:
        """Start replicas and brokers; return the URLs of the brokers once all of them serve the last index."""
        if not self.client.topology().generation:
            raise NothingHere("There is no index to serve.", "Build one: periplus cluster index.")
        self.client.update(serving=True)
        self.wait_complete(seconds)
        return self.broker_urls()

    def wait_complete(self, seconds: float = _READY_SECONDS) -> dict[str, Any]:
        """Wait until nothing is missing and brokers ask for the last generation; return the status."""
        return self.client.wait(is_complete, "complete", seconds)

    def broker_urls(self) -> list[str]:
        """Return the URLs of the brokers that serve."""
        units = self.client.status()["units"].values()
        urls = [unit["description"].get("url", "") for unit in units if unit["kind"] == "broker"]
        return [url for url in urls if url]

    def resize(self, shards: int) -> None:
        """Change the number of shards of the crawl that runs; return when hosts have moved."""
        current = self.client.topology().owner_numbers
        if shards < len(current):
            wanted = list(current[:shards])
        else:
            free = (number for number in range(1 << 16) if number not in current)
            wanted = sorted([*current, *(next(free) for _ in range(shards - len(current)))])
        self.client.resize(wanted)
        self.client.wait(
            lambda status: all(shard["state"] == "active" for shard in status["shards"]), "resized", _READY_SECONDS
        )


def _crawl_fault(status: dict[str, Any]) -> str:
    """Return why the crawl cannot go on, or ''."""
    shards = status.get("crawl", {}).get("shards", {})
    faults = [f"shard {number}: {shard['fault']}" for number, shard in shards.items() if shard["state"] == "failed"]
    return "; ".join(faults)


def is_complete(status: dict[str, Any]) -> bool:
    """Return whether every unit runs, and brokers ask all replicas for the last generation."""
    table = status.get("table")
    if status["missing"] or not status["units"] or table is None or table["generation"] != status["generation"]:
        return False
    brokers = [unit["description"] for unit in status["units"].values() if unit["kind"] == "broker"]
    return all(len(shard["replicas"]) == status["replicas"] for shard in table["shards"]) and all(
        broker.get("url") and broker.get("table") == table["version"] for broker in brokers
    )


def with_storage(settings: Settings) -> Settings:
    """Return settings with the URL of a storage: without one, on a single machine, a folder in the data folder."""
    if settings.storage.url:
        return settings
    if settings.cluster.address:
        raise BadInput(
            "A cluster of several machines needs storage that all of them reach.",
            "Set storage.url: s3://bucket/prefix, or file:///folder of a shared disk.",
        )
    url = (Path(settings.folder).resolve() / "storage").as_uri()
    return msgspec.structs.replace(settings, storage=msgspec.structs.replace(settings.storage, url=url))


@contextlib.contextmanager
def cluster_up(settings: Settings, observer: Observer = SILENT, *, respawn: float = 0.0) -> Iterator[ClusterSession]:
    """Start a cluster, or join the one that runs, for the block; it runs on after it.

    respawn: on this machine, the seconds after which a node that died is replaced; 0 is never.
    """
    from periplus.cluster import (
        create_topology,
        key_path,
        make_key,
        new_topology,
        start_coordinator,
        start_local_nodes,
    )
    from periplus.storage import open_storage

    settings = with_storage(settings)
    folder = Path(settings.folder)
    make_folder(folder, 0o700)
    make_key(key_path(settings))
    storage = open_storage(settings.storage.url, settings.storage, create=True)
    cluster = settings.cluster
    create_topology(
        storage, msgspec.structs.replace(new_topology(cluster.shards, cluster.replicas), brokers=cluster.brokers)
    )
    if not cluster.address:
        observer.message(f"Starting Ray with {cluster.nodes} nodes on this machine.")
        start_local_nodes(folder, cluster.nodes, respawn=respawn)
    with _connect(settings) as ray:
        observer.message("Starting the coordinator.")
        client = start_coordinator(ray, _resolve(settings), worker_factories(), make_duties)
        client.wait(lambda status: bool(status["nodes"]), "ready", _READY_SECONDS)
        yield _session(ray, client, storage, settings, observer)


@contextlib.contextmanager
def join_cluster(settings: Settings, observer: Observer = SILENT) -> Iterator[ClusterSession]:
    """Join the cluster that runs, for the block; raise `NothingHere` if none does."""
    from periplus.cluster import ClusterClient
    from periplus.storage import open_storage

    settings = with_storage(settings)
    with _connect(settings) as ray:
        client = ClusterClient.find(ray)
        client.check_version()
        storage = open_storage(settings.storage.url, settings.storage)
        yield _session(ray, client, storage, settings, observer)


def _session(
    ray: Any, client: "ClusterClient", storage: "Storage", settings: Settings, observer: Observer
) -> ClusterSession:
    from periplus.cluster import RayHost

    return ClusterSession(ray, client, RayHost(ray, settings, worker_factories()), storage, settings, observer)


def _resolve(settings: Settings) -> Settings:
    """Return settings whose paths do not depend on the current folder, which other processes do not share."""
    change = msgspec.structs.replace
    hosts_file = settings.fetch.hosts_file
    fetch = change(settings.fetch, hosts_file=str(Path(hosts_file).resolve()) if hosts_file else "")
    return change(settings, folder=str(Path(settings.folder).resolve()), fetch=fetch)


@contextlib.contextmanager
def _connect(settings: Settings) -> Iterator[Any]:
    """Join the Ray cluster: that of `cluster.address`, or the one on this machine."""
    from periplus.cluster import ray_session, read_local_cluster

    address = settings.cluster.address
    if not address:
        local = read_local_cluster(Path(settings.folder))
        if local is None:
            raise NothingHere("No cluster runs on this machine for this folder.", "Start one: periplus cluster up.")
        address = local.address
    with ray_session(address, settings.cluster.name) as ray:
        yield ray


def cluster_down(settings: Settings, observer: Observer = SILENT) -> None:
    """Stop all units in an orderly way, the coordinator, and Ray if it was started on this machine by `cluster_up`."""
    from periplus.cluster import stop_local_nodes

    with join_cluster(settings, observer) as session:
        session.client.update(crawling=False, serving=False, building=False)
        session.client.wait(lambda status: not session.host.units(), "stopped", _READY_SECONDS)
        session.client.stop()
    if not settings.cluster.address:
        stop_local_nodes(Path(settings.folder))
