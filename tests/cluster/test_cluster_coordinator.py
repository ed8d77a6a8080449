"""The coordinator without Ray: units are started, moved and stopped, and of two coordinators one stops."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from unit_hosts import TableHost

from conditions import wait_until
from periplus import __version__
from periplus.cluster import ClusterTopology, new_topology
from periplus.cluster.control.coordinator import Coordinator, wanted_units
from periplus.cluster.control.placement import Unit
from periplus.cluster.control.ray_host import RayHost
from periplus.cluster.control.topology_store import TopologyStore, create_topology, read_topology_record
from periplus.errors import BadInput, CoordinatorConflict, NothingHere, StorageFailed
from periplus.settings import Settings, StorageSettings
from periplus.storage import Storage, open_storage
from periplus.storage.storage_records import TransientFailure


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage((tmp_path / "storage").as_uri(), StorageSettings(), create=True)


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def start(storage: Storage, host: TableHost, **fields: object) -> tuple[Coordinator, Clock]:
    create_topology(storage, new_topology(4, 2))
    clock = Clock()
    coordinator = Coordinator(TopologyStore(storage), host, clock=clock)
    coordinator.update(**fields)
    return coordinator, clock


SERVING: dict[str, object] = {"serving": True, "generation": 1, "generation_shards": (0, 1, 2, 3)}


def test_wanted_units_follow_from_the_topology() -> None:
    topology: ClusterTopology = new_topology(2, 3)
    assert wanted_units(topology) == []
    crawl = msgspec.structs.replace(topology, crawling=True, serving=True)
    assert [unit.name for unit in wanted_units(crawl)] == ["crawl-00", "crawl-01"], "there is no index to serve yet"
    both = msgspec.structs.replace(crawl, generation=1, generation_shards=(0, 1), brokers=2)
    assert len(wanted_units(both)) == 2 + 6 + 2


def test_units_are_started_and_a_lost_node_is_made_up_for(storage: Storage) -> None:
    host = TableHost(3)
    coordinator, clock = start(storage, host, crawling=True, **SERVING)
    coordinator.step()
    coordinator.step()
    assert coordinator.status()["missing"] == []
    before = dict(host.running)
    clock.now += 10
    host.kill_node("id-1")
    coordinator.step()
    clock.now += 3
    coordinator.step()
    status = coordinator.status()
    assert status["missing"] == []
    moved = {unit for unit, node in before.items() if node == "id-1"}
    assert {unit for unit, node in host.running.items() if before[unit] != node} == moved
    assert {recovery["unit"] for recovery in status["recoveries"]} == {unit.name for unit in moved}
    assert {(recovery["seconds"], recovery["moved"]) for recovery in status["recoveries"]} == {(3.0, True)}


def test_replicas_without_a_node_of_their_own_are_missing_until_there_is_one(storage: Storage) -> None:
    host = TableHost(1)
    coordinator, _ = start(storage, host, **SERVING)
    coordinator.step()
    coordinator.step()
    status = coordinator.status()
    assert status["missing"] == [f"replica-{number:02d}-1" for number in range(4)]
    assert {status["units"][name]["fault"] for name in status["missing"]} == {"No node is left for it."}
    host.alive |= TableHost(2).alive
    coordinator.step()
    coordinator.step()
    assert coordinator.status()["missing"] == []


def test_units_that_are_not_wanted_any_more_are_stopped(storage: Storage) -> None:
    host = TableHost(2)
    coordinator, _ = start(storage, host, crawling=True)
    coordinator.step()
    coordinator.update(crawling=False)
    coordinator.step()
    wait_until(lambda: sorted(host.stopped) == [Unit("crawl", number) for number in range(4)])


def test_a_unit_that_does_not_start_is_tried_again_later(storage: Storage) -> None:
    host = TableHost(1)
    host.refused = {"id-0"}
    coordinator, clock = start(storage, host, crawling=True)
    coordinator.step()
    assert "cannot be started" in coordinator.status()["units"]["crawl-00"]["fault"]
    host.refused = set()
    coordinator.step()
    assert host.starts == [], "not at once"
    clock.now += 60
    coordinator.step()
    assert len(host.starts) == 4


def test_nodes_of_another_version_are_refused_and_both_are_named(storage: Storage) -> None:
    host = TableHost(3)
    host.versions = {"id-1": "9.8.7", "id-2": ""}
    coordinator, _ = start(storage, host, crawling=True)
    coordinator.step()
    assert set(host.running.values()) == {"id-0"}
    refused = coordinator.status()["refused"]
    assert "9.8.7" in refused["node-1"]
    assert __version__ in refused["node-1"]
    assert "No module named" in refused["node-2"]


def test_a_node_that_has_not_answered_yet_keeps_nobody_waiting(storage: Storage) -> None:
    host = TableHost(3)
    host.silent = {"id-2"}
    coordinator, clock = start(storage, host, **SERVING, replicas=3)
    coordinator.step()
    assert set(host.running.values()) == {"id-0", "id-1"}
    assert coordinator.status()["refused"] == {}, "it may be starting"
    host.silent = set()
    clock.now += 60
    coordinator.step()
    assert set(host.running.values()) == {"id-0", "id-1", "id-2"}


def test_of_two_coordinators_one_stops_and_says_so(storage: Storage) -> None:
    host = TableHost(1)
    first, _ = start(storage, host, crawling=True)
    second = Coordinator(TopologyStore(storage), host)
    with pytest.raises(CoordinatorConflict, match="has taken over"):
        first.step()
    with pytest.raises(CoordinatorConflict) as refusal:
        first.update(replicas=3)
    assert second.topology.coordinator.id in str(refusal.value)
    second.step()
    assert second.update(replicas=3).replicas == 3
    record = read_topology_record(storage)
    assert record is not None
    assert (record.replicas, record.coordinator.term) == (3, 2)


def test_a_coordinator_that_is_started_again_goes_on(storage: Storage) -> None:
    host = TableHost(3)
    first, _ = start(storage, host, crawling=True, **SERVING)
    first.step()
    running = dict(host.running)
    again = Coordinator(TopologyStore(storage), host)
    again.step()
    again.step()
    assert host.running == running
    assert len(host.starts) == len(running), "nothing was started twice"
    assert again.status()["missing"] == []


def test_a_cluster_is_made_once(storage: Storage) -> None:
    with pytest.raises(NothingHere, match="no cluster"):
        TopologyStore(storage).take_over()
    first = create_topology(storage, new_topology(4, 2))
    assert create_topology(storage, new_topology(8, 1)) == first


def test_an_older_generation_is_not_served(storage: Storage) -> None:
    coordinator, _ = start(storage, TableHost(1))
    coordinator.publish(2, 1, [1, 0])
    assert coordinator.topology.generation_shards == (0, 1)
    with pytest.raises(BadInput, match="already"):
        coordinator.publish(2, 1, [0])
    assert coordinator.topology.generation_owners == (0, 1, 2, 3)


def test_a_generation_that_lacks_published_pages_is_not_served(storage: Storage) -> None:
    """Another build was published since it was begun: what that had was removed from the logs."""
    coordinator, _ = start(storage, TableHost(1))
    coordinator.publish(2, 1, [0, 1], owners=[0, 1], base=0)
    assert coordinator.topology.generation_owners == (0, 1)
    with pytest.raises(BadInput, match="Generation 2 was published while 3 was built"):
        coordinator.publish(3, 1, [0], base=0)
    coordinator.publish(3, 1, [0], base=2)


def test_shards_join_and_leave_while_the_crawl_runs(storage: Storage) -> None:
    coordinator, _ = start(storage, TableHost(2))
    with pytest.raises(BadInput, match="runs"):
        coordinator.resize([0, 1])
    coordinator.update(crawling=True)
    topology = coordinator.resize([0, 1, 2, 5])
    assert [(shard.number, shard.state) for shard in topology.shards] == [
        (0, "active"),
        (1, "active"),
        (2, "active"),
        (3, "leaving"),
        (5, "joining"),
    ]
    with pytest.raises(BadInput, match="moving"):
        coordinator.resize([0])
    with pytest.raises(BadInput, match="at least one"):
        coordinator.resize([])


def lose_answers(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Carry out conditional writes, and lose the answers until the patch is undone."""
    backend = storage._backend
    put_if = backend.put_if

    def lose(*arguments: Any) -> str:
        put_if(*arguments)
        raise TransientFailure("the answer was lost")

    monkeypatch.setattr(backend, "put_if", lose)


def test_a_coordinator_goes_on_after_an_answer_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage((tmp_path / "storage").as_uri(), StorageSettings(retry_seconds=0.0), create=True)
    coordinator, _ = start(storage, TableHost(1))
    with monkeypatch.context() as patch:
        lose_answers(storage, patch)
        with pytest.raises(StorageFailed):
            coordinator.update(crawling=True)
    coordinator.step()
    topology = coordinator.update(replicas=3)
    assert (topology.crawling, topology.replicas) == (True, 3)
    assert read_topology_record(storage) == topology
    Coordinator(TopologyStore(storage), TableHost(1))
    with pytest.raises(CoordinatorConflict, match="has taken over"):
        coordinator.update(replicas=4)


def test_a_unit_whose_work_has_failed_is_started_again_ever_later(storage: Storage) -> None:
    host = TableHost(1)
    coordinator, clock = start(storage, host, crawling=True)
    coordinator.step()
    unit = Unit("crawl", 0)
    pauses = []
    for _ in range(4):
        began, starts = clock.now, len(host.starts)
        host.failed.add(unit)
        coordinator.step()
        assert coordinator.status()["units"][unit.name]["fault"] == "No space."
        wait_until(lambda: unit not in host.running and not coordinator._stopping)
        while len(host.starts) == starts:
            clock.now += 1
            coordinator.step()
        assert host.starts[-1][0] == unit
        pauses.append(clock.now - began)
    assert pauses == [10, 20, 40, 80]
    coordinator.step()
    assert coordinator.status()["missing"] == []


def test_a_unit_that_does_not_start_says_what_it_may_wait_for(storage: Storage) -> None:
    host = TableHost(3)
    coordinator, clock = start(storage, host, **SERVING)
    broker = Unit("broker", 0)
    host.waiting.add(broker)
    for _ in range(4):
        coordinator.step()
        clock.now += 40
    status = coordinator.status()
    assert status["missing"] == [broker.name]
    fault = status["units"][broker.name]["fault"]
    assert "not started for 80 s" in fault
    assert "cluster.broker_cpus" in fault
    host.waiting.clear()
    coordinator.step()
    assert coordinator.status()["units"][broker.name]["fault"] == ""


class StoppingRay:
    """What `RayHost.stop` uses of Ray: a unit that ends after some looks at it, or never."""

    def __init__(self, looks: int, stored: list[int]) -> None:
        self._looks, self._stored = looks, stored
        self.killed = False
        self.has_ended = False
        self.close = self.describe = self
        self._described = 0

    def get_actor(self, name: str) -> "StoppingRay":
        return self

    def remote(self) -> str:
        return "reference"

    def wait(self, references: list[str], timeout: float) -> tuple[list[str], list[str]]:
        time.sleep(0.01)
        self._looks -= 1
        self.has_ended = self._looks <= 0
        return (references, []) if self.has_ended else ([], references)

    def get(self, reference: str, timeout: float) -> dict[str, Any]:
        self._described += 1
        number = min(self._described, len(self._stored)) - 1
        return {"state": "stopping", "stored": self._stored[number], "received_bytes": self._described}

    def kill(self, actor: object, no_restart: bool) -> None:
        self.killed = True


def test_a_unit_is_not_killed_while_it_stores_its_last_checkpoint() -> None:
    slow = StoppingRay(30, list(range(40)))
    RayHost(slow, Settings(), {}).stop(Unit("crawl", 0), seconds=0.1)
    assert slow.has_ended
    stalled = StoppingRay(10_000, [1])
    RayHost(stalled, Settings(), {}).stop(Unit("crawl", 0), seconds=0.1)
    assert not stalled.has_ended
    assert stalled.killed
