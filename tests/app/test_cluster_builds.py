"""The build of a shard in a cluster: it reads the newest pages, and the same ones in every step."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from shard_folders import add_pages

from periplus.app.clusters.build_worker import BuildCommand, BuildWorker
from periplus.app.clusters.generation_build import build_generation
from periplus.cluster import ClusterTopology, Unit, UnitSpec, new_topology
from periplus.cluster.control.ray_host import Probe
from periplus.errors import ClusterError, NothingHere
from periplus.files import lock_folder
from periplus.settings import GraphSettings, Settings, StorageSettings
from periplus.storage import ShardMirror, Storage, open_storage, restore_shard


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage((tmp_path / "storage").as_uri(), StorageSettings(retry_seconds=0.0), create=True)


class Build:
    """The build of shard 0 on one node."""

    def __init__(self, storage: Storage, node: Path) -> None:
        settings = Settings(
            storage=StorageSettings(url=storage.url, retry_seconds=0.0), graph=GraphSettings(tolerance=0.05)
        )
        spec = UnitSpec(
            kind="build", number=0, settings=settings, node_dir=str(node), node="n", address="127.0.0.1", term=1
        )
        self._worker = BuildWorker(spec)
        self.command = BuildCommand(1, epoch=1, shards=(0,), rounds="1-a")

    def run(self, step: str, **fields: Any) -> bytes:
        command = msgspec.structs.replace(self.command, **fields)
        return self._worker.call(step, msgspec.msgpack.encode(command))

    def documents(self) -> int:
        """Return how many documents the statistics of the shard are about."""
        return int(json.loads(self.run("statistics"))["documents"])


def test_a_node_with_an_old_copy_builds_from_the_newest(storage: Storage, tmp_path: Path) -> None:
    old, new = tmp_path / "node-1" / "shard-00", tmp_path / "node-2" / "shard-00"
    add_pages(old, 0, 3)
    ShardMirror(old, storage, 0).upload()
    restore_shard(storage, 0, new)
    add_pages(new, 3, 4)
    ShardMirror(new, storage, 0).upload()
    build = Build(storage, tmp_path / "node-1")
    build.run("prepare")
    assert build.documents() == 7


def test_an_old_copy_that_is_in_use_is_not_built_from(storage: Storage, tmp_path: Path) -> None:
    old, new = tmp_path / "node-1" / "shard-00", tmp_path / "node-2" / "shard-00"
    add_pages(old, 0, 3)
    ShardMirror(old, storage, 0).upload()
    restore_shard(storage, 0, new)
    ShardMirror(new, storage, 0).upload()
    build = Build(storage, tmp_path / "node-1")
    with lock_folder(old / "crawl", "supervisor", "crawl"), pytest.raises(ClusterError, match="old copy of shard 0"):
        build.run("prepare")


def test_all_steps_read_the_same_pages_while_the_crawl_goes_on(storage: Storage, tmp_path: Path) -> None:
    folder = tmp_path / "node-1" / "shard-00"
    add_pages(folder, 0, 3)
    mirror = ShardMirror(folder, storage, 0)
    mirror.upload()
    with lock_folder(folder / "crawl", "supervisor", "crawl"):
        add_pages(folder, 3, 2)  # after the last checkpoint
        build = Build(storage, tmp_path / "node-1")
        build.run("prepare")
        assert build.documents() == 5
        add_pages(folder, 5, 2)
        build.run("graph")
        assert build.documents() == 5
        statistics = build.run("statistics")
        add_pages(folder, 7, 2)
        build.run("index", statistics=statistics)
    manifest = next((tmp_path / "node-1" / "build-shard-00" / "generation-00000001" / "index").glob("manifest.json"))
    assert '"documents":5' in manifest.read_text().replace(" ", "")


def test_a_shard_without_pages_is_built(storage: Storage, tmp_path: Path) -> None:
    build = Build(storage, tmp_path / "node-1")
    with pytest.raises(ClusterError, match="not prepared"):
        build.run("graph")
    build.run("prepare")
    assert build.documents() == 0


def test_a_build_that_has_moved_to_another_node_is_not_an_empty_shard(storage: Storage, tmp_path: Path) -> None:
    folder = tmp_path / "node-1" / "shard-00"
    add_pages(folder, 0, 3)
    ShardMirror(folder, storage, 0).upload()
    build = Build(storage, tmp_path / "node-1")
    build.run("prepare")
    statistics = build.run("statistics")
    moved = Build(storage, tmp_path / "node-2")
    for step in ("statistics", "index", "store"):
        with pytest.raises(ClusterError, match="not prepared"):
            moved.run(step, statistics=statistics)


class _DyingUnits:
    """A client and a host of units, one of which died; the coordinator has not noticed, and Ray starts it again."""

    def __init__(self) -> None:
        self.probes = 0
        self.calls = 0
        self.updates: list[dict[str, Any]] = []

    def topology(self) -> ClusterTopology:
        return new_topology(1, 1)

    def update(self, **fields: Any) -> None:
        self.updates.append(fields)

    def wait(self, is_reached: Callable[[dict[str, Any]], bool], what: str, seconds: float) -> None:
        status = {"units": {"build-00": {"state": "running"}}}
        while not is_reached(status):
            pass

    def probe(self, units: Sequence[Unit]) -> dict[Unit, Probe]:
        self.probes += 1
        return {unit: Probe("starting" if 1 < self.probes < 50 else "running", {}) for unit in units}

    def call_all(self, arguments: dict[Unit, bytes], step: str, seconds: float) -> dict[Unit, bytes]:
        self.calls += 1
        if self.probes < 50:
            raise ClusterError("The actor is temporarily unavailable.")
        raise NothingHere("The end of this test.")


def test_a_build_waits_for_its_units_whatever_the_coordinator_has_seen(storage: Storage) -> None:
    cluster: Any = _DyingUnits()
    with pytest.raises(NothingHere, match="The end"):
        build_generation(cluster, cluster, storage)
    assert cluster.calls == 2, "attempts are not spent while a unit starts"
    assert cluster.updates == [{"building": True}, {"building": False}]
