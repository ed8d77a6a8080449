"""Checkpoints in storage: who owns a shard, what waits for storage that fails, two coordinators, a lost folder."""

import shutil
import threading
from pathlib import Path

import msgspec
import pytest
from crawl_cluster import KEY, crawl_cluster, page_urls, shortest_pause, stored_twice, wait_for

from periplus.cluster.crawling import CrawlCoordinator, CrawlPlanState, PlanRecord, ShardCheckpoints
from periplus.errors import CoordinatorConflict, StorageFailed
from periplus.settings import StorageSettings
from periplus.storage import Storage, open_storage


@pytest.fixture
def storage(tmp_path) -> Storage:
    return open_storage(f"file://{tmp_path / 'storage'}", StorageSettings(), create=True)


class BrokenStorage:
    """A store of checkpoints that fails until it is repaired."""

    def __init__(self) -> None:
        self.is_repaired = threading.Event()
        self.uploads = 0

    def restore(self, folder: Path) -> bool:
        return False

    def upload(self, folder: Path) -> None:
        self.uploads += 1
        if not self.is_repaired.is_set():
            raise StorageFailed("The storage is gone.")


def test_messages_stay_with_the_sender_while_storage_fails(fake_web, make_settings, tmp_path):
    broken = BrokenStorage()
    with crawl_cluster(tmp_path / "data", make_settings(), 2, fake_web.seeds, checkpoints=broken) as cluster:
        cluster.run_to_end()  # the crawl itself does not need the storage
        assert {report.fault for report in cluster.reports.values()} == {"The storage is gone."}
        outboxes = [runner._shard.outbox for runner in cluster.runners.values()]
        kept = [outbox.total()[0] for outbox in outboxes]
        assert all(kept)
        uploads = broken.uploads
        cluster.run_until(lambda: broken.uploads > uploads + 2)
        assert [outbox.total()[0] for outbox in outboxes] == kept
        broken.is_repaired.set()
        cluster.run_until(lambda: not any(outbox.total()[0] for outbox in outboxes))
        cluster.stop()


def test_a_process_whose_shard_was_taken_over_stops(fake_web, make_settings, tmp_path, storage):
    checkpoints = ShardCheckpoints(storage, 0)
    with crawl_cluster(
        tmp_path / "data", make_settings(delay=0.05), 1, fake_web.seeds, checkpoints=checkpoints
    ) as cluster:
        cluster.run_until(lambda: cluster.pages() > 5 and cluster.reports[0].settled == 1)
        assert ShardCheckpoints(storage, 0).restore(tmp_path / "elsewhere")
        wait_for(lambda: cluster.runners[0].status().state == "failed")
        assert "StorageConflict" in cluster.runners[0].status().fault
        assert cluster.runners[0].join(20)


def test_a_shard_goes_on_from_storage_without_its_folder(server, fake_web, make_settings, tmp_path, storage):
    """The folder is lost in an orderly stop here; kills are in another test."""
    settings = make_settings(delay=0.02)
    with crawl_cluster(
        tmp_path / "data", settings, 1, fake_web.seeds, checkpoints=ShardCheckpoints(storage, 0)
    ) as cluster:
        cluster.run_until(lambda: cluster.pages() > 20)
        cluster.runners[0].close()
        shutil.rmtree(tmp_path / "data" / "shard-00")
        cluster.options["checkpoints"] = ShardCheckpoints(storage, 0)
        cluster.start(0)
        cluster.run_to_end()
        assert cluster.coordinator.plan.state.incarnations == {0: 2}
        cluster.stop()
    records = cluster.records()
    assert {page.url for page in fake_web.truth().pages} <= page_urls(records)
    assert not stored_twice(records)
    assert shortest_pause(server.requests()) >= 0.02


def test_two_coordinators_one_wins(make_settings, storage):
    settings = make_settings()
    first = CrawlCoordinator(settings, KEY, PlanRecord(storage), (0, 1), ["http://a.test/"])
    second = CrawlCoordinator(settings, KEY, PlanRecord(storage))
    assert second.plan.state.shards == (0, 1)
    assert second.plan.state.term == first.plan.state.term + 1
    with pytest.raises(CoordinatorConflict, match=r"Another coordinator has changed .*crawl\.json"):
        first.resize([0])
    second.resize([0])
    first.close()
    second.close()


def test_a_plan_record_survives(storage):
    record = PlanRecord(storage)
    assert record.load() is None
    state = CrawlPlanState(shards=(0, 3), seeds=("http://a.test/",), incarnations={3: 7}, instances={3: "x"})
    record.save(state)
    record.save(msgspec.structs.replace(state, epoch=2))
    assert PlanRecord(storage).load() == msgspec.structs.replace(state, epoch=2)
