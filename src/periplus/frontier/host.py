"""What the frontier knows of one host: its state, its queue, and when it may be contacted again."""

from typing import Final, NamedTuple

import msgspec

from periplus.frontier.host_states import HostState

__all__ = ["SLOT_NAME", "SLOT_RANK", "SLOT_TIME", "Entry", "Host", "Slot", "SpilledChunk", "origin_of"]

_BEHIND: Final = 10_000.0
"""More than the difference between any two crawl ranks."""

Slot = tuple[float, float, int, str]
"""A place in the heap of hosts: earliest time, best rank negated, order of arrival, name of the host."""
SLOT_TIME: Final = 0
SLOT_RANK: Final = 1
SLOT_NAME: Final = 3


class Entry(NamedTuple):
    """One URL in a queue. Tuples compare by crawl rank first, then by order of arrival."""

    falling: float
    """The crawl rank, negated."""
    order: int
    url: str
    depth: int = 0
    attempt: int = 0
    hops: int = 0

    def behind(self) -> "Entry":
        """Return the same URL, behind all others of its host that are not."""
        return self if self.falling >= _BEHIND / 2 else self._replace(falling=self.falling + _BEHIND)


def origin_of(url: str) -> str:
    """Return scheme, host and port of a canonical URL."""
    return url[: url.index("/", url.index("://") + 3)]


class SpilledChunk(NamedTuple):
    """Where entries are on disk."""

    file: int
    offset: int
    length: int
    checksum: int
    urls: int
    falling: float
    """The best crawl rank among them, negated."""


class Host(msgspec.Struct, array_like=True):
    """One host. Only `HostScheduler` changes `state` and `slot`."""

    name: str
    state: HostState
    next_time: float
    """When it may be contacted again."""
    queue: list[Entry] = []
    """A heap."""
    later: list[tuple[float, Entry]] = []
    """A heap of retries, by the time from which on they may be made."""
    in_flight: Entry | None = None
    slot: Slot | None = None
    """The valid one of its places in the heaps: others are out of date."""
    failures: int = 0
    """In a row."""
    crawl_delay: float = 0.0
    elapsed: float = 0.0
    """Seconds that the last request took."""
    recent: float = 0.0
    """Requests in the window of the share penalty, decayed."""
    counted: int = 0
    """The number of the request at which `recent` was computed."""
    ip: str = ""
    """The address that answered last."""
    groups: list[str] = []
    """Domain and address that the request in flight counts for."""
    spilled: list[SpilledChunk] = []
    """Chunks on disk, the best first."""
    held: list[Entry] = []
    """Entries that are held back: they do not wait."""
    held_chunks: list[SpilledChunk] = []
    """Chunks on disk of entries that are held back."""

    def is_suspended(self) -> bool:
        """Return whether it is left alone for the rest of the run."""
        return self.state >= HostState.SUSPENDED

    def has_urls(self) -> bool:
        """Return whether URLs wait, in memory or on disk."""
        return bool(self.queue or self.later or self.spilled)

    def soonest(self) -> float:
        """Return the earliest time at which one of its URLs may be fetched."""
        return self.next_time if self.queue or self.spilled else max(self.next_time, self.later[0][0])

    def best(self) -> float:
        """Return the best crawl rank that waits, negated."""
        if self.queue:
            return self.queue[0].falling
        return self.spilled[0].falling if self.spilled else self.later[0][1].falling

    def is_hopeful(self) -> bool:
        """Return whether a URL waits that was not put behind all others."""
        bests = [self.queue[0].falling] if self.queue else []
        bests += [chunk.falling for chunk in self.spilled[:1]]
        return min((*bests, *(entry.falling for _, entry in self.later)), default=_BEHIND) < _BEHIND / 2

    def absorb(self, other: "Host") -> None:
        """Add what is known of the same host elsewhere; nothing of either is on disk."""
        self.queue = sorted({entry.url: entry for entry in (*other.queue, *self.queue)}.values())
        self.next_time = max(self.next_time, other.next_time)
        self.crawl_delay = max(self.crawl_delay, other.crawl_delay)
        self.held = [*{entry.url: entry for entry in (*other.held, *self.held)}.values()]

    def chunks(self) -> list[SpilledChunk]:
        """Return all chunks on disk."""
        return [*self.spilled, *self.held_chunks]

    def entries(self) -> list[Entry]:
        """Return all entries in memory."""
        return [*self.queue, *(entry for _, entry in self.later)]

    def __len__(self) -> int:
        return len(self.queue) + len(self.later) + sum(chunk.urls for chunk in self.spilled)
