"""What is learned of hosts: parameters without effect, duplicate origins, mirrors, soft 404s.

Everything is learned from fetch records alone, so that recovery, which replays them, arrives at the same state.
"""

import re
from typing import Final
from urllib.parse import unquote

import msgspec

from periplus.errors import BadUrl
from periplus.hashing import fingerprint_text
from periplus.records import Address, FetchRecord, FetchRequest, Outcome, Page
from periplus.url import parse_address

__all__ = ["Traps", "TrapsState", "signature"]

_TOKEN: Final = re.compile(r"(?=[^0-9]*[0-9])(?:[0-9A-Fa-f]{8,}|[0-9A-Za-z_,.-]{16,})\Z")
_MIN_VOTES: Final = 3
"""Pages that must agree before a rule is adopted for a host."""
_PROBE_AFTER: Final = 5
_MAX_TEXTS: Final = 200_000
_SIGNATURE_LENGTH: Final = 400
_PREFIXES: Final = ("www.", "m.", "mobile.")
_MIN_COPIES: Final = 20
"""Copies of pages of other hosts after which a host is a mirror, if hardly any of its pages are its own."""
_OWN_SHARE: Final = 0.1


class TrapsState(msgspec.Struct):
    """Learned rules and counts, as stored in the snapshot."""

    noise: dict[str, list[str]] = {}
    """Parameters without effect, by host."""
    votes: dict[str, int] = {}
    """How often a parameter made no difference; -1 once it did."""
    texts: dict[int, tuple[int, str]] = {}
    dates: dict[str, int] = {}
    """Of earlier versions, which counted pages with dates in their URLs; no longer used."""
    pages: dict[str, int] = {}
    """Pages fetched from each host that has not been probed yet; -1 for hosts that have."""
    probes: dict[int, str] = {}
    soft: dict[str, int] = {}
    """Signature of the page that a host sends, with status 200, for pages that do not exist."""
    twins: dict[str, str] = {}
    """Origins that serve the same pages as another, with that origin."""
    copied: dict[str, tuple[int, int]] = {}
    """By host: pages that another host had before, and all pages since the first of them."""


def signature(page: Page) -> int:
    """Return a fingerprint of a page's title and the beginning of its text."""
    return fingerprint_text(f"{page.title}\n{page.text[:_SIGNATURE_LENGTH]}")


def _bare_signature(page: Page) -> int:
    """Return the signature of a page without its own URL, which error pages often repeat."""
    text = f"{page.title}\n{page.text[:_SIGNATURE_LENGTH]}"
    path = page.url.partition("://")[2].partition("/")[2]
    for piece in (page.url, f"/{path}", path, path.rpartition("/")[2]):
        for form in (piece, unquote(piece)):
            if len(form) > 1:
                text = text.replace(form, "")
    return fingerprint_text(text)


class Traps:
    """Learns rules from fetch records, and rewrites addresses by them."""

    def __init__(self, state: TrapsState | None = None) -> None:
        self.state = state or TrapsState()
        self.mirrors: set[str] = set()
        """Hosts with hardly any pages of their own: they are crawled last."""
        self.refresh_mirrors()

    def refresh_mirrors(self) -> None:
        """Determine the mirrors again, from a state that has changed."""
        self.mirrors = {host for host, counts in self.state.copied.items() if _is_mirror(*counts)}

    def rewrite(self, address: Address) -> Address:
        """Return the equivalent address without parameters that have no effect, at the preferred origin."""
        state = self.state
        noise = state.noise.get(address.host)
        twin = state.twins.get(address.origin) if state.twins else None
        if twin is None and (noise is None or "?" not in address.path):
            return address
        path, mark, query = address.path.partition("?")
        if noise is not None and mark:
            query = "&".join(piece for piece in query.split("&") if piece.partition("=")[0] not in noise)
            path = f"{path}?{query}" if query else path
        else:
            path = address.path
        try:
            return parse_address((twin or address.origin) + path)
        except BadUrl:
            return address

    def classify(self, record: FetchRecord, host: str) -> FetchRecord:
        """Return the record, as `Outcome.GONE` if it is a probe or its page equals the one that answered the probe."""
        if record.page is None or record.outcome is not Outcome.OK:
            return record
        is_probe = record.key in self.state.probes
        fingerprint = _bare_signature(record.page) if is_probe or host in self.state.soft else 0
        if is_probe or fingerprint == self.state.soft.get(host, -1):
            return msgspec.structs.replace(record, page=None, outcome=Outcome.GONE, content=fingerprint)
        return record

    def learn(self, record: FetchRecord, address: Address | None) -> FetchRequest | None:
        """Learn from a record, whose address is None if it cannot be parsed.

        Return a request for a page that should not exist, once for each host.
        """
        state = self.state
        if record.key in state.probes:
            host = state.probes.pop(record.key)
            if record.status == 200 and record.content:
                state.soft[host] = record.content
            return None
        if record.duplicate_of:
            self._learn_twin(record)
        if record.outcome is Outcome.OK:
            self._learn_mirror(record)
        if record.page is None or address is None:
            return None
        if "?" in address.path:
            self._learn_noise(address, record.page)
        return self._probe(address)

    def _probe(self, address: Address) -> FetchRequest | None:
        pages = self.state.pages.get(address.host, 0)
        if pages < 0:
            return None
        self.state.pages[address.host] = pages + 1
        if pages + 1 < _PROBE_AFTER:
            return None
        self.state.pages[address.host] = -1
        probe = parse_address(f"/no-such-page-{address.key:016x}", address.url)
        self.state.probes[probe.key] = address.host
        return FetchRequest(probe, 0, 99.0)

    def _learn_noise(self, address: Address, page: Page) -> None:
        """Count pages that are equal although a token in their query differs."""
        state, fingerprint = self.state, 0
        path, _, query = address.path.partition("?")
        pieces = query.split("&")[:8]
        for piece in pieces:
            name, _, value = piece.partition("=")
            if not _TOKEN.match(value) or state.votes.get(f"{address.host} {name}", 0) < 0:
                continue
            rest = "&".join(other for other in pieces if other is not piece)
            fingerprint = fingerprint or signature(page)
            self._vote(
                address.host, name, fingerprint_text(f"{address.origin}{path}?{rest} {name}"), fingerprint, value
            )

    def _vote(self, host: str, name: str, key: int, fingerprint: int, value: str) -> None:
        state, vote_key = self.state, f"{host} {name}"
        before = state.texts.get(key)
        if before is None:
            if len(state.texts) >= _MAX_TEXTS:
                state.texts.clear()
            state.texts[key] = (fingerprint, value)
        elif before[0] != fingerprint:
            state.votes[vote_key] = -1
        elif before[1] != value:
            state.votes[vote_key] = state.votes.get(vote_key, 0) + 1
            if state.votes[vote_key] == _MIN_VOTES:
                state.noise.setdefault(host, []).append(name)

    def _learn_twin(self, record: FetchRecord) -> None:
        """Count equal pages of two origins, such as http and https; enough of them make the origins equivalent."""
        try:
            copy, original = parse_address(record.url), parse_address(record.duplicate_of)
        except BadUrl:
            return
        if (
            copy.path != original.path
            or copy.origin == original.origin
            or _strip_prefix(copy.host) != _strip_prefix(original.host)
        ):
            return
        pair = f"{copy.origin} {original.origin}"
        self.state.votes[pair] = self.state.votes.get(pair, 0) + 1
        if self.state.votes[pair] >= _MIN_VOTES and original.origin not in self.state.twins:
            self.state.twins[copy.origin] = original.origin

    def _learn_mirror(self, record: FetchRecord) -> None:
        """Count the pages of a host that another host had before, and all others."""
        copied = record.duplicate_of or record.near_duplicate_of
        if not copied and not self.state.copied:
            return
        host, original = _host_of(record.url), _host_of(copied)
        counts = self.state.copied.get(host)
        is_copy = bool(original) and original != host
        if is_copy or counts is not None:
            copies, pages = counts or (0, 0)
            self.state.copied[host] = copies, pages = copies + is_copy, pages + 1
            (self.mirrors.add if _is_mirror(copies, pages) else self.mirrors.discard)(host)


def _host_of(url: str) -> str:
    """Return the host of a canonical URL, without its port."""
    address = url.partition("://")[2].partition("/")[0]
    return address if address.endswith("]") else address.rpartition(":")[0] or address


def _is_mirror(copies: int, pages: int) -> bool:
    return copies >= _MIN_COPIES and pages - copies <= _OWN_SHARE * pages


def _strip_prefix(host: str) -> str:
    return next((host.removeprefix(prefix) for prefix in _PREFIXES if host.startswith(prefix)), host)
