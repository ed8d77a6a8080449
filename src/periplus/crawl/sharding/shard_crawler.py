"""One shard of a crawl: the same loop, for its own hosts, that sends the links of others away and takes its own in."""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from periplus.crawl.control import pending_command
from periplus.crawl.crawl_status import CrawlStatus, write_status
from periplus.crawl.crawler import Crawler
from periplus.crawl.sharding.mailbox import Answer, ShardMessage
from periplus.crawl.sharding.quotas import read_quotas
from periplus.crawl.sharding.shard_router import Neighbours
from periplus.crawl.sharding.topology import mailbox_dir
from periplus.errors import BadUrl
from periplus.records import Address, FetchRequest, FetchResult
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["ShardCrawler"]

_LOOK: Final = 0.01
"""Seconds between two looks at the inbox, and at what the supervisor wants."""
_LISTEN: Final = 0.05
_SAY: Final = 1.0
_SLOW: Final = 0.05
_PATIENCE: Final = 60.0
"""Seconds that an answer about a robots.txt is waited for, and that a question is worth answering."""
_MAX_ROBOTS: Final = 512_000


class _Errand(NamedTuple):
    """A robots.txt that another shard wants to know, at one of our hosts."""

    asker: int
    origin: str
    target: Address
    since: float


class ShardCrawler(Crawler):
    """One crawl loop among several. It is never over by itself: nobody can tell alone that nothing more will come."""

    def __init__(
        self, folder: Path, settings: Settings, seeds: Iterable[str], number: int, shards: tuple[int, ...]
    ) -> None:
        self._others = Neighbours(folder, number, shards, settings.store)
        self._desk = mailbox_dir(folder, number)
        self._errands: list[_Errand] = []
        self._running: dict[int, _Errand] = {}
        self._awaited: dict[str, tuple[FetchRequest, float]] = {}
        """Dues whose robots.txt another shard was asked for, by origin."""
        self._quiet = False
        self._looked = self._listened = self._said = 0.0
        self._state = ""
        self._known_quota = 0
        super().__init__(folder, settings, seeds, self._others)
        self._most = 0
        """Nothing before the supervisor says how many."""
        self._told_seeds = self._memory.first_seeds
        self._say(now=True)

    def _claim(self, folder: Path) -> None:
        """Take nothing but our own part: the whole is the supervisor's."""

    def step(self) -> bool:
        """Do one turn: take what others have sent, go on as alone, send them what is theirs."""
        now = self._now()
        if now - self._looked >= _LOOK:
            self._looked = now
            self._quiet = self._others.receive(self._take) == 0
        self._run_errands(now)
        self._stop_waiting(now)
        going = super().step()
        seeds = self._memory.harvester.seeds
        self._others.tell_seeds(seeds[self._told_seeds :])
        self._told_seeds = len(seeds)
        self._others.send(at_once=self._fetcher.busy() == 0)
        self._hear(now)
        self._say()
        return going

    def _take(self, parcel: ShardMessage) -> None:
        self._memory.take(parcel)
        # Seeds that others have found need not be told to others again.
        self._told_seeds = len(self._memory.harvester.seeds)
        now = self._now()
        for question in parcel.questions:
            with contextlib.suppress(BadUrl):
                self._errands.append(_Errand(parcel.sender, question.origin, parse_address(question.target), now))
        for answer in parcel.answers:
            with contextlib.suppress(BadUrl):
                self._learn_answer(answer)

    def checkpoint(self) -> None:
        """Write the snapshot, and let go of the parcels that it reflects."""
        if self._closed:
            return
        super().checkpoint()
        # Whoever counts parcels has to know of those that were taken before they are gone.
        self._say(now=True)
        self._others.settle()

    def _start(self, now: float) -> None:
        if not self._others.are_slow():
            super()._start(now)
        elif not self._fetcher.busy():
            time.sleep(_SLOW)

    def _over(self) -> bool:
        if not self._stops:
            return False
        return not self._fetcher.busy() or super()._over()

    def _complain(self) -> None:
        """Leave it to the supervisor, who sees all shards."""

    def _listen(self) -> None:
        """Hear what others have reported of our own hosts; the rest is heard and said in every turn."""
        self._memory.hear(self._store)

    def _hear(self, now: float) -> None:
        """Look at what the operator and the supervisor want."""
        if now - self._listened < _LISTEN:
            return
        self._listened = now
        self._paused = pending_command(self._folder) == "pause"
        self._most = self._known_quota = read_quotas(self._folder).get(self._others.number, self._most)

    def _say(self, now: bool = False) -> None:
        """Say how we are, at once when that has changed."""
        state = self._state_now()
        if now or state != self._state or time.monotonic() - self._said >= _SAY:
            self._tell(state)

    def _tell(self, state: str) -> None:
        self._state, self._said = state, time.monotonic()
        totals, others = self._memory.totals, self._others
        status = CrawlStatus(
            os.getpid(),
            state,
            self.statistics(),
            time.time(),
            number=others.number,
            had=self._asked if self._settings.crawl.recrawl else totals.pages,
            quota=self._known_quota,
            taken=others.taken,
            held=others.held,
            mark=others.mark,
            kept=others.kept(),
            answered=totals.answered,
        )
        write_status(self._desk, status)

    def _state_now(self) -> str:
        if self._stops:
            return "stopping"
        if self._paused:
            return "paused"
        if not self._quiet or self._fetcher.busy() or self._awaited or self._errands or self._others.kept():
            return "running"
        if self._memory.frontier.wait(self._now()) is not None:
            return "full" if self._enough(0) else "running"
        # What others reported is heard to the end before there is nothing left to do.
        return "running" if self._memory.hear(self._store) else "idle"

    def _ask_robots(self, due: FetchRequest, now: float) -> None:
        """Ask for robots.txt; where it has moved to another shard's host, that shard asks for us."""
        target = self._memory.robots.target(due.address)
        if self._others.mine(target.host):
            super()._ask_robots(due, now)
        else:
            self._awaited[due.address.origin] = (due, now)
            self._others.ask(target, due.address.origin)

    def _stop_waiting(self, now: float) -> None:
        for origin, (due, since) in list(self._awaited.items()):
            if now - since > _PATIENCE:
                del self._awaited[origin]
                self._memory.frontier.postpone(due, now, _PATIENCE)

    def _learn_answer(self, answer: Answer) -> None:
        target = parse_address(answer.target)
        waiting = self._awaited.pop(answer.origin, None)
        if waiting is None:
            return
        headers = (("retry-after", answer.retry_after),) if answer.retry_after else ()
        fetched = FetchResult(
            FetchRequest(target),
            answer.outcome,
            self._now(),
            answer.status,
            headers,
            answer.body,
            answer.elapsed,
            location=answer.location,
        )
        self._memory.add(self._learn_robots(waiting[0], fetched))

    def _run_errands(self, now: float) -> None:
        """Ask for the robots.txt that others want to know, within the pauses of our hosts."""
        waiting, self._errands = self._errands, []
        for errand in waiting:
            if now - errand.since > _PATIENCE:
                continue
            if self._paused or self._stops or self._memory.frontier.reserve(errand.target.host, now) > 0:
                self._errands.append(errand)
                continue
            due = FetchRequest(errand.target)
            self._running[id(due)] = errand
            self._fetcher.start(due, any_type=True)

    def _receive(self, fetched: FetchResult) -> list[FetchRequest]:
        errand = self._running.pop(id(fetched.request), None)
        if errand is None:
            return super()._receive(fetched)
        self._memory.totals.answered += fetched.status > 0
        self._memory.frontier.release(errand.target.host, fetched.outcome, self._now(), fetched.elapsed)
        answer = Answer(
            errand.origin,
            errand.target.url,
            fetched.outcome,
            fetched.status,
            fetched.elapsed,
            fetched.location,
            fetched.header("retry-after"),
            fetched.body[:_MAX_ROBOTS],
        )
        self._others.answer(errand.asker, answer)
        return []
