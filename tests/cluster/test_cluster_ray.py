"""Units as Ray actors: started on different nodes, called, killed, moved when their node dies, stopped."""

import os
import signal
from pathlib import Path

import pytest
from local_ray import RayTestCluster

from conditions import wait_until
from periplus.cluster.control.coordinator_actor import ClusterClient
from periplus.cluster.control.local_nodes import read_local_cluster, start_local_nodes, stop_local_nodes
from periplus.cluster.control.placement import Unit
from periplus.cluster.control.ray_host import RayHost
from periplus.cluster.control.ray_runtime import connect_ray, load_ray
from periplus.cluster.control.topology_store import TopologyStore
from periplus.errors import BadInput, ClusterError, CoordinatorConflict, MissingPart, NothingHere
from periplus.storage import open_storage

pytestmark = pytest.mark.xdist_group("ray")
SECONDS = 180.0


@pytest.mark.slow
def test_units_survive_their_processes_the_coordinator_and_a_node(ray_cluster: RayTestCluster) -> None:
    """One test, since every step needs the one before it, and a cluster takes long to start."""
    ray, client = ray_cluster.ray, ray_cluster.client
    client.update(crawling=True, serving=True)
    client.publish(1, 1, [0])
    status = client.wait(lambda status: status["units"] and not status["missing"], "complete", SECONDS)
    units = status["units"]
    assert sorted(units) == ["broker-00", "crawl-00", "crawl-01", "replica-00-0"]
    assert {unit["label"] for unit in units.values()} == {"node-0", "node-1"}
    assert all(unit["description"]["folder"].split("/")[-2] == unit["label"] for unit in units.values())

    host = RayHost(ray, ray_cluster.settings, {})
    answers = host.call_all({Unit("crawl", number): b"%d" % number for number in range(2)}, "echo")
    assert answers == {Unit("crawl", 0): b"0", Unit("crawl", 1): b"1"}
    with pytest.raises(BadInput, match=r"^Nothing of this kind"):
        host.call(Unit("crawl", 0), "refuse")
    with pytest.raises(ClusterError):
        host.call(Unit("crawl", 77), "echo")

    # A process ends: Ray starts it again on its node.
    before = units["crawl-00"]["description"]
    os.kill(before["pid"], signal.SIGKILL)
    status = client.wait(
        lambda status: (
            not status["missing"] and status["units"]["crawl-00"]["description"].get("pid", 0) not in (0, before["pid"])
        ),
        "complete again",
        SECONDS,
    )
    assert status["units"]["crawl-00"]["description"]["node"] == before["node"]

    # The coordinator ends: it is started again, takes over, and starts nothing twice.
    pids = {name: unit["description"]["pid"] for name, unit in status["units"].items()}
    ray.kill(ray.get_actor("coordinator"), no_restart=False)
    status = client.wait(
        lambda status: status["coordinator"]["term"] == 2 and status["units"] and not status["missing"],
        "taken over",
        SECONDS,
    )
    assert {name: unit["description"]["pid"] for name, unit in status["units"].items()} == pids

    # A node dies: its units are started on the others.
    victim = ray_cluster.local.nodes[1]
    lost = {name for name, unit in status["units"].items() if unit["label"] == f"node-{victim.number}"}
    os.kill(victim.raylet, signal.SIGKILL)
    status = client.wait(
        lambda status: len(status["nodes"]) == 1 and not status["missing"], "complete on one node", SECONDS
    )
    assert {unit["label"] for unit in status["units"].values()} == {"node-0"}
    assert lost <= {recovery["unit"] for recovery in status["recoveries"] if recovery["moved"]}

    # What is not wanted any more ends in an orderly way.
    folders = [Path(unit["description"]["folder"]) for unit in status["units"].values()]
    client.update(crawling=False, serving=False)
    client.wait(lambda status: not status["units"] and not host.units(), "stopped", SECONDS)
    assert all((folder / "closed").exists() for folder in folders)

    # Another coordinator takes over: this one says so, and ends for good.
    storage = open_storage(ray_cluster.settings.storage.url, ray_cluster.settings.storage)
    TopologyStore(storage).take_over()
    with pytest.raises(CoordinatorConflict, match="has taken over"):
        client.wait(lambda status: False, "replaced", SECONDS)
    wait_until(lambda: "coordinator" not in ray.util.list_named_actors())
    with pytest.raises(NothingHere, match="No Periplus cluster"):
        ClusterClient.find(ray)


def test_the_cluster_on_this_machine_is_found_again(ray_cluster: RayTestCluster) -> None:
    folder = Path(ray_cluster.settings.folder)
    assert read_local_cluster(folder) == ray_cluster.local == start_local_nodes(folder, 2)


def test_without_a_cluster_there_is_a_clear_error(tmp_path: Path) -> None:
    assert read_local_cluster(tmp_path) is None
    with pytest.raises(NothingHere, match="No Ray cluster"):
        stop_local_nodes(tmp_path)
    pytest.importorskip("ray")
    with pytest.raises(ClusterError, match=r"No Ray cluster answers at 127\.0\.0\.1:1"):
        connect_ray("127.0.0.1:1", "periplus")
    with pytest.raises(ClusterError, match="not the address"):
        connect_ray("nonsense", "periplus")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("periplus.cluster.control.ray_runtime.importlib.import_module", refuse)
    with pytest.raises(MissingPart, match=r"periplus\[cluster\]"):
        load_ray()
