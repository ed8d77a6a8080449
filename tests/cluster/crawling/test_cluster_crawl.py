"""A crawl on several shards with mailboxes on loopback: complete, polite, resized, paused, limited."""

import pytest
from crawl_cluster import crawl_cluster, page_urls, shortest_pause, stored_twice, wait_for

from periplus.cluster.crawling import ShardRunner
from periplus.crawl import HostPartitioner, RobotsRequest
from periplus.errors import BadInput
from periplus.records import LIST_KIND, VisitReport
from periplus.signals import append_visit_reports
from periplus.store import PageStore
from periplus.url import parse_address


def test_two_shards_store_every_page_once(server, fake_web, make_settings, tmp_path):
    with crawl_cluster(tmp_path / "data", make_settings(), 2, fake_web.seeds) as cluster:
        cluster.run_to_end()
        cluster.stop()
        assert {report.state for report in cluster.reports.values()} == {"stopped"}
        assert all(runner.traffic()["sent_bytes"] for runner in cluster.runners.values())
    records = cluster.records()
    assert {page.url for page in fake_web.truth().pages} <= page_urls(records)
    assert not stored_twice(records)
    # Each host was crawled by one shard, and nothing was asked for twice.
    assert all(count == 1 for url, count in server.requests().counts.items() if not url.endswith("/robots.txt"))


def test_hosts_move_while_it_crawls(server, fake_web, make_settings, tmp_path):
    settings = make_settings(delay=0.03)
    with crawl_cluster(tmp_path / "data", settings, 2, fake_web.seeds) as cluster:
        cluster.run_until(lambda: cluster.pages() > 30)
        cluster.resize(range(4))
        with pytest.raises(BadInput, match="shards"):
            cluster.coordinator.resize([])
        cluster.run_until(lambda: cluster.pages() > 70 or cluster.coordinator.is_done)
        cluster.resize(range(3))
        cluster.run_to_end()
        assert cluster.coordinator.plan.state.epoch == 3
        pages = cluster.pages()
        cluster.stop()
    records = cluster.records()
    assert {page.url for page in fake_web.truth().pages} <= page_urls(records)
    assert not stored_twice(records)
    assert shortest_pause(server.requests()) >= 0.03
    assert all(count == 1 for url, count in server.requests().counts.items() if not url.endswith("/robots.txt"))
    # The totals of the shard that left are counted by another.
    assert pages == sum(1 for record in records if record.page is not None and record.page.kind != LIST_KIND)


def test_a_shard_that_is_held_starts_no_request_in_the_same_step(fake_web, make_settings, tmp_path):
    """Hosts that arrive in the step after the export belong to nobody yet; a robots.txt would be asked of ourselves."""
    with crawl_cluster(tmp_path / "data", make_settings(), 1, fake_web.seeds) as cluster:
        cluster.run_to_end()
        crawler, shard = cluster.runners[0]._crawler, cluster.runners[0]._shard
        assert not crawler._paused
        crawler.hold(True)
        assert crawler._paused
        shard.request_robots(RobotsRequest("http://a.test:80", fake_web.seeds[0]))
        assert not shard.unsent()
        crawler.hold(False)


def test_a_shard_that_left_comes_back(server, fake_web, make_settings, tmp_path):
    """Its folder has the keys and numbers of before; hosts that come back are crawled on, and nothing twice."""
    with crawl_cluster(tmp_path / "data", make_settings(delay=0.02), 2, fake_web.seeds) as cluster:
        for shards in (3, 2, 3):
            pages = cluster.pages()
            cluster.run_until(lambda pages=pages: cluster.pages() > pages + 15 or cluster.coordinator.is_done)
            cluster.resize(range(shards))
        cluster.run_to_end()
        cluster.stop()
    records = cluster.records()
    assert {page.url for page in fake_web.truth().pages} <= page_urls(records)
    assert not stored_twice(records)
    assert shortest_pause(server.requests()) >= 0.02


def test_the_page_limit_holds_for_all_shards_together(fake_web, make_settings, tmp_path):
    with crawl_cluster(tmp_path / "data", make_settings(pages=50), 3, fake_web.seeds) as cluster:
        cluster.run_to_end()
        assert cluster.pages() == 50


def test_a_paused_crawl_asks_for_nothing(server, fake_web, make_settings, tmp_path):
    with crawl_cluster(tmp_path / "data", make_settings(delay=0.02), 2, fake_web.seeds) as cluster:
        cluster.run_until(lambda: cluster.pages() > 10)
        cluster.coordinator.pause()
        cluster.run_until(lambda: {report.state for report in cluster.reports.values()} == {"paused"})
        cluster.run_until(lambda: not sum(r.status.statistics.busy for r in cluster.reports.values()))
        before, serials = server.requests().total, {n: r.serial for n, r in cluster.reports.items()}
        cluster.run_until(lambda: all(r.serial > serials[n] + 1 for n, r in cluster.reports.items()))
        assert server.requests().total == before
        assert not cluster.coordinator.is_done
        cluster.coordinator.pause(False)
        cluster.run_to_end()


def test_the_coordinator_can_be_replaced_at_any_time(fake_web, make_settings, tmp_path):
    with crawl_cluster(tmp_path / "data", make_settings(delay=0.02), 2, fake_web.seeds) as cluster:
        cluster.run_until(lambda: cluster.pages() > 10)
        instances = {number: runner.instance for number, runner in cluster.runners.items()}
        cluster.restart_coordinator()
        state = cluster.coordinator.plan.state
        assert (state.term, state.instances) == (2, instances)
        cluster.run_until(lambda: cluster.pages() > 40)
        cluster.coordinator.resize(range(3))
        cluster.restart_coordinator()
        assert cluster.coordinator.plan.state.is_moving
        cluster.start(2)
        cluster.run_to_end()
        cluster.stop()
    records = cluster.records()
    assert {page.url for page in fake_web.truth().pages} <= page_urls(records)
    assert not stored_twice(records)


def test_without_word_from_the_coordinator_a_shard_pauses(server, fake_web, make_settings, tmp_path):
    with crawl_cluster(tmp_path / "data", make_settings(delay=0.02), 2, fake_web.seeds) as cluster:
        cluster.coordinator.plan._lease = 0.5
        cluster.run_until(lambda: cluster.pages() > 10)
        wait_for(lambda: {runner.status().state for runner in cluster.runners.values()} == {"paused"})
        cluster.run_to_end()


def test_visits_reported_to_any_shard_reach_the_owner(server, fake_web, make_settings, tmp_path):
    settings = make_settings(depth=0)
    with crawl_cluster(tmp_path / "data", settings, 2, fake_web.seeds) as cluster:
        cluster.run_to_end()
        fetched = page_urls(cluster.records())
        owner = HostPartitioner((0, 1)).owner
        urls = [page.url for page in fake_web.truth().pages if page.url not in fetched]
        url = next(url for url in urls if owner(parse_address(url).host) == 1)
        append_visit_reports(tmp_path / "data" / "shard-00", [VisitReport(url, 3)])
        cluster.run_until(lambda: cluster.pages() > len(fetched) or url in page_urls(cluster.records()))
        cluster.run_to_end()
        cluster.stop()
    with PageStore.open(tmp_path / "data" / "shard-01" / "store", settings.store) as store:
        assert url in {record.url for record in store.records()}


def test_the_limit_by_address_is_divided_among_the_shards(fake_web, make_settings, tmp_path):
    with crawl_cluster(tmp_path / "data", make_settings(delay=0.02), 2, fake_web.seeds) as cluster:
        cluster.run_until(lambda: cluster.pages() > 5)
        assert {shard_limit(runner) for runner in cluster.runners.values()} == {8}
        cluster.resize(range(3))
        assert {shard_limit(runner) for runner in cluster.runners.values()} == {5}


def shard_limit(runner: ShardRunner) -> int:
    return runner._crawler._state.frontier._groups._per_address


def test_robots_of_a_host_that_has_moved_are_not_fetched(server, fake_web, make_settings, tmp_path):
    """A question that an earlier owner still gets is dropped: only the owner sends requests to a host."""
    with crawl_cluster(tmp_path / "data", make_settings(), 2, fake_web.seeds) as cluster:
        cluster.run_to_end()
        crawler = cluster.runners[0]._crawler
        hosts = [parse_address(page.url).host for page in fake_web.truth().pages]
        host = next(host for host in hosts if HostPartitioner((0, 1)).owner(host) == 1)
        before = server.requests().total
        request = RobotsRequest("http://a.test:80", f"http://{host}/robots.txt")
        crawler._requests.robots.enqueue(1, request, crawler._now())
        wait_for(lambda: not crawler._requests.robots._queued)
        cluster.stop()
        assert server.requests().total == before
