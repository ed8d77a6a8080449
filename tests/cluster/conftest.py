"""One Ray cluster of two nodes on this machine for all tests that need one."""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_ray import RayTestCluster

from periplus.settings import ClusterSettings, Settings, StorageSettings


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayTestCluster]:
    """Start the cluster: it takes half a minute, so all tests that use it are in the group 'ray'."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'periplus[cluster]'")
    from echo_worker import EchoWorker, no_duties

    from periplus.cluster import make_key, new_topology
    from periplus.cluster.control.coordinator_actor import key_path, start_coordinator
    from periplus.cluster.control.local_nodes import start_local_nodes, stop_local_nodes
    from periplus.cluster.control.ray_runtime import ray_session
    from periplus.cluster.control.topology_store import create_topology
    from periplus.storage import open_storage

    folder: Path = tmp_path_factory.mktemp("ray")
    settings = Settings(
        folder=str(folder),
        storage=StorageSettings(url=(folder / "storage").as_uri()),
        cluster=ClusterSettings(heartbeat_seconds=0.2),
    )
    make_key(key_path(settings))
    create_topology(open_storage(settings.storage.url, settings.storage, create=True), new_topology(2, 1))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), before)))  # for echo_worker
    try:
        local = start_local_nodes(folder, 2)
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.__setitem__("PYTHONPATH", before)
    try:
        with ray_session(local.address, settings.cluster.name) as ray:
            factories = dict.fromkeys(("crawl", "build", "replica", "broker"), EchoWorker)
            yield RayTestCluster(ray, settings, start_coordinator(ray, settings, factories, no_duties), local)
    finally:
        stop_local_nodes(folder)
