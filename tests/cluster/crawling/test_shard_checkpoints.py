"""Checkpoints in storage: who owns a shard, what waits for storage that fails, two coordinators, a lost folder."""

import shutil
import threading
import time
from pathlib import Path

import msgspec
import pytest
from crawl_cluster import KEY, crawl_cluster, page_urls, shortest_pause, stored_twice, wait_for

from periplus.cluster import new_topology
from periplus.cluster.control.crawl_duty import CrawlDuty
from periplus.cluster.crawling import (
    CrawlCoordinator,
    CrawlPlanState,
    PlanRecord,
    ShardCheckpoints,
    ShardRunner,
    shard_checkpoints,
)
from periplus.cluster.crawling.cluster_shard import ClusterShard
from periplus.cluster.crawling.mail_records import ShardPlan
from periplus.errors import CoordinatorConflict, StorageConflict, StorageFailed
from periplus.settings import StorageSettings
from periplus.storage import Storage, open_storage
from periplus.storage.storage_records import TransientFailure


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


def test_a_plan_is_saved_again_after_an_answer_was_lost(tmp_path, monkeypatch):
    storage = open_storage(f"file://{tmp_path / 'storage'}", StorageSettings(retry_seconds=0.0), create=True)
    record = PlanRecord(storage)
    state = CrawlPlanState(shards=(0, 3))
    record.save(state)
    put_if = storage._backend.put_if

    def lose(*arguments):
        put_if(*arguments)
        raise TransientFailure("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(storage._backend, "put_if", lose)
        with pytest.raises(StorageFailed):
            record.save(msgspec.structs.replace(state, epoch=2))
    record.save(msgspec.structs.replace(state, epoch=3))
    other = PlanRecord(storage)
    assert other.load() == msgspec.structs.replace(state, epoch=3)
    other.save(msgspec.structs.replace(state, epoch=4))
    with pytest.raises(CoordinatorConflict):
        record.save(msgspec.structs.replace(state, epoch=4))


def test_the_coordinator_of_the_cluster_goes_on_from_the_last_plan_of_the_one_before(make_settings, storage):
    duty = CrawlDuty(make_settings(), KEY, storage)
    topology = msgspec.structs.replace(new_topology(2, 1), crawling=True)
    duty.observe(topology, {})
    late = PlanRecord(storage)  # of the coordinator before, whose last write arrives only now
    state = late.load()
    late.save(msgspec.structs.replace(state, incarnations={0: 7}))
    more = msgspec.structs.replace(topology, seeds=("http://a.test/",))
    duty.observe(more, {})
    assert "Another coordinator" in duty.status()["crawl"]["fault"]
    duty.observe(more, {})
    plan = duty._crawl.plan.state
    assert (plan.incarnations, plan.seeds) == ({0: 7}, ("http://a.test/",))
    assert plan.term > state.term
    duty.close()


def test_a_lease_begins_when_the_plan_arrives(make_settings, tmp_path):
    plan = ShardPlan(incarnation=1, lease=10.0)
    shard = ClusterShard(tmp_path, 0, plan, received=time.monotonic() - 11)
    assert shard.poll_control().paused
    shard.renew(msgspec.structs.replace(plan, epoch=2), time.monotonic() - 11)
    assert shard.poll_control().paused
    shard.renew(plan, time.monotonic())
    assert not shard.poll_control().paused


def test_only_a_plan_of_the_coordinator_renews_the_lease(make_settings, tmp_path):
    runner = ShardRunner(tmp_path, make_settings(), 0, KEY)
    plan = ShardPlan(incarnation=1, instance=runner.instance)
    runner.exchange(plan)
    received = runner._received
    assert time.monotonic() - 10 < received
    runner._learn_plan(msgspec.structs.replace(plan, epoch=2))
    runner.exchange(msgspec.structs.replace(plan, instance="another", epoch=3))
    assert (runner._plan.epoch, runner._received) == (2, received)
    runner.exchange(msgspec.structs.replace(plan, epoch=2))
    assert runner._received > received


def test_a_shard_is_taken_over_from_an_owner_that_uploads_meanwhile(tmp_path, storage, monkeypatch):
    owner, folder = ShardCheckpoints(storage, 0), tmp_path / "first"
    folder.mkdir()
    restore = shard_checkpoints.restore_shard

    def upload(number: int) -> None:
        (folder / f"{number}.txt").write_text("page")
        owner.upload(folder)

    def restore_late(*arguments, **options):
        result = restore(*arguments, **options)
        if len(list(folder.glob("*.txt"))) < 3:
            upload(len(list(folder.glob("*.txt"))))
        return result

    upload(0)
    monkeypatch.setattr(shard_checkpoints, "restore_shard", restore_late)
    assert ShardCheckpoints(storage, 0).restore(tmp_path / "second")
    assert len(list((tmp_path / "second").glob("*.txt"))) == 3
    with pytest.raises(StorageConflict):
        upload(3)
