"""A crawl on several shards with mailboxes on loopback: complete, polite, resized, paused, limited."""

import pytest
from crawl_cluster import crawl_cluster, page_urls, shortest_pause, stored_twice, wait_for

from periplus.errors import BadInput
from periplus.records import LIST_KIND


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
        cluster.run_until(lambda: cluster.pages() > 70)
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
