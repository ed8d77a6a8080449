"""The worker of a replica, without Ray: generations from storage, and folders that do not stay."""

from pathlib import Path

import msgspec
import pytest

from cluster.serving.shard_processes import SETTINGS, build_shards
from conditions import wait_until
from periplus.cluster import ReplicaWorker, UnitSpec, make_key, store_generation
from periplus.cluster.control.replica_worker import GenerationCommand
from periplus.settings import ClusterSettings, StorageSettings
from periplus.storage import open_storage

pytestmark = pytest.mark.xdist_group("cluster-serving")


def test_a_folder_is_removed_when_its_generation_is_closed(tmp_path: Path) -> None:
    """And peers are told the address of the node where a replica listens on all."""
    url = f"file://{tmp_path}/storage"
    storage = open_storage(url, StorageSettings(), create=True)
    [folder] = build_shards(tmp_path / "built", 1)
    for generation in (1, 2):
        store_generation(storage, folder, generation, 0)
    make_key(tmp_path / "cluster.key")
    settings = msgspec.structs.replace(
        SETTINGS,
        folder=str(tmp_path),
        storage=StorageSettings(url=url),
        cluster=ClusterSettings(key_file=str(tmp_path / "cluster.key"), deadline=30.0),
    )
    spec = UnitSpec(
        kind="replica",
        number=0,
        settings=settings,
        node_dir=str(tmp_path / "node"),
        node="n",
        address="127.0.0.1",
        bind="0.0.0.0",
        term=1,
    )
    worker = ReplicaWorker(spec)
    try:
        for generation in (1, 2):
            worker.call("open", msgspec.msgpack.encode(GenerationCommand(generation, 0, (0,), (0,))))
        description = worker.describe()
        assert description["generations"] == [1, 2]
        assert description["address"].startswith("127.0.0.1:")
        worker.call("close", msgspec.msgpack.encode(GenerationCommand(1)))
        wait_until(lambda: worker.describe() and not (spec.folder / "generation-00000001").exists())
        assert (spec.folder / "generation-00000002").exists()
    finally:
        worker.close()
