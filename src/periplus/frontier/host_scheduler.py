"""The order in which hosts are contacted: heaps by time, and the one place that changes the state of a host."""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Final

from periplus.frontier.best_first import BestFirst, ReadyHeap
from periplus.frontier.budgets import is_deferred, never_deferred, no_reputation
from periplus.frontier.host import SLOT_NAME, SLOT_RANK, SLOT_TIME, Host, Slot
from periplus.frontier.host_states import PLACED, TRANSITIONS, HostEvent, HostState
from periplus.settings import FrontierSettings

__all__ = ["HostScheduler", "SchedulerChoices"]

_TURN_OF_DEFERRED: Final = 20
"""Every so many requests, deferred hosts come first, so that none starves."""


class HostScheduler:
    """Moves hosts between their states, and hands out the one whose turn it is."""

    def __init__(self, settings: FrontierSettings, hosts: dict[str, Host]) -> None:
        self._settings = settings
        self._hosts = hosts
        self._never_deferred = never_deferred(settings)
        self.reputation: Callable[[str], float] = no_reputation
        self.best_first: BestFirst | None = None
        self.now = 0.0
        self.requests = 0
        self.order = 0
        self._scheduled: list[Slot] = []
        self._deferred: list[Slot] = []
        self._ready, self._ready_deferred = ReadyHeap(), ReadyHeap()

    def deferred(self) -> int:
        """Return the number of hosts that wait behind others."""
        return len(self._deferred)

    def move(self, host: Host, event: HostEvent) -> None:
        """Change the state of a host as `TRANSITIONS` says; raise `ValueError` if the event is impossible."""
        targets = TRANSITIONS.get((host.state, event))
        if targets is PLACED:
            self._place(host)
        elif targets is None:
            raise ValueError(f"{host.name} is {host.state.name}: {event.name} is not possible")
        else:
            host.state = targets[0]
            host.slot = None

    def _place(self, host: Host) -> None:
        """Put a host into the heap where it waits for its turn, if it has URLs."""
        if host.queue:
            soonest, best = host.next_time, host.queue[0][0]
        elif host.later or host.spilled:
            soonest, best = host.soonest(), host.best()
        else:
            host.state, host.slot = HostState.EMPTY, None
            return
        if soonest < self.now:
            soonest = self.now
        slot = host.slot
        if slot is not None and slot[SLOT_TIME] <= soonest and (self.best_first is None or best >= slot[SLOT_RANK]):
            return
        self.order += 1
        host.slot = (soonest, best, self.order, host.name)
        behind = self.best_first is not None and self.best_first.is_behind(host)
        if host.recent > self._never_deferred:
            behind = behind or is_deferred(host, self.requests, self.reputation(host.name), self._settings)
        if behind:
            host.state = HostState.DEFERRED
            heappush(self._deferred, host.slot)
        else:
            host.state = HostState.SCHEDULED
            heappush(self._scheduled, host.slot)

    def pop(self, now: float) -> Host | None:
        """Return the host whose turn it is; None if the time of none has come. The caller moves it on."""
        deferred_first = self.requests % _TURN_OF_DEFERRED == _TURN_OF_DEFERRED - 1
        if deferred_first and (host := self._pop(self._deferred, now)) is not None:
            return host
        host = self._pop(self._scheduled, now)
        if host is not None or deferred_first or self._expects(now):
            return host
        return self._pop(self._deferred, now)

    def _pop(self, heap: list[Slot], now: float) -> Host | None:
        """Return the host that has waited longest or, in a crawl with a topic, the one with the best URL."""
        if self.best_first is not None:
            ready = self._ready if heap is self._scheduled else self._ready_deferred
            return ready.pop(heap, now, self._hosts)
        hosts = self._hosts
        while heap and heap[0][SLOT_TIME] <= now:
            slot = heappop(heap)
            host = hosts[slot[SLOT_NAME]]
            if host.slot == slot:
                return host
        return None

    def _expects(self, now: float) -> bool:
        """Return whether a promising host is worth waiting for."""
        if self.best_first is None:
            return False
        self._prune(self._scheduled)
        return bool(self._scheduled) and self._scheduled[0][SLOT_TIME] <= now + self.best_first.patience

    def _prune(self, heap: list[Slot]) -> None:
        """Remove slots that hosts have left from the front."""
        while heap and self._hosts[heap[0][SLOT_NAME]].slot != heap[0]:
            heappop(heap)

    def wait(self, now: float) -> float | None:
        """Return the seconds until the turn of a host; None if no host waits."""
        expects = self._expects(now)
        if self._ready.holds(self._hosts) or (not expects and self._ready_deferred.holds(self._hosts)):
            return 0.0
        soonest: float | None = None
        for heap in (self._scheduled,) if expects else (self._scheduled, self._deferred):
            self._prune(heap)
            if heap and (soonest is None or heap[0][SLOT_TIME] < soonest):
                soonest = heap[0][SLOT_TIME]
        return None if soonest is None else max(0.0, soonest - now)

    def next_host(self) -> Host | None:
        """Return the host whose turn is next, now or later; None if no host waits."""
        for heap in (self._scheduled, self._deferred):
            self._prune(heap)
        heads = [heap[0] for heap in (self._scheduled, self._deferred) if heap]
        return self._hosts[min(heads)[SLOT_NAME]] if heads else None

    def load(self, hosts: Iterable[Host]) -> None:
        """Restore the heaps from the slots of a snapshot; hosts that were blocked try again."""
        for host in hosts:
            if host.slot is not None and host.state in (HostState.SCHEDULED, HostState.DEFERRED):
                (self._deferred if host.state is HostState.DEFERRED else self._scheduled).append(host.slot)
            else:
                host.slot = None
                self.move(host, HostEvent.UPDATE)
        heapify(self._scheduled)
        heapify(self._deferred)

    def forget_missing(self) -> None:
        """Remove the slots of hosts that are no longer here."""
        for heap in (self._scheduled, self._deferred):
            heap[:] = [slot for slot in heap if slot[SLOT_NAME] in self._hosts]
            heapify(heap)


class SchedulerChoices:
    """What the owner of a frontier sets for its scheduler."""

    _scheduler: HostScheduler

    @property
    def reputation(self) -> Callable[[str], float]:
        """How many links from elsewhere lead to a host; its budget grows with it."""
        return self._scheduler.reputation

    @reputation.setter
    def reputation(self, reputation: Callable[[str], float]) -> None:
        self._scheduler.reputation = reputation

    @property
    def best_first(self) -> BestFirst | None:
        """How to choose among hosts by what waits there; None contacts them in turn."""
        return self._scheduler.best_first

    @best_first.setter
    def best_first(self, best_first: BestFirst | None) -> None:
        self._scheduler.best_first = best_first
