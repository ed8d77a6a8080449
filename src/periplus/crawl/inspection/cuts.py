"""What limits keep from being fetched or read: counted while a crawl runs, and named with the setting that does it."""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from periplus.records import LIST_KIND, FetchRecord, Outcome
from periplus.settings import Settings

__all__ = ["Cut", "CutKind", "WaitingCounts", "count_cuts", "list_cuts", "sum_cuts"]

_MAX_NAMED: Final = 5
_HOSTS_A_SECOND: Final = 5_000
"""Suspended hosts whose URLs are counted again in a second of a crawl."""


class CutKind(enum.StrEnum):
    """What was cut. The names are written to disk."""

    BODY = "bodies"
    LIST = "lists"
    LIST_FAULT = "list-faults"
    TEXT = "texts"
    DEFERRED_LINKS = "deferred-links"
    LINKS = "links"
    DEPTH = "depth"
    LONG_URL = "long-urls"
    LISTS_OF_HOST = "lists-of-host"
    REDIRECTS = "redirects"
    TOO_LARGE = "too-large"
    PAGES = "pages"
    BYTES = "bytes"
    MINUTES = "minutes"
    HOST_PAGES = "host-pages"
    HOST_BYTES = "host-bytes"
    HOST_DAY = "host-day"
    CRAWL_DELAY = "crawl-delay"
    BLOCKED = "blocked"
    NO_ANSWER = "no-answer"


_EFFECTS: Final[Mapping[CutKind, tuple[str, str]]] = {
    CutKind.BODY: ("pages are longer than is read; their beginnings are kept", "fetch.max_bytes"),
    CutKind.LIST: ("sitemaps or feeds are longer than is read", "fetch.max_list_bytes"),
    CutKind.LIST_FAULT: ("sitemaps or feeds could be read in part only; the crawl log says why", ""),
    CutKind.TEXT: ("pages have more text than is kept", "parse.max_text"),
    CutKind.DEFERRED_LINKS: ("links of very long pages come behind the other URLs of their hosts", "parse.max_links"),
    CutKind.LINKS: ("pages have more links than are read", "parse.max_deferred_links"),
    CutKind.DEPTH: ("pages are as far from a seed as is followed, and their links are not", "crawl.depth"),
    CutKind.LONG_URL: ("links have longer URLs than are followed", "crawl.max_url"),
    CutKind.LISTS_OF_HOST: ("sitemaps or feeds are more than are read of their hosts", "crawl.lists_per_host"),
    CutKind.REDIRECTS: ("redirects come after more others than are followed", ""),
    CutKind.TOO_LARGE: ("documents are too long, and cannot be read without their ends", "fetch.max_bytes"),
    CutKind.PAGES: ("URLs wait behind the limit of pages", "crawl.pages"),
    CutKind.BYTES: ("URLs wait behind the limit of bytes", "crawl.bytes"),
    CutKind.MINUTES: ("URLs wait behind the limit of time", "crawl.minutes"),
    CutKind.HOST_PAGES: ("URLs wait behind the limit of pages of their hosts", "crawl.host_pages"),
    CutKind.HOST_BYTES: ("URLs wait behind the limit of bytes of their hosts", "crawl.host_bytes"),
    CutKind.HOST_DAY: ("URLs wait for another day", "crawl.host_requests_per_day"),
    CutKind.CRAWL_DELAY: ("URLs wait at hosts that ask for a longer Crawl-delay", "frontier.max_crawl_delay"),
    CutKind.BLOCKED: ("URLs wait at hosts that the operator has blocked", ""),
    CutKind.NO_ANSWER: ("URLs wait for hosts that do not answer", "frontier.max_failures"),
}


class Cut(msgspec.Struct, frozen=True):
    """What one limit keeps from being fetched or read."""

    kind: str
    """One of `CutKind`."""
    count: int
    effect: str
    """What it is that was counted, and what becomes of it."""
    setting: str = ""
    """The setting of the limit; '' if it has none."""
    limit: float = 0.0
    """Its value."""
    hosts: tuple[str, ...] = ()
    """Hosts that it concerns, a few of them."""
    more_hosts: int = 0
    """How many hosts besides."""
    text: str = ""
    """All of this in a sentence."""


def _describe(cut: Cut) -> Cut:
    """Return a cut with the sentence that names it, its setting and its hosts."""
    more = f" and {cut.more_hosts:,} more" if cut.more_hosts else ""
    hosts = f": {', '.join(cut.hosts)}{more}" if cut.hosts else ""
    setting = f" ({cut.setting} = {cut.limit:.15g})" if cut.setting else ""
    return msgspec.structs.replace(cut, text=f"{cut.count:,} {cut.effect}{setting}{hosts}.")


def count_cuts(cuts: dict[str, int], record: FetchRecord, settings: Settings) -> None:
    """Count what is missing in a record."""
    page = record.page
    if page is None:
        return
    is_list = page.kind == LIST_KIND
    if record.truncated:
        _count(cuts, CutKind.LIST if is_list else CutKind.BODY)
    elif is_list and record.fault:
        _count(cuts, CutKind.LIST_FAULT)
    if not is_list and len(page.links) >= settings.parse.all_links:
        _count(cuts, CutKind.LINKS)
    # White space is removed at the end of what is kept.
    if not is_list and len(page.text) >= settings.parse.max_text - 1:
        _count(cuts, CutKind.TEXT)


def _count(cuts: dict[str, int], kind: CutKind) -> None:
    cuts[kind.value] = cuts.get(kind.value, 0) + 1


def list_cuts(
    settings: Settings,
    cuts: Mapping[str, int],
    outcomes: Mapping[str, int],
    behind: Mapping[CutKind, tuple[int, Sequence[str]]],
) -> tuple[Cut, ...]:
    """Return all cuts of a crawl.

    cuts: those that `count_cuts` and others have counted; outcomes: of its requests; behind: the URLs that wait behind
    a limit, with the hosts where they do.
    """
    counts = {kind: count for kind in CutKind if (count := cuts.get(kind.value, 0))}
    if too_large := outcomes.get(Outcome.TOO_LARGE.value, 0):
        counts[CutKind.TOO_LARGE] = too_large
    found = [_make_cut(settings, kind, count) for kind, count in counts.items()]
    found += [_make_cut(settings, kind, count, hosts) for kind, (count, hosts) in behind.items() if count]
    return tuple(found)


def _make_cut(settings: Settings, kind: CutKind, count: int, hosts: Sequence[str] = ()) -> Cut:
    effect, setting = _EFFECTS[kind]
    section, _, name = setting.partition(".")
    limit = float(getattr(getattr(settings, section), name)) if setting else 0.0
    named = tuple(hosts[:_MAX_NAMED])
    return _describe(Cut(kind.value, count, effect, setting, limit, named, len(hosts) - len(named)))


def sum_cuts(parts: Iterable[Sequence[Cut]]) -> tuple[Cut, ...]:
    """Return the cuts of several processes of a crawl together."""
    summed: dict[str, Cut] = {}
    for cut in (cut for part in parts for cut in part):
        known = summed.get(cut.kind)
        if known is None:
            summed[cut.kind] = cut
            continue
        hosts = (*known.hosts, *cut.hosts)
        more = known.more_hosts + cut.more_hosts + max(0, len(hosts) - _MAX_NAMED)
        count = known.count + cut.count
        known = msgspec.structs.replace(known, count=count, hosts=hosts[:_MAX_NAMED], more_hosts=more)
        summed[cut.kind] = _describe(known)
    return tuple(summed.values())


class WaitingCounts:
    """The URLs that wait at suspended hosts, by limit; counted again at intervals that grow with the hosts."""

    def __init__(self) -> None:
        self._next = 0.0
        self._counts: dict[CutKind, tuple[int, Sequence[str]]] = {}

    def count(
        self, find_hosts: Callable[[], Mapping[str, CutKind]], waiting: Callable[[str], int], now: float, *, anew: bool
    ) -> dict[CutKind, tuple[int, Sequence[str]]]:
        """Return the URLs that wait, and the hosts where they do, by limit; `anew`, whatever that costs."""
        if anew or now >= self._next:
            hosts = find_hosts()
            self._next = now + len(hosts) / _HOSTS_A_SECOND
            self._counts = dict(self._sum(hosts, waiting))
        return self._counts

    def _sum(
        self, hosts: Mapping[str, CutKind], waiting: Callable[[str], int]
    ) -> Iterator[tuple[CutKind, tuple[int, Sequence[str]]]]:
        by_kind: dict[CutKind, dict[str, int]] = {}
        for name, kind in hosts.items():
            if urls := waiting(name):
                by_kind.setdefault(kind, {})[name] = urls
        for kind, counts in by_kind.items():
            yield kind, (sum(counts.values()), sorted(counts, key=lambda name: -counts[name]))
