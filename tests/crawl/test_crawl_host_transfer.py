"""Hosts that move to another shard as messages: all that is known of them arrives, and waits at least as long."""

import msgspec
import numpy as np
import pytest

from periplus.crawl import ForwardedLink, HostPartitioner, HostTransfer, RobotsResponse, TransferMessage
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.policies.form_filler import HostForms
from periplus.crawl.robots_cache import CachedRobots
from periplus.crawl.sharding import host_transfer
from periplus.crawl.sharding.host_transfer import export_hosts, host_of_key, import_hosts, split_message
from periplus.records import FetchRequest, Outcome, VisitReport
from periplus.settings import FrontierSettings, Settings
from periplus.url import parse_address

SETTINGS = Settings(frontier=FrontierSettings(delay=5.0, delay_factor=0))
SHARDS = (0, 1, 2)
OWNER = HostPartitioner(SHARDS).owner
HOSTS = [f"host{number}.test" for number in range(12)]


def new_state(folder) -> CrawlState:
    return CrawlState(folder / "crawl" / "frontier.bin", SETTINGS)


def move(state: CrawlState, folder, shards=SHARDS, number: int = 0, now: float = 1_000.0, arrival: float = 50.0):
    """Move hosts between states by encoded messages; the clock of the receivers differs."""
    others = {shard: new_state(folder / str(shard)) for shard in shards if shard != number}
    parts = list(export_hosts(state, HostPartitioner(shards).owner, number, shards, now))
    for shard, part in parts:
        data = msgspec.msgpack.encode(TransferMessage(number, transfer=part))
        message = msgspec.msgpack.decode(data, type=TransferMessage)
        import_hosts(others[shard], message.transfer, arrival)
    return others, parts


def add(state: CrawlState, *urls: str) -> None:
    state.frontier.add([FetchRequest(parse_address(url)) for url in urls])


def simhash(number: int) -> int:
    return (number + 1) * 0x9E3779B97F4A7C15 % (1 << 64)


def urls_of(state: CrawlState) -> set[str]:
    return {entry.url for host in state.frontier._hosts.values() for entry in host.entries()}


def test_queues_and_delays_move(tmp_path):
    state = new_state(tmp_path / "0")
    add(state, *(f"http://{host}/{page}" for host in HOSTS for page in range(3)))
    for _ in HOSTS:  # one page of each host was just fetched
        request = state.frontier.next(1_000.0)
        state.frontier.done(request, Outcome.OK, 1_000.0, 0.1)
    before = urls_of(state)
    assert len(before) == 24
    others, parts = move(state, tmp_path, now=1_002.0)
    moved = {shard: urls_of(other) for shard, other in others.items()}
    assert urls_of(state).union(*moved.values()) == before
    for shard, urls in {0: urls_of(state), **moved}.items():
        assert urls
        assert {OWNER(parse_address(url).host) for url in urls} == {shard}
    for other in others.values():
        assert other.frontier.next(52.9) is None  # 3 of the 5 seconds remain, by the receiver's clock
        assert other.frontier.next(53.1) is not None
        # What was seen anywhere is not fetched again.
        add(other, *(f"http://{host}/{page}" for host in HOSTS for page in range(3)))
        assert urls_of(other) <= before
        assert other.frontier.statistics().hosts == sum(
            OWNER(host) != 0 and host in str(urls_of(other)) for host in HOSTS
        )
    assert [part.last for shard, part in parts if shard == 1][-1]
    assert sum(part.last for _, part in parts) == 2


def test_what_was_learned_moves(tmp_path):
    state = new_state(tmp_path / "0")
    for number, host in enumerate(HOSTS):
        state.robots.import_entries([CachedRobots(f"http://{host}:80", 2_000.0, b"User-agent: *\nDisallow: /x", 900.0)])
        state.outlinks.lists_of_host[host] = number
        state.outlinks.links_to_host[host] = 100 + number
        state.pages_of_host[host] = 200 + number
        state.outlinks.forms.state.hosts[host] = HostForms(words=["tide"], sent=number)
        state.outlinks.traps.state.noise[host] = ["sid"]
        state.outlinks.traps.state.votes[f"{host} sid"] = 3
        state.outlinks.traps.state.copied[host] = (50, 50)
        state.duplicates.urls.add(7_000 + number, f"http://{host}/copy")
        state.duplicates.near.add(simhash(number), 7_000 + number)
    state.outlinks.traps.refresh_mirrors()
    state.outlinks.lists.add(99)
    state.outlinks.traps.state.probes[5] = HOSTS[0]
    state.visit_reports.state.digests[11] = 12
    others, _ = move(state, tmp_path)
    states = {0: state, **others}
    for number, host in enumerate(HOSTS):
        owner = states[OWNER(host)]
        now = 1_000.0 if OWNER(host) == 0 else 50.0
        assert not owner.robots.rules(f"http://{host}:80", now + 999.0).allows("/x")
        assert owner.robots.rules(f"http://{host}:80", now + 1_001.0) is None
        assert owner.outlinks.lists_of_host[host] == number
        assert owner.outlinks.links_to_host[host] == 100 + number
        assert owner.pages_of_host[host] == 200 + number
        assert owner.outlinks.forms.state.hosts[host] == HostForms(words=["tide"], sent=number)
        assert owner.outlinks.traps.state.noise[host] == ["sid"]
        assert owner.outlinks.traps.state.votes[f"{host} sid"] == 3
        assert host in owner.outlinks.traps.mirrors
        assert owner.duplicates.find_duplicate(7_000 + number, "http://new.test/") == f"http://{host}/copy"
        assert owner.duplicates.near.find(simhash(number)) == 7_000 + number
        for shard, other in states.items():
            if other is not owner:
                assert host not in other.pages_of_host, shard
                assert other.robots.rules(f"http://{host}:80", 0.0) is None
    for other in others.values():
        assert 99 in other.outlinks.lists
        assert other.outlinks.traps.state.probes == {5: HOSTS[0]}
        assert other.visit_reports.state.digests == {11: 12}


def test_parts_are_bounded_and_a_long_queue_is_split(tmp_path, monkeypatch):
    for name in ("_MAX_KEYS", "_MAX_FACTS"):
        monkeypatch.setattr(host_transfer, name, 4)
    monkeypatch.setattr(host_transfer, "_MAX_QUEUE_BYTES", 300)
    monkeypatch.setattr(host_transfer, "_MAX_ROBOTS_BYTES", 300)
    state = new_state(tmp_path / "0")
    host = next(host for host in HOSTS if OWNER(host) == 1)
    add(state, *(f"http://{host}/{page}" for page in range(30)))
    for number in range(10):
        state.robots.import_entries([CachedRobots(f"http://{host}:{number}", 2e3, b"x" * 250, 9e2)])
        state.outlinks.traps.state.votes[f"{host} {number}"] = 1
        state.duplicates.urls.add(number, f"http://{host}/{number}")
    before = urls_of(state)
    others, parts = move(state, tmp_path)
    assert urls_of(others[1]) == before
    assert len(others[1].robots.entries(50.0)) == 10
    assert len(others[1].outlinks.traps.state.votes) == 10
    assert len(others[1].duplicates.urls) == 10
    for _, part in parts:
        assert sum(len(entry.url) for host in part.hosts for entry in host.queue) <= 300
        assert len(part.seen) <= 32
        assert sum(len(entry.body) for entry in part.robots) <= 300
        assert max((len(table) for table in part.tables.values()), default=0) <= 4


def test_a_shard_that_leaves_sends_everything_and_its_totals(tmp_path):
    state = new_state(tmp_path / "3")
    add(state, *(f"http://{host}/" for host in HOSTS))
    state.totals.pages, state.totals.outcomes = 9, {"ok": 9}
    others, _ = move(state, tmp_path, SHARDS, number=3)
    assert not state.frontier.hosts()
    assert state.totals.pages == 0
    assert [others[shard].totals.pages for shard in SHARDS] == [9, 0, 0]
    assert set().union(*(urls_of(other) for other in others.values())) == {f"http://{host}/" for host in HOSTS}


def test_hosts_come_back(tmp_path):
    """A shard that owned a host before has its keys, and fetches what still waits all the same."""
    first = new_state(tmp_path / "first")
    add(first, *(f"http://{host}/{page}" for host in HOSTS for page in range(2)))
    (others, _), waiting = move(first, tmp_path / "away", (0, 1)), urls_of(first)
    for _, part in export_hosts(others[1], lambda host: 0, 1, (0, 1), 50.0):
        import_hosts(first, part, 1_000.0)
    assert urls_of(first) == {f"http://{host}/{page}" for host in HOSTS for page in range(2)} > waiting


@pytest.mark.parametrize(
    ("key", "host"),
    [("a.test", "a.test"), ("a.test sid", "a.test"), ("https://a.test:443", "a.test"), ("http://[::1]:80", "[::1]")],
)
def test_keys_begin_with_hosts(key, host):
    assert host_of_key(key) == host


def test_seen_keys_of_others_are_not_counted_here(tmp_path):
    state = new_state(tmp_path)
    add(state, "http://a.test/")
    import_hosts(state, HostTransfer(seen=np.array([1, 2, 3], "<u8").tobytes()), 0.0)
    import_hosts(state, HostTransfer(seen=np.array([2, 3, 4], "<u8").tobytes()), 0.0)
    assert state.frontier.statistics().seen == 1
    assert len(state.frontier.seen_keys()) == 5


def test_a_message_is_split_by_its_bytes():
    links = [ForwardedLink(f"http://a.test/{number}/{'x' * 100}", 1, 0.5, 0, False) for number in range(20)]
    responses = [RobotsResponse("http://a.test:80", "http://b.test/", Outcome.OK, 200, 0.1, "", "", b"x" * 900)] * 3
    message = TransferMessage(1, links, ["http://seed.test/"], robots_responses=responses, reports=[VisitReport("u")])
    parts = list(split_message(message, 1_000))
    assert [link for part in parts for link in part.links] == links
    assert [response for part in parts for response in part.robots_responses] == responses
    assert [seed for part in parts for seed in part.seeds] == ["http://seed.test/"]
    assert [report for part in parts for report in part.reports] == [VisitReport("u")]
    assert max(len(msgspec.msgpack.encode(part)) for part in parts) < 1_200
    assert list(split_message(TransferMessage(1), 1_000)) == []
