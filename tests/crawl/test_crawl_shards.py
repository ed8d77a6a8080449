"""Shards of a crawl: whose a host is, links that are handed over, hosts that move, pages shared out."""

import errno
import random
import shutil
from collections import Counter
from functools import partialmethod

import pytest
from prometheus_client.parser import text_string_to_metric_families
from scripted_web import ScriptedWeb
from shards_together import Together, killed_in_move, together

from periplus.crawl import Crawler, CrawlStatistics, count_shards
from periplus.crawl.crawl_metrics import as_metrics
from periplus.crawl.crawl_statistics import sum_statistics
from periplus.crawl.crawl_status import CrawlStatus
from periplus.crawl.sharding import resharding as resharding_module
from periplus.crawl.sharding.mailbox import (
    ForwardedLink,
    RobotsRequest,
    RobotsResponse,
    ShardMessage,
    mailbox_mark,
    read_message,
    write_message,
)
from periplus.crawl.sharding.quotas import Quotas, read_quotas
from periplus.crawl.sharding.resharding import reshard
from periplus.crawl.sharding.shard_router import ShardRouter
from periplus.crawl.sharding.supervisor import divide_settings
from periplus.crawl.sharding.topology import HostPartitioner, Topology, mailbox_dir, read_topology
from periplus.errors import BadInput, CorruptFile, DiskFailed, NewerFormat
from periplus.records import FetchRequest, Outcome
from periplus.settings import FetchSettings, FrontierSettings, Settings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Shards that take turns in one process do not wait for each other."""
    monkeypatch.setattr("periplus.crawl.crawler._MAX_WAIT", 0.001)


def test_a_domain_is_on_one_shard_and_few_move():
    hosts = [f"h{n}.site{n % 500}.test" for n in range(2000)]
    three, four = HostPartitioner((0, 1, 2)), HostPartitioner((0, 1, 2, 3))
    for name in ("a.example.co.uk", "b.example.co.uk", "example.co.uk"):
        assert three.owner(name) == three.owner("example.co.uk")
    shares = Counter(three.owner(host) for host in hosts)
    assert min(shares.values()) > 2000 / 3 * 0.8
    moved = [host for host in hosts if three.owner(host) != four.owner(host)]
    assert {four.owner(host) for host in moved} == {3}
    assert 2000 / 4 * 0.7 < len(moved) < 2000 / 4 * 1.3


def test_messages_that_wait_are_delivered_when_hosts_move(tmp_path):
    settings = Settings()
    reshard(tmp_path, settings, 2, [parse_address("http://seed.test/")])
    path = mailbox_dir(tmp_path, 1) / "inbox" / "00-1.parcel"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_message(path, ShardMessage(0, [ForwardedLink("http://waiting.test/", 1, 1.0, 0, False)]))
    topology = reshard(tmp_path, settings, 1, [])
    assert not path.exists()
    with resharding_module._open_shard(tmp_path, settings, 0, HostPartitioner(topology.shards), 1.0) as (state, _):
        assert "waiting.test" in state.frontier.hosts()


def test_a_move_whose_renames_were_not_synced_syncs_them_when_repeated(tmp_path, monkeypatch):
    settings, failing, synced = Settings(), [True], []

    def sync(folder):
        synced.append(folder)
        if failing:
            raise OSError(errno.EIO, "Input/output error")

    reshard(tmp_path, settings, 2, [parse_address("http://seed.test/")])
    monkeypatch.setattr(resharding_module, "sync_folder", sync)
    with pytest.raises(DiskFailed, match=str(tmp_path / "crawl")):
        reshard(tmp_path, settings, 3, [])
    failed = synced.pop()
    failing.clear()
    synced.clear()
    assert reshard(tmp_path, settings, 3, []).shards == (0, 1, 2)
    assert failed in synced


def test_parcels_come_back_whole_or_not_at_all(tmp_path):
    parcel = ShardMessage(
        3,
        [ForwardedLink("http://a.test/", 2, 1.5, 0, True)],
        ["http://b.test/"],
        [RobotsRequest("http://a.test:80", "http://c.test/robots.txt")],
        [RobotsResponse("http://a.test:80", "http://c.test/robots.txt", Outcome.OK, 200, 0.1, "", "", b"\0x")],
    )
    path = tmp_path / "03-1.parcel"
    write_message(path, parcel)
    assert read_message(path) == parcel
    assert len(parcel) == 4
    good = path.read_bytes()
    for bad in (b"", good[:10], good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b"X" + good[1:]):
        path.write_bytes(bad)
        with pytest.raises(CorruptFile, match="03-1"):
            read_message(path)
    path.write_bytes(good[:8] + b"\x07" + good[9:])
    with pytest.raises(NewerFormat, match="format 7"):
        read_message(path)


def links_for(ring: HostPartitioner, number: int, count: int) -> list[FetchRequest]:
    hosts = [f"h{n}.test" for n in range(1000) if ring.owner(f"h{n}.test") == number]
    return [FetchRequest(parse_address(f"http://{hosts[n % len(hosts)]}/{n}")) for n in range(count)]


def test_links_stay_until_they_are_settled_and_nobody_is_drowned(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.crawl.sharding.shard_router._MAX_MESSAGES", 3)
    monkeypatch.setattr("periplus.crawl.sharding.shard_router._BATCH", 10)
    monkeypatch.setattr("periplus.crawl.sharding.shard_router._MAX_UNSENT", 25)
    ring = HostPartitioner((0, 1))
    sender, receiver = (ShardRouter(tmp_path, number, (0, 1), StoreSettings()) for number in (0, 1))
    dues = links_for(ring, 1, 100)
    own = links_for(ring, 0, 5)
    assert sender.route([*dues[:10], *own], set()) == own
    assert sender.route(dues[:10], set()) == []  # sent a moment ago: not again
    for begin in range(0, 60, 10):
        sender.route(dues[begin : begin + 10], {dues[0].address.key})
        sender.send()
    assert sender.is_congested()  # three parcels are in the inbox, the rest is kept
    assert sender.unsent() == 30
    taken = received_links(receiver)
    assert receiver.received == 3
    assert receiver.receive() == []
    assert receiver.unacknowledged == 3
    again = ShardRouter(tmp_path, 1, (0, 1), StoreSettings())  # the receiver dies before its snapshot
    assert received_links(again) == taken
    again.acknowledge()
    sender.send()
    assert sender.unsent() == 0
    taken += received_links(again)
    again.acknowledge()
    assert taken == [due.address.url for due in dues[:60]]
    assert not list((mailbox_dir(tmp_path, 1) / "inbox").iterdir())
    sender.route(dues[60:], set())
    for _ in range(9):
        sender.send(everything=True)  # before a snapshot there is always room
    assert sender.unsent() == 0


def received_links(shard: ShardRouter) -> list[str]:
    return [link.url for message in shard.receive() for link in message.links]


def test_a_parcel_that_comes_when_another_is_gone_is_on_its_way(tmp_path):
    """As many are in the inbox as the receiver said that it holds, and yet it has to take one more."""
    dues = links_for(HostPartitioner((0, 1)), 1, 2)
    sender, receiver = (ShardRouter(tmp_path, number, (0, 1), StoreSettings()) for number in (0, 1))
    inbox = mailbox_dir(tmp_path, 1) / "inbox"
    assert mailbox_mark(inbox) == receiver.mark == 0
    sender.route(dues[:1], set())
    sender.send(everything=True)
    assert mailbox_mark(inbox) != receiver.mark
    receiver.receive()
    said = receiver.mark
    assert mailbox_mark(inbox) == said
    receiver.acknowledge()
    sender.route(dues[1:], set())
    sender.send(everything=True)
    assert len(list(inbox.iterdir())) == 1
    assert mailbox_mark(inbox) not in (said, receiver.mark)


def test_three_shards_find_what_one_finds(server, fast, fake_web, tmp_path, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()
    with together(data, settings, fake_web.seeds, 3) as crawl:
        crawl.turns()
        assert all(status.statistics.pages for status in crawl.known().values())
    visits = read_stored(data, settings)
    assert {page.url for page in fake_web.truth().pages} <= urls_of(visits)
    assert len({visit.url for visit in visits}) == len(visits)
    assert not fake_web.truth().blocked & server.requests().counts.keys()
    assert set(server.requests().counts.values()) == {1}
    with pytest.raises(BadInput, match="3 shards"):
        Crawler(data, settings)
    assert count_shards(data) == 3


def test_hosts_move_with_all_that_is_known_of_them(server, fast, fake_web, tmp_path, read_stored, urls_of):
    """One process, then three, then two, one again: nothing is lost, asked for twice, or forgotten."""
    data, settings = tmp_path / "data", fast()
    crawler = Crawler(data, settings, fake_web.seeds)
    while crawler.statistics().pages < 60:
        crawler.step()
    crawler.close()
    seen = crawler.statistics().seen
    for count, pages in ((3, 120), (2, 180), (4, 240)):
        with together(data, settings, (), count) as crawl:
            counted = sum(shard.statistics().seen for shard in crawl.shards)
            assert counted == seen
            crawl.turns(lambda pages=pages, crawl=crawl: pages_of(crawl) >= pages)
        seen = sum(shard.statistics().seen for shard in crawl.shards)
    reshard(data, settings, 1, [])
    last = Crawler(data, settings).run()
    visits = read_stored(data, settings)
    assert {page.url for page in fake_web.truth().pages} <= urls_of(visits)
    assert last.pages == sum(visit.page is not None and visit.page.kind.startswith("text/") for visit in visits)
    twice = {url: n for url, n in server.requests().counts.items() if n > 1}
    # What was under way when a shard was closed is asked for again; robots.txt that is known is not.
    assert len(twice) <= 4 * settings.fetch.connections
    assert sum(url.endswith("/robots.txt") for url in twice) <= 4
    assert len({visit.url for visit in visits}) == len(visits)


def pages_of(crawl: Together) -> int:
    return sum(shard.statistics().pages for shard in crawl.shards)


def waiting(data, settings) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Give the shard of each host, and what waits there; the files stay as they are."""
    topology, found = read_topology(data), {}
    ring = HostPartitioner(topology.shards)
    for number in topology.shards:
        with resharding_module._open_shard(data, settings, number, ring, 1.0) as (memory, _):
            for host in memory.frontier.export_hosts(memory.frontier.hosts()):
                assert host.name not in found
                assert ring.owner(host.name) == number
                found[host.name] = (number, tuple(sorted(entry.url for entry in host.queue)))
    return found


def test_a_move_that_is_killed_is_done_wholly_or_not_at_all(server, fast, fake_web, tmp_path, monkeypatch):
    """The process dies at the n-th file that a move replaces, for every n."""
    settings = fast(pages=40)
    Crawler(tmp_path / "begin", settings, fake_web.seeds).run()
    before = waiting(tmp_path / "begin", settings)
    for after in range(100):
        data = tmp_path / str(after)
        shutil.copytree(tmp_path / "begin", data)
        died = killed_in_move(monkeypatch, data, settings, 3, after)
        # Whoever comes next finishes it; all that waited still does, once, at the shard that has its host.
        reshard(data, settings, 3, [])
        found = waiting(data, settings)
        assert {name: urls for name, (_, urls) in found.items()} == {name: urls for name, (_, urls) in before.items()}
        assert {number for number, _ in found.values()} == {0, 1, 2}
        if not died:
            break
    assert 6 <= after < 99


def test_a_damaged_snapshot_of_a_shard_is_made_again_from_all(server, fast, fake_web, tmp_path, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()
    with together(data, settings, fake_web.seeds, 3) as crawl:
        crawl.turns(lambda: pages_of(crawl) >= 80)
    (data / "crawl" / "shard-01" / "frontier.bin").write_bytes(b"damaged")
    with together(data, settings, (), 3) as crawl:
        assert "rebuilt" in crawl.shards[1].statistics().notes[0]
        crawl.turns()
    visits = read_stored(data, settings)
    assert {page.url for page in fake_web.truth().pages} <= urls_of(visits)
    assert len({visit.url for visit in visits}) == len(visits)


def test_all_shards_together_keep_the_limit(server, fast, fake_web, tmp_path):
    for most in (1, 37, 100):
        with together(tmp_path / str(most), fast(pages=most), fake_web.seeds, 3) as crawl:
            crawl.turns()
            assert pages_of(crawl) == most


def test_settings_are_meant_for_the_whole():
    whole = Settings(frontier=FrontierSettings(per_address=16, memory_mb=256), fetch=FetchSettings(connections=50))
    part = divide_settings(whole, 4)
    assert (part.frontier.per_address, part.frontier.memory_mb, part.fetch.connections) == (4, 64, 13)
    part = divide_settings(Settings(frontier=FrontierSettings(per_address=0, memory_mb=1)), 64)
    assert (part.frontier.per_address, part.frontier.memory_mb, part.store.keep_bytes) == (0, 1, 0)
    assert divide_settings(whole, 64).frontier.per_address == 1


def test_what_the_idle_do_not_need_goes_to_others(tmp_path):
    (tmp_path / "crawl").mkdir()
    quotas, figures = Quotas(tmp_path, 1000), sum_statistics([])
    had, known = {0: 0, 1: 0}, {0: 0, 1: 0}
    for _ in range(200):
        shards = {n: CrawlStatus(1, "idle" if n else "running", figures, pages=had[n], quota=known[n]) for n in had}
        quotas.distribute(shards)
        told = read_quotas(tmp_path)
        known = {n: told.get(n, 0) for n in had}
        assert known[0] + known[1] <= 1000
        had[0] = known[0]
    assert had[0] == 1000
    assert quotas.is_exhausted({0: CrawlStatus(1, "full", figures, pages=1000), 1: CrawlStatus(1, "idle", figures)})


def test_a_shard_that_counts_anew_has_no_more_for_it(tmp_path):
    """Second looks are counted from the beginning of a process; those of one that was killed count too."""
    (tmp_path / "crawl").mkdir()
    quotas, figures, had, killed = Quotas(tmp_path, 100), sum_statistics([]), 0, 0
    for turn in range(60):
        if turn in (3, 9):
            quotas.note_restart(0, had)
            killed, had = killed + had, 0
        quotas.distribute({0: CrawlStatus(1, "running", figures, pages=had, quota=had)})
        told = read_quotas(tmp_path)
        assert killed + told[0] <= 100
        had = told[0]
    assert killed > 0
    assert killed + had == 100


def test_robots_that_has_moved_to_another_shard(tmp_path):
    """The shard that has the host asks for it, within its pauses, and gives the answer back."""
    ring = HostPartitioner((0, 1))
    route, theirs = (next(f"h{n}.test" for n in range(99) if ring.owner(f"h{n}.test") == k) for k in (0, 1))
    web = ScriptedWeb()
    try:
        settings = web.settings(tmp_path, route, theirs, scope="web")
        web.put(f"http://{route}/robots.txt", "", status=302, Location=f"http://{theirs}/rules")
        web.put(f"http://{theirs}/rules", "User-agent: *\nDisallow: /secret\n", "text/plain")
        web.put(f"http://{route}/", '<a href="/secret">s</a> <a href="/open">o</a>')
        web.put(f"http://{route}/open", "<p>open")
        with together(tmp_path / "data", settings, [f"http://{route}/"], 2) as crawl:
            crawl.turns()
            assert crawl.known()[0].statistics.errors == {"robots": 1}
        assert web.requests.count(f"http://{theirs}/rules") == 1
        assert f"http://{route}/open" in web.requests
        assert f"http://{route}/secret" not in web.requests
    finally:
        web.close()


def test_a_seed_that_moves_widens_the_scope_of_all(tmp_path):
    ring = HostPartitioner((0, 1))
    route, theirs = (next(f"h{n}.test" for n in range(99) if ring.owner(f"h{n}.test") == k) for k in (0, 1))
    web = ScriptedWeb()
    try:
        settings = web.settings(tmp_path, route, theirs, scope="host")
        web.put(f"http://{route}/", "", status=301, Location=f"http://{theirs}/")
        web.put(f"http://{theirs}/", '<a href="/in">in</a>')
        web.put(f"http://{theirs}/in", f'<p>in <a href="http://{route}/back">back</a>')
        web.put(f"http://{route}/back", "<p>back")
        with together(tmp_path / "data", settings, [f"http://{route}/"], 2) as crawl:
            crawl.turns()
        assert {f"http://{theirs}/in", f"http://{route}/back"} <= set(web.requests)
    finally:
        web.close()


@pytest.mark.parametrize("text", ["", "{", '{"shards": []}', '{"shards": [1]}', '{"shards": [0, 0]}', "[]"])
def test_a_damaged_list_of_shards_is_named(tmp_path, text):
    (tmp_path / "crawl" / "shard-01").mkdir(parents=True)
    (tmp_path / "crawl" / "shards.json").write_text(text)
    with pytest.raises(CorruptFile, match=r"shards\.json.*\[0, 1\]"):
        read_topology(tmp_path)


def test_figures_of_each_shard(tmp_path):
    assert read_topology(tmp_path) == Topology()
    one = CrawlStatistics(3, 4, 1.5, {"gone": 1}, 10, 2, 1, 1, 9, 5.0, slowest=(("a.test", 2.0),), recent=("u",))
    other = CrawlStatistics(4, 4, 2.0, {"gone": 2, "dns": 1}, 1, 0, 0, 3, 1, 7.0, slowest=(("b.test", 3.0),))
    both = sum_statistics([one, other])
    assert (both.pages, both.rate, both.errors, both.hosts) == (7, 3.5, {"gone": 3, "dns": 1}, 4)
    assert both.slowest == (("b.test", 3.0), ("a.test", 2.0))
    text = as_metrics({0: one, 7: other})
    assert 'periplus_crawl_pages_total{shard="7"} 4\n' in text
    assert 'periplus_crawl_failures_total{shard="0",outcome="gone"} 1\n' in text
    assert text.count("# TYPE periplus_crawl_pages_total") == 1


def test_prometheus_reads_the_metrics_of_a_crawl():
    many = CrawlStatistics(123_456_789, 234_567_891, 1.5, {"gone": 1, "dns": 7}, 10, 2, 1, 1, 9, 5.0)
    for statistics, labels in (({3: many}, {"shard": "3"}), (many, {})):
        families = {family.name: family for family in text_string_to_metric_families(as_metrics(statistics))}
        assert families["periplus_crawl_pages"].type == "counter"
        assert families["periplus_crawl_rate"].type == "gauge"
        assert all(family.documentation for family in families.values())
        [pages] = families["periplus_crawl_pages"].samples
        assert (pages.name, pages.labels, pages.value) == ("periplus_crawl_pages_total", labels, 123_456_789)
        failures = {sample.labels["outcome"]: sample.value for sample in families["periplus_crawl_failures"].samples}
        assert failures == {"gone": 1, "dns": 7}


def test_each_shard_looks_again_at_pages_of_its_own_hosts(server, fast, fake_web, tmp_path, read_stored):
    """Also at those that another shard has stored, before their host moved."""
    data = tmp_path / "data"
    Crawler(data, fast(pages=60), fake_web.seeds).run()
    once = {visit.url for visit in read_stored(data, fast()) if visit.page and visit.page.kind.startswith("text/")}
    before = server.requests().counts
    with together(data, fast(recrawl=True, recrawl_per_day=10**9, pages=200), (), 3) as crawl:
        assert sum(len(shard._state.frontier.hosts()) for shard in crawl.shards) >= 3
        crawl.turns()
    again = {visit.url for visit in read_stored(data, fast()) if visit.revisit}
    asked = {url for url in once if server.requests().counts[url] == before[url] + 1}
    assert once <= again
    assert asked >= once
    shards = {HostPartitioner((0, 1, 2)).owner(parse_address(url).host) for url in again}
    assert len(shards) == 3


def killed(crawl: Together, place: int) -> None:
    """Let a shard end as kill -9 would between two turns: no snapshot, nothing sent; then start it again."""
    shard = crawl.shards[place]
    shard._state.save = shard._shard.send = shard._shard.acknowledge = lambda *given, **named: None
    shard._release()
    crawl.shards[place] = crawl.start(place)


@pytest.mark.parametrize("seed", range(2))
def test_no_link_is_lost_whoever_is_killed_when(tmp_path, monkeypatch, seed):
    """Chains from host to host, where each page is known by one link only: a link that is lost ends a chain."""
    chance = random.Random(seed)
    if seed:
        # Links stay with their sender for a while, and are there when it is killed.
        monkeypatch.setattr("periplus.crawl.sharding.shard_router._MAX_AGE", 0.02)
        monkeypatch.setattr(ShardRouter, "send", partialmethod(unhurried, ShardRouter.send))
    web = ScriptedWeb()
    try:
        hosts = [f"h{n}.test" for n in range(9)]
        settings = web.settings(tmp_path, *hosts, scope="web", checkpoint_seconds=0.005, commit_seconds=0.005)
        pages = [[f"http://{chance.choice(hosts)}/{chain}-{step}" for step in range(25)] for chain in range(4)]
        for chain in pages:
            for url, following in zip(chain, [*chain[1:], chain[-1]], strict=True):
                web.put(url, f'<title>{url}</title><p>{url} <a href="{following}">on</a>')
        data = tmp_path / "data"
        with together(data, settings, [chain[0] for chain in pages], 3) as crawl:

            def kill_some() -> bool:
                if chance.random() < 0.2:
                    killed(crawl, chance.randrange(3))
                return False

            crawl.turns(kill_some)
        with PageStore.open(data / "store", settings.store) as store:
            stored = Counter(visit.url for visit in store.records())
        assert stored == Counter(url for chain in pages for url in chain)
    finally:
        web.close()


def unhurried(self, real, everything: bool = False, at_once: bool = False) -> None:
    real(self, everything)
