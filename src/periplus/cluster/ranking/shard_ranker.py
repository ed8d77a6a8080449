"""Builds the graph of one shard, round by round; or those of all shards in one process."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from periplus.cluster.ranking.round_store import RoundStore
from periplus.crawl import HostPartitioner
from periplus.errors import CorruptFile, NothingHere
from periplus.files import DataFolder, make_folder
from periplus.graph import (
    Arrivals,
    Graph,
    GraphStatistics,
    Message,
    Part,
    Program,
    Round,
    build_shard_graph,
    learn_shard_synonyms,
    run_programs,
)
from periplus.settings import GraphSettings, StoreSettings
from periplus.store import PageStore

__all__ = ["RankerStatus", "ShardRanker", "rank_shards"]

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0


class RankerStatus(NamedTuple):
    """How far a shard is."""

    round: int
    name: str
    waiting_for: tuple[int, ...]
    """Shards whose messages of this round have not arrived."""
    statistics: GraphStatistics | None = None
    """Of the graph, once it is written."""


class ShardRanker:
    """Builds the graph of one shard with messages through a `RoundStore`."""

    def __init__(
        self,
        folder: Path,
        shard: int,
        shards: Sequence[int],
        settings: GraphSettings,
        rounds: RoundStore,
        *,
        records: int | None = None,
    ) -> None:
        """Rank the pages of `folder`: the first `records` of the store, or all that there are now."""
        self._shard, self._shards, self._rounds = shard, tuple(sorted(shards)), rounds
        self._scratch = DataFolder(folder).graph / ".exchange"
        make_folder(self._scratch)
        self._store = _open_store(folder)
        count = rounds.plan(shard, self._store.statistics().records if records is None else records)
        part = _make_part(self._shards, shard)
        graph = DataFolder(folder).graph
        self._program = _build(self._store, graph, settings, part, count)
        self._number = 0
        self._outgoing: Round | None = None
        self._is_sent = False
        self._arrived: dict[int, tuple[tuple[float, ...], Message | None]] = {}
        self._statistics: GraphStatistics | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop, and remove temporary files; what is in storage stays."""
        self._program.close()
        self._store.close()
        with contextlib.suppress(OSError):
            for path in self._scratch.iterdir():
                path.unlink()
            self._scratch.rmdir()

    def advance(self) -> RankerStatus:
        """Send what is to be sent, receive what has arrived, and compute the next round if that is complete."""
        if self._statistics is not None:
            return RankerStatus(self._number, "", (), self._statistics)
        if self._outgoing is None:
            self._outgoing = next(self._program)
        if not self._is_sent:
            messages = {self._shards[index]: message for index, message in self._outgoing.messages.items()}
            self._rounds.write(self._number, self._shard, self._outgoing._replace(messages=messages), self._scratch)
            self._is_sent = True
        waiting = tuple(shard for shard in self._shards if shard != self._shard and not self._receive(shard))
        if waiting:
            return RankerStatus(self._number, self._outgoing.name, waiting)
        return self._compute(self._outgoing)

    def _receive(self, sender: int) -> bool:
        """Return whether a shard has sent its round; fetch its message to this one."""
        if sender in self._arrived:
            return True
        record = self._rounds.read(self._number, sender)
        if record is None:
            return False
        if self._outgoing is not None and record.name != self._outgoing.name:
            raise CorruptFile(
                f"Shard {sender} sends '{record.name}', where shard {self._shard} expects '{self._outgoing.name}'.",
                "Begin another build of the graph, with the same settings for all shards.",
            )
        stored = record.messages.get(self._shard)
        message = self._rounds.fetch(stored, self._scratch / f"incoming-{sender}") if stored else None
        self._arrived[sender] = record.summary, message
        return True

    def _compute(self, sent: Round) -> RankerStatus:
        """Compute the next round from what has arrived."""
        arrived = {**self._arrived, self._shard: (sent.summary, None)}
        messages = {
            index: message
            for index, shard in enumerate(self._shards)
            if shard != self._shard and (message := arrived[shard][1]) is not None
        }
        summaries = [arrived[shard][0] for shard in self._shards]
        self._arrived, self._is_sent, self._number = {}, False, self._number + 1
        try:
            self._outgoing = self._program.send(Arrivals(messages, summaries))
        except StopIteration as stop:
            statistics: GraphStatistics = stop.value
            self._statistics = statistics
            return RankerStatus(self._number, "", (), statistics)
        return RankerStatus(self._number, self._outgoing.name, ())

    def run(self, stop: Callable[[], bool], pause: Callable[[float], object]) -> RankerStatus:
        """Advance until the graph is written or `stop` returns true.

        `pause` is called with a number of seconds while other shards are late: more and more, since each attempt is one
        request for each of them.
        """
        seconds, missing = _FIRST_PAUSE, 0
        while True:
            status = self.advance()
            if status.statistics is not None or stop():
                return status
            if len(status.waiting_for) != missing:
                seconds, missing = _FIRST_PAUSE, len(status.waiting_for)
            if missing:
                pause(seconds)
                seconds = min(1.5 * seconds, _LONGEST_PAUSE)


def rank_shards(
    folders: Mapping[int, Path],
    settings: GraphSettings,
    on_round: Callable[[Sequence[Round]], None] = lambda rounds: None,
) -> dict[int, GraphStatistics]:
    """Build the graphs of all shards in this process; `folders` are their data folders by number."""
    shards = tuple(sorted(folders))
    with contextlib.ExitStack() as stack:
        programs = []
        for shard in shards:
            store = stack.enter_context(_open_store(folders[shard]))
            graph = DataFolder(folders[shard]).graph
            programs.append(_build(store, graph, settings, _make_part(shards, shard)))
        return dict(zip(shards, run_programs(programs, on_round), strict=True))


def _open_store(folder: Path) -> PageStore:
    """Open the page store of a shard, which may not have any pages yet."""
    try:
        return PageStore.open(DataFolder(folder).store, StoreSettings())
    except NothingHere:
        return PageStore(DataFolder(folder).store, None)


def _build(
    store: PageStore, folder: Path, settings: GraphSettings, part: Part, records: int | None = None
) -> Program[GraphStatistics]:
    """Build the graph of a shard, and learn synonyms from the anchor texts of all shards."""
    statistics = yield from build_shard_graph(store, folder, settings, part, records=records)
    yield from learn_shard_synonyms(Graph.open(folder), folder, part)
    return statistics


def _make_part(shards: tuple[int, ...], shard: int) -> Part:
    """Return the part of a shard: parts are numbered from 0 on, shards need not be."""
    partitioner = HostPartitioner(shards)
    numbers = {number: index for index, number in enumerate(shards)}
    return Part(numbers[shard], len(shards), lambda host: numbers[partitioner.owner(host)])
