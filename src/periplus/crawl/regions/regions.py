"""Regions of hosts, what their pages have brought, and which URLs are held back for it.

A region is what a path template, a parameter or a set of parameters describes on one host; a whole host; or the
hosts of one registered domain. No URL is held back for its looks. The evidence is what was fetched:

- *repetition*: pages that have (almost) nothing that their site did not have before are barren. A region whose pages
  are nearly all barren gets no more than it has earned by others; nor does a URL with a parameter whose pages are.
  A barren page whose title has a name that is new to the site, and to which a page with news links, is no evidence:
  references have a page for each function.
- *links*: what only barren pages link to is on probation. A region gets a few such pages, and two for each of them
  that was new; a link from a page with news of its own ends the probation. What a barren page with a new name links to
  on its own host is not on probation, but its names are no news: they would never end.
- *growth*: a region whose pages link to ever more URLs of the same region, none of which was seen before or is linked
  from elsewhere, gets a small share of the crawl.

What is held back waits in the frontier, is counted and listed, and returns when its region earns it, when a better page
links to it, or when the operator releases it. Everything is learned from fetch records, so that recovery, which replays
them, arrives at the same state.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from periplus.crawl.regions.novelty import NoveltyIndex, PageShingles
from periplus.crawl.regions.region_records import BARREN_RATIO, LINKS_DECAY, News, Region, RegionsState
from periplus.crawl.regions.title_names import TitleNames
from periplus.crawl.regions.url_templates import UrlTemplates
from periplus.errors import BadUrl
from periplus.records import LIST_KIND, Address, FetchRecord, Outcome
from periplus.url import parse_address, registered_domain

__all__ = ["HeldRegion", "RegionTable"]

_MIN_SHINGLES: Final = 3.0
"""New shingles of a page that has something new."""
_MIN_SAMPLE: Final = 16
"""Shingles in the sample from which on it is no chance that none of them is new."""
_MAX_MARKS: Final = 12
_PROBATION_BASE: Final = 4
_PROBATION_BASE_HOST: Final = 8
_SAMPLE: Final = 8
"""Links of a page whose regions are determined."""
_FEW_PARAMETERS: Final = 4
"""Parameters of a URL that are learned from its page; more are only looked up."""
_MAX_REGIONS: Final = 50_000
_MAX_RECENT: Final = 4_096
_MAX_PROBATION: Final = 500_000
"""Keys that are remembered, of URLs on probation and at second hand."""

REPEATED: Final = "its pages repeat what the site has"
UNLINKED: Final = "only pages without anything new link to it"
GROWING: Final = "it grows without being linked from elsewhere"


class HeldRegion(NamedTuple):
    """A region of which URLs are held back, for its operator."""

    region: str
    held: int
    reason: str
    example: str
    pages: int
    barren: int


class RegionTable:
    """Learns what the pages of each region bring, and decides what is held back."""

    def __init__(self, state: RegionsState | None = None) -> None:
        self.state = state or RegionsState()
        self._templates = UrlTemplates(self.state.names)
        self._novelty = NoveltyIndex()
        self._novelty.load(self.state.sketches)
        self._title_names = TitleNames()
        self._title_names.load(*self.state.title_names)
        self.state.sketches, self.state.title_names = {}, (0, b"", b"")
        self._probation = _unpack_keys(self.state.probation)
        self._second_hand = _unpack_keys(self.state.second_hand)
        self.seen_each: Callable[[Sequence[int]], list[bool]] = lambda keys: [False] * len(keys)
        """Whether the URL with each of these keys was ever added to the frontier."""
        self._recent_keys: dict[str, tuple[str, ...]] = {}
        """The names of regions that follow from recent templates."""
        self.refresh()
        self.earned: dict[str, int] = {}
        """Regions whose held URLs may return, and how many."""
        self.relinked: dict[str, set[str]] = {}
        """By host, held URLs to which a page with something new links."""

    def refresh(self) -> None:
        """Determine again which regions have URLs held back, from a state that has changed."""
        self._held = {key for key, region in self.state.regions.items() if region.held}
        self._templates.forget()

    def dump(self) -> RegionsState:
        """Return the state for the snapshot."""
        return msgspec.structs.replace(
            self.state,
            sketches=self._novelty.dump(),
            probation=_pack_keys(self._probation),
            second_hand=_pack_keys(self._second_hand),
            title_names=self._title_names.dump(),
        )

    def hold_reason(self, address: Address) -> str:
        """Return why an address is to be held back now, or ''."""
        region_of, keys = self.state.regions.get, self._keys(address)
        own, host, domain = region_of(keys[0], _NONE), region_of(keys[1], _NONE), region_of(keys[2], _NONE)
        if own.released or host.released or domain.released:
            return ""
        pages = host.novel + host.barren
        small = pages < _SMALL_HOST
        on_probation = address.key in self._probation
        if on_probation and domain.failed_probation(_PROBATION_BASE_HOST):
            return UNLINKED
        if pages < _FIRST_PAGES and domain.repeats():
            return REPEATED
        if (
            on_probation
            and not small
            and (own.failed_probation(_PROBATION_BASE) or host.failed_probation(_PROBATION_BASE_HOST))
        ):
            return UNLINKED
        if not small and (own.repeats() or (own.novel <= own.barren and self._have_useless(keys[3:]))):
            return REPEATED
        return GROWING if own.grows(self.state.pages) or domain.grows(self.state.pages) else ""

    def _have_useless(self, parameters: Sequence[str]) -> bool:
        """Return whether the pages with one of some parameters, or with all of them, repeat what their site has."""
        region_of = self.state.regions.get
        return any(region_of(key, _NONE).repeats() for key in parameters)

    def note_held(self, address: Address, reason: str) -> None:
        """Count a URL that was held back."""
        key = self._templates.template(address)
        region = self._region(key)
        region.held, region.reason, region.example = region.held + 1, reason, address.url
        self._held.add(key)

    def note_released(self, url: str) -> None:
        """Count a URL that returns to its queue."""
        region = self.state.regions.get(self.region_of(url))
        if region is not None:
            region.held = max(0, region.held - 1)
            if not region.held:
                self._held.discard(self.region_of(url))

    def region_of(self, url: str) -> str:
        """Return the name of the region of a URL, '' for one that cannot be parsed."""
        try:
            return self._templates.template(parse_address(url))
        except BadUrl:
            return ""

    def contains(self, key: str, url: str) -> bool:
        """Return whether a URL is of this region."""
        return self.region_of(url) == key

    def held(self) -> list[HeldRegion]:
        """Return the regions of which URLs are held back, the largest first."""
        found = [
            HeldRegion(name, region.held, region.reason, region.example, region.pages, region.barren)
            for name, region in self.state.regions.items()
            if region.held
        ]
        return sorted(found, key=lambda region: (-region.held, region.region))

    def release(self, name: str) -> set[str]:
        """Release a region or a host ('*' stands for all) for good; return the regions of which URLs were held."""
        chosen = {key for key, region in self.state.regions.items() if region.held and _names(name, key)}
        for key in chosen:
            self._region(key).released = True
        return chosen

    def recount(self, held: Iterable[tuple[str, str]]) -> None:
        """Count anew what is held back: regions, each with a URL."""
        reasons = {key: region.reason for key, region in self.state.regions.items() if region.held}
        default = next(iter(reasons.values()), REPEATED)
        for key in self._held:
            if key in self.state.regions:
                self.state.regions[key].held = 0
        for key, url in held:
            region = self._region(key)
            region.held, region.example = region.held + 1, url
            region.reason = reasons.get(key) or region.reason or default
        self.refresh()

    def expect(self, shingles: Iterable[PageShingles]) -> None:
        """Set the shingles of pages that are learned soon, in place of those that were expected before."""
        self._novelty.expect(shingles)

    def learn(self, record: FetchRecord, address: Address) -> News:
        """Learn from the record of a page; return what it has that is new. Seeds count as new."""
        on_probation = record.key in self._probation
        self._probation.pop(record.key, None)
        is_trusted = not on_probation and record.key not in self._second_hand
        self._second_hand.pop(record.key, None)
        if record.outcome is not Outcome.OK or record.revisit or (record.page is None and not record.duplicate_of):
            return News.TEXT
        if record.page is not None and record.page.kind == LIST_KIND:
            return News.TEXT
        keys = self._keys(address)
        region_of = self.state.regions.get
        own, domain = region_of(keys[0]) or self._region(keys[0]), region_of(keys[2]) or self._region(keys[2])
        news, pages = self._judge(record, address, own, domain, is_trusted)
        barren = news is not News.TEXT
        host = self._region(keys[1])
        for key in keys[: 4 + _FEW_PARAMETERS] if pages else ():
            region = region_of(key) or self._region(key)
            if region is domain and host.novel + host.barren > _FIRST_PAGES:
                continue
            if barren:
                region.barren += pages
                region.tried += on_probation
            else:
                region.novel += 1
                region.found += on_probation
        self.state.pages += not barren
        if self._templates.learn(address):
            self._rename_held(address.host)
        if not barren and pages:
            self._earn(keys[0])
        return news if record.depth > 0 else News.TEXT

    def learn_links(self, address: Address, news: News, links: Sequence[Address], total: int) -> None:
        """Learn from the links of a page: `links` were not seen lately, `total` is the number of all."""
        if news is not News.TEXT:
            trusted = address.host if news is News.NAME else None
            for link in self._unseen(links):
                _remember(self._second_hand if link.host == trusted else self._probation, link.key)
            return
        if not links:  # of most pages all were seen lately
            self._learn_nothing_new(address)
            return
        for link in links:
            self._second_hand.pop(link.key, None)
            if link.key in self._probation:
                del self._probation[link.key]
                region = self.state.regions.get(self._templates.template(link))
                if region is not None and region.held:
                    self.relinked.setdefault(link.host, set()).add(link.url)
        sample = self._unseen(links[:: max(1, len(links) // _SAMPLE)][:_SAMPLE])
        self._learn_growth(address, sample, len(links), total)

    def _unseen(self, links: Sequence[Address]) -> list[Address]:
        """Return the links that were never added to the frontier."""
        seen = self.seen_each([link.key for link in links]) if links else []
        return [link for link, is_seen in zip(links, seen, strict=True) if not is_seen]

    def note_linked(self, address: Address) -> None:
        """Count a link to an address from a page that another shard has fetched."""
        region = self.state.regions.get(self._templates.template(address))
        if region is not None:
            region.linked += 1

    def _learn_nothing_new(self, address: Address) -> None:
        """Do what `_learn_growth` does for a page without links that were not seen before."""
        keys, region_of = self._keys(address), self.state.regions.get
        for region in (region_of(keys[0]) or self._region(keys[0]), region_of(keys[2]) or self._region(keys[2])):
            region.fresh *= LINKS_DECAY
            region.own *= LINKS_DECAY

    def _learn_growth(self, address: Address, sample: list[Address], links: int, total: int) -> None:
        key, _, domain, *_ = self._keys(address)
        same = 0
        for link in sample:
            other = self._templates.template(link)
            if other == key:
                same += 1
            else:
                self._region(other).linked += 1
        sampled = min(links, _SAMPLE)
        fresh = links * len(sample) / sampled / total if sampled and total else 0.0
        self._region(key).average_links(fresh, same / len(sample) if sample else 0.0)
        others = sum(link.host != address.host and f"*.{link.domain} *" == domain for link in sample)
        self._region(domain).average_links(fresh, others / len(sample) if sample else 0.0)

    def _judge(
        self, record: FetchRecord, address: Address, own: Region, domain: Region, is_trusted: bool
    ) -> tuple[News, int]:
        """Return what is new of a page, and for how many pages of its region that is the verdict.

        If the sample is too small to judge a page, it is judged as the page before, and counted with later ones. One
        with a new name that a page with news links to counts for none.
        """
        if record.page is None:
            return News.NONE if _domain_of(record.duplicate_of) == address.domain else News.TEXT, 1
        is_named = self._title_names.observe(address.domain, record.page.title) and is_trusted
        novelty = self._novelty.observe(address.host, record.page)
        known = _note_mark(own, novelty.mark) | _note_mark(domain, novelty.mark)
        if novelty.shingles >= _MIN_SHINGLES and not known:
            own.pending = own.sampled = 0
            return News.TEXT, 1
        if is_named:
            return News.NAME, 0
        own.pending, own.sampled = own.pending + 1, own.sampled + novelty.sampled
        if not known and own.sampled < _MIN_SAMPLE and self._novelty.is_sampled(address.host):
            return News.NONE if own.barren > own.novel else News.TEXT, 0
        pages, own.pending, own.sampled = own.pending, 0, 0
        return News.NONE, pages

    def _rename_held(self, host: str) -> None:
        """Move what is held of a host to the regions that its templates describe now."""
        for key in [key for key in self._held if key.startswith(f"{host} ")]:
            region = self.state.regions.get(key)
            renamed = self.region_of(region.example) if region is not None else ""
            if region is None or renamed in ("", key):
                continue
            target = self._region(renamed)
            target.held, target.reason, target.example = target.held + region.held, region.reason, region.example
            target.released |= region.released
            region.held = 0
            self._held.discard(key)
            self._held.add(renamed)

    def _earn(self, key: str) -> None:
        if key in self._held:
            self.earned[key] = self.earned.get(key, 0) + BARREN_RATIO

    def _keys(self, address: Address) -> tuple[str, ...]:
        """Return the regions of an address: by template, host and domain, by all of its parameters, and by each."""
        template = self._templates.template(address)
        keys = self._recent_keys.get(template)
        if keys is None:
            if len(self._recent_keys) >= _MAX_RECENT:
                self._recent_keys.clear()
            keys = self._recent_keys[template] = _name_regions(template, address)
        return keys

    def _region(self, key: str) -> Region:
        regions = self.state.regions
        region = regions.get(key)
        if region is None:
            if len(regions) >= _MAX_REGIONS:
                _make_room(regions)
            region = regions[key] = Region()
        return region


def _name_regions(template: str, address: Address) -> tuple[str, ...]:
    """Return the names of the regions of an address: the same for all with one template, which names the host."""
    host, parameters = address.host, template.partition("?")[2]
    keys: tuple[str, ...] = (template, f"{host} *", f"*.{address.domain} *")
    if parameters:
        keys += (f"{host} *?{parameters}", *(f"{host} *?{name}" for name in parameters.split("&")))
    return tuple(dict.fromkeys(keys))


_NONE: Final = Region()
_SMALL_HOST: Final = 40
"""Pages of a host before any of its regions is held back for what it has brought: small sites may be thin."""
_FIRST_PAGES: Final = 3
"""Pages of a host that count for its domain: a host is judged by the others only at the beginning."""


def _remember(keys: dict[int, None], key: int) -> None:
    if len(keys) >= _MAX_PROBATION:
        del keys[next(iter(keys))]
    keys[key] = None


def _pack_keys(keys: dict[int, None]) -> bytes:
    return np.fromiter(keys, "<u8", len(keys)).tobytes()


def _unpack_keys(data: bytes) -> dict[int, None]:
    return dict.fromkeys(np.frombuffer(data, "<u8").tolist())


def _note_mark(region: Region, mark: int) -> bool:
    """Enter the fingerprint of a page; return whether one of the last pages of the region had the same."""
    if mark in region.marks:
        return True
    region.marks = [*region.marks[1 - _MAX_MARKS :], mark]
    return False


def _make_room(regions: dict[str, Region]) -> None:
    """Forget the oldest tenth of the regions, less those of which URLs are held back or were released."""
    old = [key for key, region in regions.items() if not region.held and not region.released]
    for key in old[: max(1, len(regions) // 10)] or [next(iter(regions))]:
        del regions[key]


def _domain_of(url: str) -> str:
    try:
        return registered_domain(parse_address(url).host)
    except BadUrl:
        return ""


def _names(wanted: str, key: str) -> bool:
    """Return whether an operator's name of a region or host means this region."""
    return wanted in ("*", key, key.partition(" ")[0])
