"""The crawl folder and the reports of visits, as golden files."""

from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy as np

from formats.golden_files import NOW, GoldenFormat, content, plain
from formats.golden_store import DAY, WORDS, feed_visit, fetched_page
from periplus.checksums import add_text_checksum
from periplus.crawl.control import CrawlControl
from periplus.crawl.crawl_snapshot import read_snapshot
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.crawl.crawl_status import CrawlStatus, read_status, write_status
from periplus.crawl.inspection.cuts import Cut
from periplus.crawl.policies.form_filler import HostForms
from periplus.crawl.policies.original_urls import FILE_URLS, OriginalUrls
from periplus.crawl.reported_visits import POSITION_FILE, read_position
from periplus.crawl.sharding.mailbox import (
    ForwardedLink,
    RobotsRequest,
    RobotsResponse,
    ShardMessage,
    read_message,
    write_message,
)
from periplus.crawl.sharding.quotas import Quotas, read_quotas
from periplus.crawl.sharding.topology import Topology, mailbox_dir, read_topology, shard_dir, write_topology
from periplus.errors import CorruptFile
from periplus.frontier.frontier_snapshot import FrontierSnapshot, unpack
from periplus.frontier.host_states import HostState
from periplus.frontier.seen_set import SeenFile, SeenSet
from periplus.records import FetchRequest, FetchResult, Outcome, VisitReport
from periplus.settings import CrawlSettings, FocusSettings, FrontierSettings, Settings, StoreSettings
from periplus.signals.visit_counts import read_visit_counts, update_visit_counts
from periplus.signals.visit_reports import LogPosition, append_visit_reports, read_visit_reports
from periplus.store import PageStore
from periplus.url import parse_address

SETTINGS = Settings(
    frontier=FrontierSettings(delay=1.0, per_host=2, max_failures=2, retries=1, back_off=5.0, host_budget=2),
    crawl=CrawlSettings(scope="web"),
    focus=FocusSettings(topic="lighthouse tides harbour"),
)
STATISTICS = CrawlStatistics(
    pages=5, fetched=9, rate=1.5, errors={"gone": 2}, bytes=4_096, waiting=3, busy=1, hosts=4, seen=12, seconds=8.0,
    copies=1, given_up=1, recent=("http://harbour.test/",), slowest=(("light.test", 0.5),), notes=("A note.",),
    cuts=(Cut("depth", 2, "pages are far", "crawl.depth", 32.0, text="2 pages are far (crawl.depth = 32)."),),
)  # fmt: skip


_LATER = ("paused", "held", "behind", "cuts", "host_rows", "under_way")
_STEP = 10_000.0
"""Seconds between two requests: more than the Crawl-delay of any host, which is obeyed in full."""


def _due(url: str, rank: float = 0.0) -> FetchRequest:
    return FetchRequest(parse_address(url), 1, rank)


def write_crawl(folder: Path) -> None:
    """Write the snapshot of a crawl in two shards, hosts in every state, and all that lies beside it."""
    write_topology(folder, Topology((0, 1), ("http://harbour.test/",), (1,)))
    memory = CrawlState(folder / "crawl" / "frontier.bin", SETTINGS)
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        memory._open_focus(store)
        memory.add_seeds([parse_address("http://harbour.test/")])
        _learn(memory)
        _use_every_state(memory)
        store.append(*fetched_page(0))
        store.commit()
        memory.visit_reports.state.position = (1, 99)
        memory.visit_reports.state.digests = {parse_address("http://light.test/").key: 17}
        memory.save(1, NOW)
        memory.frontier.close()
    other = shard_dir(folder, 1)
    other.mkdir(parents=True, exist_ok=True)
    second = CrawlState(folder / "crawl" / "frontier.next", Settings())
    second.add_seeds([parse_address("http://chart.test/")])
    second.save(0, NOW, other / "frontier.next")
    _write_beside(folder)


def _learn(memory: CrawlState) -> None:
    """Feed records to a crawl state: links, a feed, forms, duplicates, totals."""
    for number in range(len(WORDS)):
        visit, _ = fetched_page(number)
        memory.count(visit, parse_address(visit.url).host)
        memory.add(memory.outlinks.extract(visit))
    memory.add(memory.outlinks.extract(feed_visit()))
    memory.totals.answered = 3
    robots = FetchResult(
        _due("http://harbour.test/robots.txt"), Outcome.OK, DAY, 200, (), b"User-agent: *\nDisallow: /x"
    )
    memory.robots.learn("http://harbour.test:80", robots, NOW)
    traps = memory.outlinks.traps.state
    traps.noise["harbour.test"] = ["sid"]
    traps.votes["harbour.test sid"] = 3
    traps.soft["light.test"] = 99
    traps.twins["www.harbour.test"] = "harbour.test"
    memory.outlinks.forms.state.hosts["harbour.test"] = HostForms(["tides", "fog"], 1, 2, 1)
    memory.outlinks.forms.state.pending[5] = "harbour.test"
    memory.outlinks.forms.state.filled[6] = None
    memory.outlinks.cuts["deferred-links"] = 7
    memory.errors_of_host["light.test"] = 2


def _use_every_state(memory: CrawlState) -> None:
    """Leave hosts busy, ready, held, waiting to try again, given up, parked, deferred, and with URLs on disk."""
    frontier = memory.frontier
    frontier.best_first = None
    names = ("busy", "ready", "held", "again", "given-up", "parked", "behind")
    frontier.add([_due(f"http://{name}.test/{n}", 100.0 - n) for n in range(2) for name in names])
    frontier.add([_due(f"http://disk.test/{n}", -n) for n in range(9)])
    now = NOW
    for _ in range(60):
        now += _STEP
        due = frontier.next(now)
        if due is None:
            break
        _end(memory, due, now)
    frontier.reserve("held.test", now + _STEP)
    frontier.add([_due("http://busy.test/late", 500.0), _due("http://ready.test/late", 1.0)])
    busy = frontier.next(now + 2 * _STEP)
    assert busy is not None


def _end(memory: CrawlState, due: FetchRequest, now: float) -> None:
    frontier, name = memory.frontier, due.address.host.partition(".")[0]
    if name == "parked":
        frontier.suspend(due, now)
    elif name == "given-up":
        frontier.done(due, Outcome.CONNECT, now, 0.1)
    elif name == "behind":
        memory.outlinks.regions.note_held(due.address, "its pages repeat what the site has")
        frontier.hold(due, now)
    elif name == "again":
        frontier.done(due, Outcome.SERVER_ERROR, now, 0.5, retry_after=900_000.0)
    elif name in ("ready", "busy", "disk"):
        frontier.requeue(due, now, 0.25, delay=9_000.0)
    else:
        frontier.done(due, Outcome.OK, now, 0.25, delay=2.0, ip="192.0.2.7")


def _write_beside(folder: Path) -> None:
    inbox = mailbox_dir(folder, 1) / "inbox"
    inbox.mkdir(parents=True)
    parcel = ShardMessage(
        0,
        [
            ForwardedLink("http://chart.test/a", 2, 1.5, 1, False),
            ForwardedLink("http://chart.test/map.xml", 1, 0.5, 0, True),
        ],
        ["http://chart.test/"],
        [RobotsRequest("http://harbour.test:80", "http://chart.test/robots.txt")],
        [RobotsResponse("http://a.test:80", "http://b.test/r", Outcome.OK, 200, 0.5, "", "", b"User-agent: *")],
    )
    write_message(inbox / "00-00001700000000000000.parcel", parcel)
    for shard, place in ((0, folder / "crawl"), (1, mailbox_dir(folder, 1))):
        counts = {"pages": 3, "quota": 8, "received": 2, "unacknowledged": 1, "mark": 5, "unsent": 4, "answered": 6}
        own = {"number": shard, **counts}
        write_status(place, CrawlStatus(4_000_000, "running", STATISTICS, NOW, (0, 1) if shard == 0 else (), **own))
    quotas = Quotas(folder, 40)
    quotas.distribute({number: CrawlStatus(1, "running", STATISTICS, number=number) for number in (0, 1)})
    (folder / "crawl" / "control").write_bytes(add_text_checksum(b"pause"))


def read_crawl(folder: Path) -> Any:
    """Return the snapshot as its fields are called on disk, what a crawl recovers from it, and what lies beside."""
    topology = read_topology(folder)
    state = read_snapshot(folder / "crawl" / "frontier.bin")
    next_state = read_snapshot(shard_dir(folder, 1) / "frontier.next")
    assert state is not None
    assert next_state is not None
    parcel = read_message(mailbox_dir(folder, 1) / "inbox" / "00-00001700000000000000.parcel")
    return {
        "topology": content(topology),
        "state": _without_regions(_without_weights(_without_mail(plain(msgspec.to_builtins(state))))),
        "hosts": _frontier_fields(unpack(state.frontier)),
        "next": plain(next_state.seeds),
        "recovered": _recovered(folder),
        "parcel": plain(parcel),
        "heard": plain(read_position(folder / "crawl" / POSITION_FILE)),
        "quotas": plain(read_quotas(folder)),
        "status": [
            _without_pause(content(read_status(place))) if read_status(place) else None
            for place in (folder / "crawl", mailbox_dir(folder, 1))
        ],
        "control": _without_pause(plain(CrawlControl(folder).status())),
    }


def _without_pause(status: Any) -> Any:
    """Return a status without what only later editions have, unless there is any of it."""
    if isinstance(status, list):
        return [_without_pause(part) for part in status]
    if not isinstance(status, dict):
        return status
    return {name: _without_pause(part) for name, part in status.items() if name not in _LATER or part}


def _frontier_fields(snapshot: FrontierSnapshot) -> Any:
    """Return a snapshot in the order of format 1, in which flags of a host stood for its state."""
    fields = plain(snapshot)
    assert not fields.pop()  # no files of keys
    for row, host in zip(fields[4], snapshot.hosts, strict=True):
        reserved = host.state in (HostState.RESERVED, HostState.SUSPENDED_RESERVED)
        deferred, tail = host.state is HostState.DEFERRED, row[12:]
        if not host.held and not host.held_chunks:  # as before format 3
            tail = tail[:-2]
        row[:] = [row[0], *row[2:8], host.is_suspended(), *row[8:12], deferred, *tail, reserved]
    return fields


def _without_regions(state: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot as editions had it before regions were learned and cuts counted, unless there are any."""
    for name in ("title_names", "second_hand"):  # of version 5 and 6
        if not any(state["regions"][name]):
            del state["regions"][name]
    learned = {name: value for name, value in state.items() if name != "regions" or value["regions"]}
    return {name: value for name, value in learned.items() if name not in ("cuts", "errors_of_host") or value}


def _without_mail(state: Any) -> Any:
    """Return a snapshot without mail, usage of limited hosts and files of URLs, which this one does not have."""
    assert not state.pop("mail")
    assert not state.pop("original_files")
    assert not state.pop("usage")
    return state


def _without_weights(state: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a processor may round otherwise, and the second frame, which is read by itself."""
    learned = state["focus"]["classifier"]
    for name in ("frequency", "idf", "weights", "steps"):
        learned[name] = len(learned[name])
    return {name: value for name, value in state.items() if name != "frontier"}


def _recovered(folder: Path) -> Any:
    """Resume the crawl; return the state of its frontier and what is fetched first."""
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        kept = msgspec.structs.replace(SETTINGS, focus=FocusSettings())
        memory = CrawlState.recover(folder / "crawl" / "frontier.bin", kept, store, [], NOW)
        if memory.notes:  # the snapshot was made again from the visits
            raise CorruptFile(memory.notes[0])
        frontier, order = memory.frontier, []
        now = NOW + 1e6
        while (due := frontier.next(now)) is not None:
            order.append([due.address.url, due.depth, due.attempt])
            frontier.done(due, Outcome.OK, now, 0.1)
            now += _STEP
        statistics = plain(frontier.statistics())
        frontier.close()
    statistics = {name: value for name, value in statistics.items() if name not in ("held", "behind") or value}
    return {"order": order, "statistics": statistics, "totals": plain(memory.totals)}


def write_originals(folder: Path) -> None:
    """Enter as many URLs as a file has."""
    table = OriginalUrls(folder / "crawl" / "originals")
    for number in range(FILE_URLS):
        table.add(7 * number + (number << 32), f"http://harbour.test/{number}")
    assert len(table.files) == 1


def read_originals(folder: Path) -> Any:
    """Return some of the URLs."""
    place = folder / "crawl" / "originals"
    head = (place / "00000000.urls").read_bytes()[:20]
    table = OriginalUrls.load(place, {}, [int.from_bytes(head[12:], "little")])
    return {
        "size": len(table),
        "urls": plain(dict(list(table.items())[::1_000])),
        "last": table.get(8_191 * (7 + (1 << 32))),
    }


def write_seen(folder: Path) -> None:
    """Enter as many keys as a file has, if that is few, and some more."""
    seen = SeenSet(folder=folder / "crawl" / "seen")
    with mock.patch("periplus.frontier.seen_set.FILE_KEYS", 512), mock.patch("periplus.frontier.seen_set._NEWEST", 512):
        for begin in (0, 512):
            seen.update([7 * number + (number << 32) for number in range(begin, begin + 512 - begin // 2)])
        rest, files = seen.dump()
    assert (len(rest), len(files)) == (8 * 256, 1)


def read_seen(folder: Path) -> Any:
    """Return what the file has."""
    place = folder / "crawl" / "seen"
    checksum = int.from_bytes((place / "00000001.keys").read_bytes()[12:20], "little")
    seen = SeenSet.load(np.zeros(0, np.uint64), place, [SeenFile(1, 512, checksum)])
    return {"size": len(seen), "keys": seen.keys()[::50].tolist()}


def write_passive(folder: Path) -> None:
    """Report visits, twice, and count them."""
    append_visit_reports(
        folder, [VisitReport(f"http://harbour.test/{n}", n + 1, f"d{n}", DAY + n, n + 1) for n in range(3)]
    )
    update_visit_counts(folder, 0.0)
    append_visit_reports(
        folder, [VisitReport("http://harbour.test/0", 5, "other", DAY + 9, 7), VisitReport("http://light.test/")]
    )


def read_passive(folder: Path) -> Any:
    """Return the reports and the counts."""
    reports, position = read_visit_reports(folder, LogPosition())
    popularity = read_visit_counts(folder)
    return {
        "reports": plain(reports),
        "position": plain(position),
        "counts": plain(popularity._asdict()),
        "reporters": plain(popularity.reporters()),
    }


FORMATS = (
    GoldenFormat(
        "crawl",
        write_crawl,
        read_crawl,
        tolerant=("crawl/heard.json", "crawl/quotas.json", "*/status.json", "crawl/seeds.txt", "crawl/control"),
        unnumbered=("crawl/spill/*",),
        unread=("store/*", "crawl/seeds.txt", "crawl/control", "crawl/shard-01/seeds.txt", "periplus.json"),
    ),
    GoldenFormat("originals", write_originals, read_originals),
    GoldenFormat("seen", write_seen, read_seen),
    GoldenFormat(
        "passive",
        write_passive,
        read_passive,
        tolerant=("passive/*",),
        unread=("periplus.json",),
    ),
)
