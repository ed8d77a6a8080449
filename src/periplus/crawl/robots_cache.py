"""What each origin allows, as far as we know: robots.txt by origin, for a day, with the fetch states of RFC 9309."""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from periplus.errors import BadUrl
from periplus.records import Address, FetchResult, Outcome
from periplus.robots import RobotsRules, parse_robots
from periplus.url import parse_address

__all__ = ["CachedRobots", "RobotsCache", "robots_path"]

_DAY: Final = 86_400.0
_STALE: Final = 29 * _DAY
"""So long after its day an old copy still speaks for a site whose robots.txt cannot be had."""
_ASK_AGAIN: Final = 3_600.0
_ROBOTS: Final = {"gopher": "/0/robots.txt"}
"""Where robots.txt is, for schemes whose paths begin with a type."""
_MAX_HOPS: Final = 5
_MAX_BODY: Final = 512_000
_NO_RULES: Final = frozenset((Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.NOT_MODIFIED, Outcome.WRONG_TYPE))


def robots_path(place: Address) -> str:
    """Give the path that robots.txt speaks of: a selector of gopher without its type."""
    return place.path if place.scheme != "gopher" else place.path[2:] or "/"


class CachedRobots(NamedTuple):
    """The body of one robots.txt; an empty one allows everything."""

    origin: str
    until: float
    body: bytes
    first: float = 0.0
    """When it was fetched."""


class RobotsCacheOwner(Protocol):
    """Whoever keeps a book of robots.txt."""

    robots: "RobotsCache"


class RobotsCache:
    """Rules by origin. It never fetches: it says what to ask for, and learns from the answer."""

    def __init__(self, agent: str, known: tuple[CachedRobots, ...] = ()) -> None:
        self._agent = agent
        self._known = {robots.origin: robots for robots in known}
        self._rules: dict[str, RobotsRules] = {}
        self._moved: dict[str, tuple[Address, int]] = {}

    def rules(self, origin: str, now: float) -> RobotsRules | None:
        """Give the rules of an origin, or None when robots.txt has to be asked for."""
        known = self._known.get(origin)
        if known is None or known.until <= now:
            return None
        rules = self._rules.get(origin)
        if rules is None:
            rules = self._rules[origin] = parse_robots(known.body, self._agent)
        return rules

    def target(self, page: Address) -> Address:
        """Give the address to ask for the rules of this page's origin: robots.txt, or where it has moved to."""
        moved = self._moved.get(page.origin)
        return moved[0] if moved else parse_address(_ROBOTS.get(page.scheme, "/robots.txt"), page.url)

    def learn(self, origin: str, fetched: FetchResult, now: float) -> Outcome:
        """Take the answer. OK: the rules are known now; REDIRECT: ask again; anything else: come back later."""
        outcome = fetched.outcome
        if outcome is Outcome.REDIRECT and self._follow(origin, fetched.location, now):
            return Outcome.OK if self.rules(origin, now) is not None else Outcome.REDIRECT
        self._moved.pop(origin, None)
        if outcome in (Outcome.OK, Outcome.TOO_LARGE):
            self._note(origin, fetched.body[:_MAX_BODY], now)
            place = fetched.request.address
            if place.path == "/robots.txt":
                self._note(place.origin, fetched.body[:_MAX_BODY], now)
        elif outcome in _NO_RULES or outcome is Outcome.REDIRECT:
            self._note(origin, b"", now)
        elif not self._prolong(origin, now):
            return outcome
        return Outcome.OK

    def _prolong(self, origin: str, now: float) -> bool:
        """Go by the old copy for another while; False when there is none, or none that is young enough."""
        known = self._known.get(origin)
        if known is None or now > known.first + _DAY + _STALE:
            return False
        self._known[origin] = known._replace(until=max(known.until, now + _ASK_AGAIN))
        return True

    def _follow(self, origin: str, location: str, now: float) -> bool:
        """Go where robots.txt has moved; another host's that is known already need not be asked for again."""
        hops = self._moved[origin][1] if origin in self._moved else 0
        if hops >= _MAX_HOPS:
            return False
        try:
            place = parse_address(location)
        except BadUrl:
            return False
        known = self._known.get(place.origin)
        if place.path == "/robots.txt" and known is not None and known.until > now:
            self._moved.pop(origin, None)
            self._note(origin, known.body, now)
        else:
            self._moved[origin] = (place, hops + 1)
        return True

    def _note(self, origin: str, body: bytes, now: float) -> None:
        self._known[origin] = CachedRobots(origin, now + _DAY, body, now)
        self._rules.pop(origin, None)

    def move_rules(self, owner: Callable[[str], "RobotsCacheOwner | None"]) -> None:
        """Give the rules of origins that others have from now on to them."""
        for origin in list(self._known):
            other = owner(origin)
            if other is not None:
                other.robots._known[origin] = self._known.pop(origin)
                other.robots._rules.pop(origin, None)

    def entries(self, now: float) -> tuple[CachedRobots, ...]:
        """List what is still worth knowing, for the snapshot."""
        return tuple(robots for robots in self._known.values() if robots.first + _DAY + _STALE > now)
