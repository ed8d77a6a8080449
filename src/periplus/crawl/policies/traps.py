"""What a crawl learns about each host: parameters that mean nothing, calendars without end, twins, soft 404s.

Everything is learnt from visits alone, so that recovery, which replays them, comes to the same.
"""

import re
import time
from typing import Final
from urllib.parse import unquote

import msgspec

from periplus.errors import BadUrl
from periplus.hashing import fingerprint_text
from periplus.records import Address, FetchRecord, FetchRequest, Outcome, Page
from periplus.url import parse_address

__all__ = ["Traps", "TrapsState", "signature"]

_TOKEN: Final = re.compile(r"(?=[^0-9]*[0-9])(?:[0-9A-Fa-f]{8,}|[0-9A-Za-z_,.-]{16,})\Z")
_DATE: Final = re.compile(r"(?<![0-9])([0-9]{4,})[/_-]([0-9]{1,2})(?![0-9])(?:[/_-][0-9]{1,2}(?![0-9]))?")
_NUMBER: Final = re.compile(r"[0-9]+")
_VOTES: Final = 3
"""So many pages must agree before something is believed of a host."""
_MOST_DATES: Final = 240
"""Pages of one host whose addresses differ in a date only: twenty years of months."""
_OLDEST: Final = 1980
_PROBE_AFTER: Final = 5
_MOST_TEXTS: Final = 200_000
_SIGNED: Final = 400
_PREFIXES: Final = ("www.", "m.", "mobile.")
_MIRRORED: Final = 20
"""A host is a mirror after so many pages that others had before, if hardly any of its pages are its own."""
_OWN_SHARE: Final = 0.1


class TrapsState(msgspec.Struct):
    """What was learnt, as the snapshot keeps it."""

    noise: dict[str, list[str]] = {}
    """Parameters that mean nothing, by host."""
    votes: dict[str, int] = {}
    """How often a parameter made no difference; -1 when it once did."""
    texts: dict[int, tuple[int, str]] = {}
    dates: dict[str, int] = {}
    pages: dict[str, int] = {}
    """Pages seen of hosts that were not probed yet; -1 of those that were."""
    probes: dict[int, str] = {}
    soft: dict[str, int] = {}
    """What a host gives for pages that do not exist, where that is not an error."""
    twins: dict[str, str] = {}
    """Origins that give the same pages as others."""
    copied: dict[str, tuple[int, int]] = {}
    """Of hosts with pages that another host had before: how many those are, and how many pages came since the first."""


def signature(page: Page) -> int:
    """Give a fingerprint of what a page says first, whatever its links are."""
    return fingerprint_text(f"{page.title}\n{page.text[:_SIGNED]}")


def _bare_signature(page: Page) -> int:
    """Give the same of a page without its own address, which pages that tell of an error like to repeat."""
    said = f"{page.title}\n{page.text[:_SIGNED]}"
    path = page.url.partition("://")[2].partition("/")[2]
    for piece in (page.url, f"/{path}", path, path.rpartition("/")[2]):
        for form in (piece, unquote(piece)):
            if len(form) > 1:
                said = said.replace(form, "")
    return fingerprint_text(said)


class Traps:
    """Learns from visits; rewrites and refuses addresses by what it has learnt."""

    def __init__(self, state: TrapsState | None = None) -> None:
        self.state = state or TrapsState()
        self._newest = time.gmtime().tm_year + 1
        self.mirrors = {host for host, counts in self.state.copied.items() if _is_mirror(*counts)}
        """Hosts that have next to nothing of their own: they are crawled last."""

    def rewrite(self, place: Address) -> Address:
        """Give the address that stands for this one: without noise, at the better known twin."""
        state = self.state
        noise = state.noise.get(place.host)
        twin = state.twins.get(place.origin)
        if twin is None and (noise is None or "?" not in place.path):
            return place
        path, mark, query = place.path.partition("?")
        if noise is not None and mark:
            query = "&".join(piece for piece in query.split("&") if piece.partition("=")[0] not in noise)
            path = f"{path}?{query}" if query else path
        else:
            path = place.path
        try:
            return parse_address((twin or place.origin) + path)
        except BadUrl:
            return place

    def refuses(self, place: Address) -> bool:
        """Tell whether an address is one of a calendar's too many, or of a year that nobody writes about."""
        found = _DATE.search(place.path)
        if found is None or not 1 <= len(found[1]) <= 4:
            return found is not None and len(found[1]) > 4 and int(found[2]) <= 31
        year, month = int(found[1]), int(found[2])
        if month > 12:
            return False
        if not _OLDEST <= year <= self._newest:
            return _is_bare_date(place.path, found)
        return self.state.dates.get(_shape(place), 0) >= _MOST_DATES

    def judge(self, visit: FetchRecord, host: str) -> FetchRecord:
        """Take a visit for what it is: the answer to a probe, and a page that says what the probe said, are gone."""
        if visit.page is None or visit.outcome is not Outcome.OK:
            return visit
        is_probe = visit.key in self.state.probes
        said = _bare_signature(visit.page) if is_probe or host in self.state.soft else 0
        if is_probe or said == self.state.soft.get(host, -1):
            return msgspec.structs.replace(visit, page=None, outcome=Outcome.GONE, content=said)
        return visit

    def learn(self, visit: FetchRecord) -> FetchRequest | None:
        """Learn from a visit; give a page to ask for that should not exist, once for a host that has some pages."""
        state = self.state
        if visit.key in state.probes:
            host = state.probes.pop(visit.key)
            if visit.status == 200 and visit.content:
                state.soft[host] = visit.content
            return None
        if visit.duplicate_of:
            self._learn_twin(visit)
        if visit.outcome is Outcome.OK:
            self._learn_mirror(visit)
        if visit.page is None:
            return None
        try:
            place = parse_address(visit.url)
        except BadUrl:
            return None
        if "?" in place.path:
            self._learn_noise(place, visit.page)
        if _DATE.search(place.path):
            shape = _shape(place)
            state.dates[shape] = state.dates.get(shape, 0) + 1
        return self._probe(place)

    def _probe(self, place: Address) -> FetchRequest | None:
        pages = self.state.pages.get(place.host, 0)
        if pages < 0:
            return None
        self.state.pages[place.host] = pages + 1
        if pages + 1 < _PROBE_AFTER:
            return None
        self.state.pages[place.host] = -1
        probe = parse_address(f"/no-such-page-{place.key:016x}", place.url)
        self.state.probes[probe.key] = place.host
        return FetchRequest(probe, 0, 99.0)

    def _learn_noise(self, place: Address, page: Page) -> None:
        """Count pages that say the same under different tokens."""
        state, said = self.state, signature(page)
        path, _, query = place.path.partition("?")
        pieces = query.split("&")[:8]
        for piece in pieces:
            name, _, value = piece.partition("=")
            if not _TOKEN.match(value) or state.votes.get(f"{place.host} {name}", 0) < 0:
                continue
            rest = "&".join(other for other in pieces if other is not piece)
            self._compare(place.host, name, fingerprint_text(f"{place.origin}{path}?{rest} {name}"), said, value)

    def _compare(self, host: str, name: str, key: int, said: int, value: str) -> None:
        state, name_of = self.state, f"{host} {name}"
        before = state.texts.get(key)
        if before is None:
            if len(state.texts) >= _MOST_TEXTS:
                state.texts.clear()
            state.texts[key] = (said, value)
        elif before[0] != said:
            state.votes[name_of] = -1
        elif before[1] != value:
            state.votes[name_of] = state.votes.get(name_of, 0) + 1
            if state.votes[name_of] == _VOTES:
                state.noise.setdefault(host, []).append(name)

    def _learn_twin(self, visit: FetchRecord) -> None:
        """Believe that two origins are one when several of their pages are: http and https, with and without www."""
        try:
            copy, original = parse_address(visit.url), parse_address(visit.duplicate_of)
        except BadUrl:
            return
        if copy.path != original.path or copy.origin == original.origin or _bare(copy.host) != _bare(original.host):
            return
        pair = f"{copy.origin} {original.origin}"
        self.state.votes[pair] = self.state.votes.get(pair, 0) + 1
        if self.state.votes[pair] >= _VOTES and original.origin not in self.state.twins:
            self.state.twins[copy.origin] = original.origin

    def _learn_mirror(self, visit: FetchRecord) -> None:
        """Count pages that another host had before, and those that none had."""
        host, original = _host(visit.url), _host(visit.duplicate_of or visit.near_duplicate_of)
        counts = self.state.copied.get(host)
        is_copy = bool(original) and original != host
        if is_copy or counts is not None:
            copies, pages = counts or (0, 0)
            self.state.copied[host] = copies, pages = copies + is_copy, pages + 1
            (self.mirrors.add if _is_mirror(copies, pages) else self.mirrors.discard)(host)


def _host(url: str) -> str:
    """Give the host that a canonical URL names, without its port."""
    place = url.partition("://")[2].partition("/")[0]
    return place if place.endswith("]") else place.rpartition(":")[0] or place


def _is_mirror(copies: int, pages: int) -> bool:
    return copies >= _MIRRORED and pages - copies <= _OWN_SHARE * pages


def _bare(host: str) -> str:
    return next((host.removeprefix(prefix) for prefix in _PREFIXES if host.startswith(prefix)), host)


def _shape(place: Address) -> str:
    return f"{place.host} {_NUMBER.sub('#', place.path)}"


def _is_bare_date(path: str, found: re.Match[str]) -> bool:
    """Tell whether an address has no more than a date to tell it from its like."""
    return not re.search(r"[A-Za-z0-9]{2,}", path[found.end() :])
