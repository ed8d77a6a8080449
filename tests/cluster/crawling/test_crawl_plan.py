"""The state machine of the coordinator: quotas, incarnations, leases, moves and the end, without any process."""

from types import SimpleNamespace

import msgspec
import pytest
from crawl_cluster import KEY

from periplus.cluster import CrawlDuty, ShardRecord, new_topology
from periplus.cluster.crawling import CrawlPlan, CrawlPlanState, ShardReport
from periplus.crawl import CrawlStatistics, CrawlStatus
from periplus.errors import BadInput
from periplus.settings import Settings, StorageSettings
from periplus.storage import open_storage

NOTHING = CrawlStatistics(0, 0, 0.0, {}, 0, 0, 0, 0, 0, 0.0)


class Shards:
    """Reports of shards, as they would come."""

    def __init__(self, plan: CrawlPlan) -> None:
        self.plan = plan
        self.serial = 0

    def report(self, number: int, state: str = "idle", pages: int = 0, quota: int = 0, **fields) -> ShardReport:
        self.serial += 1
        fields.setdefault("instance", f"first-{number}")
        fields.setdefault("epoch", self.plan.state.epoch)
        fields.setdefault("settled", fields["epoch"])
        status = CrawlStatus(1, state, NOTHING, number=number, pages=pages, quota=quota)
        return ShardReport(number=number, serial=self.serial, state=state, status=status, **fields)

    def round(self, state: str = "idle", **fields) -> bool:
        """Report for all shards; return whether the crawl is done."""
        for number in self.plan.members():
            self.plan.note_report(self.report(number, state, **fields))
        self.plan.advance()
        return self.plan.is_done()


def make_plan(count: int, pages: int = 1_000, **options) -> tuple[CrawlPlan, Shards]:
    plan = CrawlPlan(CrawlPlanState(shards=tuple(range(count))), pages, **options)
    for number in range(count):
        plan.attach(number, f"127.0.0.1:{number + 1}", 0.0)
    return plan, Shards(plan)


def test_the_end_takes_two_rounds_without_activity():
    plan, shards = make_plan(2)
    assert not shards.round()
    assert shards.round()
    assert not shards.round("running")
    assert not shards.round()
    # The same reports again are not a second round.
    assert not plan.is_done()
    plan.note_report(shards.report(0))
    assert not plan.is_done()
    plan.note_report(shards.report(1))
    assert plan.is_done()


def test_a_message_on_its_way_is_not_the_end():
    plan, shards = make_plan(2)
    for _ in range(3):
        plan.note_report(shards.report(0, written={1: 5}))
        plan.note_report(shards.report(1, processed={0: 4}))
        assert not plan.is_done()
    for expected in (False, True):
        plan.note_report(shards.report(0, written={1: 5}))
        plan.note_report(shards.report(1, processed={0: 9}))  # of an earlier process that was lost
        assert plan.is_done() is expected
    # Activity between two rounds: a message came and was answered.
    plan.note_report(shards.report(0, written={1: 6}))
    plan.note_report(shards.report(1, processed={0: 9}))
    assert not plan.is_done()


def test_a_shard_that_cannot_be_reached_is_not_the_end():
    plan, shards = make_plan(2)
    shards.round()
    plan.detach(1, is_dead=False)
    plan.note_report(shards.report(0))
    assert not plan.is_done()
    assert not plan.advance()
    assert not shards.round()
    assert shards.round()


def test_quotas_never_exceed_the_limit():
    plan, shards = make_plan(3, pages=100)
    shards.round("running")
    quotas = [plan.plan_for(number, 0.0).quota for number in range(3)]
    assert min(quotas) > 0
    assert sum(quotas) <= 100
    for number, quota in enumerate(quotas):
        plan.note_report(shards.report(number, "full", pages=quota, quota=quota))
    plan.advance()
    assert sum(plan.plan_for(number, 0.0).quota for number in range(3)) <= 100
    # A new coordinator does not know what was assigned, but what shards report.
    again = CrawlPlan(plan.state, 100)
    for number in range(3):
        again.attach(number, f"127.0.0.1:{number + 1}", 0.0)
        again.note_report(shards.report(number, "running", pages=10, quota=33))
    again.advance()
    assert sum(max(33, again.plan_for(number, 0.0).quota) for number in range(3)) <= 100


def test_every_process_gets_a_number_of_its_own():
    plan, shards = make_plan(1)
    assert plan.plan_for(0, 0.0).incarnation == 0
    assert plan.note_report(shards.report(0))
    assert not plan.note_report(shards.report(0))
    first = plan.plan_for(0, 0.0)
    assert (first.incarnation, first.instance) == (1, "first-0")
    again = CrawlPlan(msgspec.json.decode(msgspec.json.encode(plan.state), type=CrawlPlanState), 100)
    assert again.state.term == plan.state.term + 1
    again.attach(0, "127.0.0.1:9", 0.0, is_dead=True)
    assert again.note_report(shards.report(0, instance="second"))
    assert again.plan_for(0, 0.0).incarnation == 2


def test_a_new_process_waits_for_the_lease_of_the_earlier_one():
    plan, shards = make_plan(1, lease=10.0)
    plan.note_report(shards.report(0))
    assert plan.plan_for(0, 100.0) is not None
    plan.attach(0, "127.0.0.1:9", 101.0)
    assert plan.plan_for(0, 124.9) is None
    assert plan.plan_for(0, 125.1) is not None
    plan.attach(0, "127.0.0.1:10", 126.0, is_dead=True)
    assert plan.plan_for(0, 126.0) is not None


def test_a_new_coordinator_waits_for_processes_that_it_does_not_know():
    plan, shards = make_plan(2, lease=10.0)
    shards.round("running")
    again = CrawlPlan(plan.state, 100, lease=10.0)
    for number in range(2):
        again.attach(number, f"127.0.0.1:{number + 1}", 5.0)
        assert again.plan_for(number, 5.0).instance == f"first-{number}"  # another process ignores it
    again.note_report(shards.report(0))
    again.note_report(shards.report(1, instance="second"))
    assert again.plan_for(0, 6.0) is not None
    assert again.plan_for(1, 29.9) is None
    assert again.plan_for(1, 30.1).instance == "second"


def test_a_move_is_complete_when_all_hosts_are_durable_and_leavers_are_drained():
    plan, shards = make_plan(2)
    shards.round("running")
    plan.resize([1, 2])
    assert (plan.state.epoch, plan.state.previous, plan.members()) == (2, (0, 1), (0, 1, 2))
    with pytest.raises(BadInput, match="moving"):
        plan.resize([1])
    plan.attach(2, "127.0.0.1:3", 0.0)
    assert plan.plan_for(1, 0.0).quota == 0
    assert not shards.round("moving", epoch=2, settled=1)
    assert plan.state.is_moving
    shards.round(epoch=2, settled=2)
    assert plan.state.is_moving  # shard 0 has messages left
    plan.note_report(shards.report(0, is_drained=True))
    plan.note_report(shards.report(1, written={0: 7}))
    assert not plan.advance()  # one is on its way to the shard that leaves
    plan.note_report(shards.report(0, is_drained=True, processed={1: 7}))
    assert plan.advance()
    assert not plan.state.is_moving
    assert plan.members() == (0, 1, 2)  # shard 0 has pages left, which it forwards while the others crawl
    assert plan.plan_for(0, 0.0).forwards
    assert not plan.is_done()
    with pytest.raises(BadInput, match="moving"):
        plan.resize([1])
    assert not shards.round(epoch=2, settled=2, is_drained=True, forwarded=1)
    assert plan.state.is_forwarding
    shards.round(epoch=2, settled=2, is_drained=True, forwarded=2, processed={1: 7})
    assert not plan.state.is_forwarding
    assert not plan.plan_for(1, 0.0).forwards
    assert plan.members() == (1, 2)
    assert plan.plan_for(0, 0.0) is None
    assert set(plan.plan_for(1, 0.0).addresses) == {1, 2}


def test_the_topology_drops_a_shard_when_its_pages_have_arrived(tmp_path):
    plan, shards = make_plan(2)
    shards.round("running")
    crawl = SimpleNamespace(plan=plan, resize=plan.resize)
    duty = CrawlDuty(Settings(), KEY, open_storage(f"file://{tmp_path}", StorageSettings(), create=True))
    topology = new_topology(2, 1).with_shard(ShardRecord(0, 1, "leaving"))
    assert duty._move(crawl, topology) == {}
    assert (plan.state.shards, plan.is_resizing) == ((1,), True)
    shards.round(is_drained=True, forwarded=1)
    assert (plan.state.is_moving, plan.state.is_forwarding) == (False, True)
    assert duty._move(crawl, topology) == {}
    shards.round(is_drained=True, forwarded=2)
    assert duty._move(crawl, topology) == {"shards": (ShardRecord(1),)}


def test_seeds_of_all_shards_are_shared():
    plan, shards = make_plan(1)
    plan.add_seeds(["http://a.test/"])
    assert plan.note_report(shards.report(0, seeds=("http://a.test/", "http://www.a.test/")))
    assert plan.plan_for(0, 0.0).seeds == ("http://a.test/", "http://www.a.test/")


@pytest.mark.parametrize("shards", [[], [-1], [1 << 16], range(5_000)])
def test_impossible_shards_are_refused(shards):
    with pytest.raises(BadInput, match="cannot have"):
        make_plan(1)[0].resize(shards)
