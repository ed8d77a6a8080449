"""A cache of robots.txt files by origin, valid for a day, with the fetch states of RFC 9309."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from periplus.errors import BadUrl
from periplus.records import Address, FetchResult, Outcome
from periplus.robots import RobotsRules, parse_robots
from periplus.url import parse_address

__all__ = ["CachedRobots", "RobotsCache", "robots_path"]

_DAY: Final = 86_400.0
_STALE: Final = 29 * _DAY
"""How long an expired copy remains in use while robots.txt cannot be fetched."""
_RETRY_SECONDS: Final = 3_600.0
_ROBOTS: Final = {"gopher": "/0/robots.txt"}
"""Path of robots.txt, for schemes whose paths begin with an item type."""
_MAX_HOPS: Final = 5
_MAX_BODY: Final = 512_000
_MAX_RULES: Final = 1_000_000
"""Parsed rules of all origins; beyond it those of the origins that were parsed first are parsed again when needed."""
_NO_RULES: Final = frozenset((Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.NOT_MODIFIED, Outcome.WRONG_TYPE))


def robots_path(address: Address) -> str:
    """Return the path that rules are matched against: for gopher, the selector without its item type."""
    return address.path if address.scheme != "gopher" else address.path[2:] or "/"


class CachedRobots(NamedTuple):
    """The body of one robots.txt; an empty one allows everything."""

    origin: str
    until: float
    body: bytes
    first: float = 0.0
    """When it was fetched."""


class RobotsCacheOwner(Protocol):
    """An object that has a cache of robots.txt files, such as the state of a crawl."""

    robots: "RobotsCache"


class RobotsCache:
    """Rules by origin. The cache never fetches: it names the URL to request, and is updated with the result."""

    def __init__(self, agent: str, entries: tuple[CachedRobots, ...] = ()) -> None:
        self._agent = agent
        self._entries = {robots.origin: robots for robots in entries}
        self._rules: dict[str, RobotsRules] = {}
        self._size = 0
        """Rules in `_rules`, and one for each origin."""
        self._moved: dict[str, tuple[Address, int]] = {}

    def rules(self, origin: str, now: float) -> RobotsRules | None:
        """Return the rules of an origin, or None if its robots.txt has to be fetched."""
        entry = self._entries.get(origin)
        if entry is None or entry.until <= now:
            return None
        rules = self._rules.get(origin)
        if rules is None:
            rules = self._rules[origin] = parse_robots(entry.body, self._agent, any_name=True)
            self._size += 1 + rules.size
            while self._size > _MAX_RULES and len(self._rules) > 1:
                self._forget_rules(next(iter(self._rules)))
        return rules

    def _forget_rules(self, origin: str) -> None:
        rules = self._rules.pop(origin, None)
        self._size -= 0 if rules is None else 1 + rules.size

    def target(self, page: Address) -> Address:
        """Return the address of the robots.txt for the origin of `page`, or the one it redirects to."""
        moved = self._moved.get(page.origin)
        return moved[0] if moved else parse_address(_ROBOTS.get(page.scheme, "/robots.txt"), page.url)

    def learn(self, origin: str, result: FetchResult, now: float) -> Outcome:
        """Update the cache with a result.

        Return OK if the rules are available now, REDIRECT if `target` has to be fetched next, and otherwise the outcome
        that the page should have until robots.txt can be fetched.
        """
        outcome = result.outcome
        if outcome is Outcome.REDIRECT and self._follow(origin, result.location, now):
            return Outcome.OK if self.rules(origin, now) is not None else Outcome.REDIRECT
        self._moved.pop(origin, None)
        if outcome in (Outcome.OK, Outcome.TOO_LARGE):
            self._store(origin, result.body[:_MAX_BODY], now)
            address = result.request.address
            if address.path == "/robots.txt":
                self._store(address.origin, result.body[:_MAX_BODY], now)
        elif outcome in _NO_RULES or outcome is Outcome.REDIRECT:
            self._store(origin, b"", now)
        elif not self._extend(origin, now):
            return outcome
        return Outcome.OK

    def _extend(self, origin: str, now: float) -> bool:
        """Keep using an expired copy; return False if there is none, or if it is too old."""
        entry = self._entries.get(origin)
        if entry is None or now > entry.first + _DAY + _STALE:
            return False
        self._entries[origin] = entry._replace(until=max(entry.until, now + _RETRY_SECONDS))
        return True

    def _follow(self, origin: str, location: str, now: float) -> bool:
        """Follow a redirect of robots.txt; a copy that is cached for the target is used without another request."""
        hops = self._moved[origin][1] if origin in self._moved else 0
        if hops >= _MAX_HOPS:
            return False
        try:
            address = parse_address(location)
        except BadUrl:
            return False
        entry = self._entries.get(address.origin)
        if address.path == "/robots.txt" and entry is not None and entry.until > now:
            self._moved.pop(origin, None)
            self._store(origin, entry.body, now)
        else:
            self._moved[origin] = (address, hops + 1)
        return True

    def _store(self, origin: str, body: bytes, now: float) -> None:
        self._entries[origin] = CachedRobots(origin, now + _DAY, body, now)
        self._forget_rules(origin)

    def move_rules(self, owner: Callable[[str], "RobotsCacheOwner | None"]) -> None:
        """Move the rules of each origin to the cache of its owner; `owner` returns None for origins that stay."""
        for origin in list(self._entries):
            other = owner(origin)
            if other is not None:
                other.robots._entries[origin] = self._entries.pop(origin)
                other.robots._forget_rules(origin)

    def export_entries(self, moves: Callable[[str], bool]) -> list[CachedRobots]:
        """Remove and return the entries of the origins that move to another shard."""
        return [self._entries.pop(origin) for origin in list(self._entries) if moves(origin)]

    def import_entries(self, entries: Iterable[CachedRobots]) -> None:
        """Add entries of another shard."""
        for entry in entries:
            self._entries[entry.origin] = entry
            self._forget_rules(entry.origin)

    def entries(self, now: float) -> tuple[CachedRobots, ...]:
        """Return the entries that are not too old to be used, for the snapshot."""
        return tuple(robots for robots in self._entries.values() if robots.first + _DAY + _STALE > now)
