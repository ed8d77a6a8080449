"""The switch from one generation of the index to the next, without Ray."""

from pathlib import Path
from typing import Any

import msgspec
from unit_hosts import TableHost

from conditions import wait_until
from periplus.cluster import (
    ClusterTopology,
    PublicationLog,
    ServingDuty,
    Unit,
    collect_publications,
    decode_table,
    list_generations,
    new_attempt,
    new_topology,
    save_set,
)
from periplus.cluster.control.ray_host import Probe
from periplus.cluster.control.replica_worker import GenerationCommand
from periplus.cluster.serving.publication_log import encode_publication
from periplus.errors import ClusterError
from periplus.publish import make_published_record
from periplus.settings import StorageSettings
from periplus.storage import Storage, open_storage


class ReplicaTable(TableHost):
    """Two replicas of two shards and a broker, as records."""

    def __init__(self) -> None:
        super().__init__(2)
        self.open: dict[Unit, set[int]] = {Unit("replica", n, copy): set() for n in range(2) for copy in range(2)}
        self.tables: list[Any] = []
        self.failing: set[Unit] = set()

    def call(self, unit: Unit, command: str, argument: bytes = b"", timeout: float | None = None) -> bytes:
        if unit in self.failing:
            raise ClusterError("It does not answer.")
        if command == "table":
            self.tables.append(decode_table(argument, "table"))
        else:
            generation = msgspec.msgpack.decode(argument, type=GenerationCommand).generation
            (self.open[unit].add if command == "open" else self.open[unit].discard)(generation)
        return b""

    def probes(self) -> dict[Unit, Probe]:
        """Return what a round of probes shows."""
        replicas = {
            unit: Probe("running", {"address": f"10.0.{unit.number}.{unit.copy + 1}:80", "generations": sorted(held)})
            for unit, held in self.open.items()
            if unit not in self.failing
        }
        version = self.tables[-1].version if self.tables else 0
        return {**replicas, Unit("broker", 0): Probe("running", {"table": version})}


class Serving:
    """A duty and the topology that it changes."""

    def __init__(self, storage: Storage | None = None) -> None:
        self.host = ReplicaTable()
        self.duty = ServingDuty(self.host, storage)
        self.topology: ClusterTopology = msgspec.structs.replace(
            new_topology(2, 2), serving=True, generation=1, generation_shards=(0, 1)
        )

    def step(self) -> None:
        """Observe once, and apply what the duty changes."""
        self.topology = msgspec.structs.replace(self.topology, **self.duty.observe(self.topology, self.host.probes()))

    def step_until(self, condition: Any) -> None:
        """Observe until something is so."""

        def reached() -> bool:
            self.step()
            return bool(condition())

        wait_until(reached)


def test_brokers_learn_of_a_generation_when_replicas_have_it() -> None:
    serving = Serving()
    serving.step()
    assert serving.host.tables == [], "no replica has opened anything yet"
    serving.step_until(lambda: serving.topology.served_generation == 1)
    serving.step_until(lambda: [len(shard.replicas) for shard in serving.host.tables[-1].shards] == [2, 2])
    assert serving.host.tables[-1].generation == 1


def test_the_next_generation_is_served_when_all_replicas_have_it_and_then_the_last_is_closed() -> None:
    serving = Serving()
    serving.step_until(lambda: serving.topology.served_generation == 1)
    serving.step_until(lambda: all(1 in held for held in serving.host.open.values()))
    slow = Unit("replica", 1, 1)
    serving.host.open[slow].clear()
    serving.topology = msgspec.structs.replace(serving.topology, generation=2)
    calls = serving.host.call

    def call(unit: Unit, command: str, argument: bytes = b"", timeout: float | None = None) -> bytes:
        if unit == slow and command == "open":
            raise ClusterError("Not yet.")
        return calls(unit, command, argument, timeout)

    serving.host.call = call  # type: ignore[method-assign]
    serving.step_until(lambda: sum(2 in held for held in serving.host.open.values()) == 3)
    serving.step()
    assert serving.topology.served_generation == 1
    assert serving.host.tables[-1].generation == 1
    assert all(1 in held for unit, held in serving.host.open.items() if unit != slow), "the last one is still served"
    serving.host.call = calls  # type: ignore[method-assign]
    serving.step_until(lambda: serving.topology.served_generation == 2)
    serving.step_until(lambda: all(held == {2} for held in serving.host.open.values()))
    assert serving.host.tables[-1].generation == 2


def test_a_replica_that_is_gone_is_not_asked() -> None:
    serving = Serving()
    serving.step_until(lambda: serving.topology.served_generation == 1)
    serving.step_until(lambda: [len(shard.replicas) for shard in serving.host.tables[-1].shards] == [2, 2])
    serving.host.failing = {Unit("replica", 0, 0), Unit("replica", 1, 0), Unit("replica", 1, 1)}
    serving.step()
    shards = serving.host.tables[-1].shards
    assert [list(shard.replicas) for shard in shards] == [["10.0.0.2:80"], []], "the shard is named, without replicas"


def test_a_replica_that_is_slow_to_answer_a_probe_is_still_asked() -> None:
    serving = Serving()
    serving.step_until(lambda: serving.topology.served_generation == 1)
    serving.step_until(lambda: [len(shard.replicas) for shard in serving.host.tables[-1].shards] == [2, 2])
    slow = Unit("replica", 0, 0)

    def observe() -> list[int]:
        probes = {**serving.host.probes(), slow: Probe("starting", {})}
        serving.duty.observe(serving.topology, probes)
        return [len(shard.replicas) for shard in serving.host.tables[-1].shards]

    assert observe() == [2, 2]
    assert observe() == [2, 2]
    serving.step()
    assert observe() == [2, 2], "it has answered in between"
    for _ in range(4):
        observe()
    assert observe() == [1, 2], "it does not answer any more"


def test_the_last_generation_is_closed_after_brokers_have_opened_the_next() -> None:
    """That a broker was sent the table is not enough: it plans for the new generation first."""
    serving = Serving()
    serving.step_until(lambda: all(held == {1} for held in serving.host.open.values()))
    serving.step_until(lambda: serving.topology.served_generation == 1)
    before = serving.host.tables[-1].version
    probes = serving.host.probes
    serving.host.probes = lambda: {  # type: ignore[method-assign]
        **probes(),
        Unit("broker", 0): Probe("running", {"state": "serving", "table": before}),
    }
    serving.topology = msgspec.structs.replace(serving.topology, generation=2)
    serving.step_until(lambda: serving.topology.served_generation == 2)
    for _ in range(3):
        serving.step()
    assert all(held == {1, 2} for held in serving.host.open.values())
    serving.host.probes = probes  # type: ignore[method-assign]
    serving.step_until(lambda: all(held == {2} for held in serving.host.open.values()))


def test_generations_before_the_last_but_one_are_removed_from_storage(tmp_path: Path) -> None:
    storage = open_storage(f"file://{tmp_path}", StorageSettings(), create=True)
    for generation in (1, 2, 3, 4, 5):
        storage.put(f"generations/{generation:08d}/shards/00/index/x", b"x")
    log = PublicationLog(storage, 1)
    log.add(encode_publication(make_published_record("Fog", "fog", "https://a.test/0")))
    for generation in (2, 3):
        attempt = new_attempt(generation)
        save_set(storage, generation, collect_publications(storage, 1, (1,), 0, attempt, tmp_path / "scratch"))
    log.add(encode_publication(make_published_record("Fog", "fog", "https://a.test/1")))
    names = list(log.names())
    serving = Serving(storage)
    serving.topology = msgspec.structs.replace(serving.topology, generation=3, served_generation=3)
    held = Unit("replica", 1, 1)
    serving.host.open[held] = {3}
    serving.host.open[Unit("replica", 0, 0)] = {2, 3}
    serving.step_until(lambda: all(generations == {3} for generations in serving.host.open.values()))
    serving.step_until(lambda: list_generations(storage) == [2, 3, 4, 5])
    serving.step_until(lambda: list(log.names()) == names[1:])
