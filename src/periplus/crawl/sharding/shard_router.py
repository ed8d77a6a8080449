"""The other shards, as one shard knows them: which hosts are theirs, what to send them, what has come from them."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from periplus.crawl.revisits import History, read_history
from periplus.crawl.sharding.mailbox import (
    Answer,
    Question,
    SentLink,
    ShardMessage,
    mark_of,
    read_message,
    write_message,
)
from periplus.crawl.sharding.topology import HostPartitioner, mailbox_dir
from periplus.errors import DataError
from periplus.files import disk_errors
from periplus.records import Address, FetchRecord, FetchRequest
from periplus.settings import StoreSettings
from periplus.store import PageStore

__all__ = ["Alone", "Neighbours"]

_BATCH: Final = 2_000
"""Links that are worth a parcel at once; fewer wait for a moment."""
_AGE: Final = 0.3
_MOST_PARCELS: Final = 64
"""Parcels in an inbox, beyond which senders keep what they have."""
_MOST_KEPT: Final = 20_000
"""Links kept, beyond which a sender makes no more of them: it stops fetching."""
_SENT: Final = 300_000
_READ_AT_ONCE: Final = 8


class Alone:
    """A crawl without other shards: every host is its own."""

    number = 0

    def mine(self, host: str) -> bool:
        """Tell whether this shard has a host."""
        return True

    def ours(self, dues: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Give the dues of our own hosts; the others are sent to those who have them."""
        return dues

    def send(self, everything: bool = False) -> None:
        """Send what has waited long enough, or everything, as before a snapshot."""

    def read_all(self, store: PageStore) -> Iterator[FetchRecord]:
        """Read all visits, also those of other shards."""
        yield from store.records()

    def find(self, store: PageStore, key: int) -> FetchRecord | None:
        """Find the stored visit of a key, also of a host that was another shard's before."""
        return store.find(key)

    def read_history(self, store: PageStore) -> History:
        """Read the past of all pages, also of those that other shards have stored."""
        return read_history(self.read_all(store))


class Neighbours(Alone):
    """All other shards of a crawl."""

    def __init__(self, folder: Path, number: int, shards: tuple[int, ...], settings: StoreSettings) -> None:
        self.number = number
        self._settings = settings
        self._ring = HostPartitioner(shards)
        self._stores = folder / "store"
        self._every: PageStore | None = None
        self._inboxes = {other: mailbox_dir(folder, other) / "inbox" for other in shards}
        self._boxes = {other: ShardMessage(number) for other in shards if other != number}
        self._since: dict[int, float] = {}
        self._sent: dict[int, None] = {}
        self._had: dict[str, None] = {}
        self.taken = 0
        """Parcels read since this process began."""
        for inbox in self._inboxes.values():
            with disk_errors(inbox):
                inbox.mkdir(parents=True, exist_ok=True)
            for torn in inbox.glob(f".{number:02d}-*"):
                torn.unlink(missing_ok=True)

    def mine(self, host: str) -> bool:
        """Tell whether this shard has a host."""
        return self._ring.owner(host) == self.number

    def ours(self, dues: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Give the dues of our own hosts; the others are sent to those who have them."""
        found = []
        for due in dues:
            place = due.address
            owner = self._ring.owner(place.host)
            if owner == self.number:
                found.append(due)
            elif place.key not in self._sent:
                self._remember(place.key)
                link = SentLink(place.url, due.depth, due.rank, due.hops, place.key in lists)
                self._box(owner).links.append(link)
        return found

    def read_all(self, store: PageStore) -> Iterator[FetchRecord]:
        """Read all visits, also those of other shards."""
        store.flush()
        with PageStore.open(self._stores, self._settings) as every:
            yield from every.records()

    def find(self, store: PageStore, key: int) -> FetchRecord | None:
        """Find the stored visit of a key, also of a host that was another shard's before."""
        found = store.find(key)
        if found is None:
            with contextlib.suppress(DataError):  # theirs to complain about
                self._every = self._every or PageStore.open(self._stores, self._settings)
                found = self._every.find(key)
        return found

    def _remember(self, key: int) -> None:
        if len(self._sent) >= _SENT:
            self._sent.clear()
        self._sent[key] = None

    def _box(self, other: int) -> ShardMessage:
        self._since.setdefault(other, time.monotonic())
        return self._boxes[other]

    def tell_seeds(self, seeds: Sequence[Address]) -> None:
        """Let all others know where seeds have moved to."""
        for other in self._boxes if seeds else ():
            self._box(other).seeds.extend(seed.url for seed in seeds)

    def ask(self, target: Address, origin: str) -> None:
        """Let the shard that has a host ask it for a robots.txt."""
        self._box(self._ring.owner(target.host)).questions.append(Question(origin, target.url))

    def answer(self, other: int, answer: Answer) -> None:
        """Give another shard what it asked for."""
        self._box(other).answers.append(answer)

    def send(self, everything: bool = False, at_once: bool = False) -> None:
        """Send what has waited long enough, or all `at_once`, where the inbox has room; or everything in any case."""
        now = time.monotonic()
        for other, box in self._boxes.items():
            ripe = at_once or len(box) >= _BATCH or now - self._since.get(other, now) >= _AGE
            if len(box) and (everything or (ripe and self._has_room(other))):
                name = f"{self.number:02d}-{time.time_ns():020d}.parcel"
                write_message(self._inboxes[other] / name, box)
                self._boxes[other] = ShardMessage(self.number)
                self._since.pop(other, None)

    def _has_room(self, other: int) -> bool:
        return len(self._parcels(other)) < _MOST_PARCELS

    def _parcels(self, other: int) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._inboxes[other]) if name.endswith(".parcel"))
        except OSError:
            return []

    def kept(self) -> int:
        """Give how much waits to be sent."""
        return sum(len(box) for box in self._boxes.values())

    def are_slow(self) -> bool:
        """Tell whether so much waits to be sent that there should not be more of it."""
        return any(len(box) >= _MOST_KEPT for box in self._boxes.values())

    def receive(self, take: Callable[[ShardMessage], None]) -> int:
        """Take some parcels that have come; give their number. They stay where they are until `settle`."""
        fresh = [name for name in self._parcels(self.number) if name not in self._had][:_READ_AT_ONCE]
        for name in fresh:
            take(read_message(self._inboxes[self.number] / name))
            self._had[name] = None
            self.taken += 1
        return len(fresh)

    @property
    def held(self) -> int:
        """Parcels that were taken, and are still in the inbox."""
        return len(self._had)

    @property
    def mark(self) -> int:
        """What stands for the parcels that are held."""
        return mark_of(self._had)

    def settle(self) -> None:
        """Remove the parcels that were taken: a snapshot reflects them now."""
        for name in self._had:
            with contextlib.suppress(OSError):
                (self._inboxes[self.number] / name).unlink()
        self._had.clear()
