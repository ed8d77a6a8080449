"""Kills parts of a cluster at random, and measures how long it takes until nothing is missing: for cluster_kills.py."""

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from periplus.app import ClusterSession
from periplus.cluster import read_local_cluster
from periplus.errors import ClusterError

Condition = Callable[[dict[str, Any]], bool]
LONGEST = 300.0
"""Seconds within which a cluster has to be complete again."""
POLL = 0.3
VICTIMS = {
    "crawl": ("crawl", "crawl", "node", "coordinator"),
    "build": ("build", "build", "node", "coordinator"),
    "serving": ("replica", "replica", "broker", "node", "coordinator"),
    "publishing": ("replica", "replica", "broker", "node", "coordinator"),
    "rebuild": ("build", "build", "node", "coordinator", "replica", "broker"),
}
"""By phase: what is killed."""


@dataclass
class Kill:
    """One kill."""

    phase: str
    kind: str
    victim: str
    """Name of the unit or node; for a build unit, with the step that it executed."""
    when: float
    """Seconds since the first phase began."""
    recovery_seconds: float | None = None
    """Until the loss was noticed and nothing was missing any more."""
    alone: bool = True
    """Whether nothing else was missing when it was killed."""


@dataclass
class _Loss:
    kill: Kill
    is_noticed: Condition
    is_whole: Condition
    began: float = field(default_factory=time.monotonic)


class Killer:
    """Kills parts of a cluster."""

    def __init__(self, session: ClusterSession, folder: Path, chance: random.Random, victims: Sequence[str]) -> None:
        self._session, self._folder, self._chance = session, folder, chance
        self._victims = victims
        self._began = time.monotonic()
        self._losses: list[_Loss] = []
        self._kinds: dict[str, list[str]] = {}
        self.kills: list[Kill] = []
        self.before_crawl_was_done = 0
        """Kills before the crawl was done."""

    def kill_often(self, phase: str, count: int, is_whole: Condition, is_due: Condition = lambda status: True) -> None:
        """Kill so many times; after two of three kills wait until the cluster is whole again, and at the end.

        is_due: whether this is a moment to kill.
        """
        for done in range(1, count + 1):
            kind = self._next_kind(phase)
            if kind is None:
                return
            while True:
                status = self._observe()
                if is_due(status) and self._kill(kind, phase, status, is_whole):
                    break
                time.sleep(POLL)
            if done == count or self._chance.random() < 0.67:
                self._wait()
            time.sleep(self._chance.uniform(0.2, 3.0))

    def _next_kind(self, phase: str) -> str | None:
        """Return what is killed next in a phase: each kind once, in a random order, before one is killed again."""
        if not self._kinds.get(phase):
            kinds = [kind for kind in VICTIMS[phase] if not self._victims or kind in self._victims]
            self._kinds[phase] = self._chance.sample(kinds, len(kinds))
        return self._kinds[phase].pop(0) if self._kinds[phase] else None

    def _kill(self, kind: str, phase: str, status: dict[str, Any], is_whole: Condition) -> bool:
        """Kill a part of a kind; return False if there is none to kill just now."""
        target = self._choose_node(status) if kind == "node" else choose_process(kind, status, self._chance)
        if target is None:
            return False
        process, victim, is_noticed = target
        alone = not self._losses
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:  # it was killed before, and the coordinator has not noticed yet
            return False
        kill = Kill(phase, kind, victim, round(time.monotonic() - self._began, 1), alone=alone)
        self.kills.append(kill)
        self._losses.append(_Loss(kill, is_noticed, is_whole))
        if phase == "crawl" and not status.get("crawl", {}).get("is_done"):
            self.before_crawl_was_done += 1
        print(f"  {len(self.kills):3}. {phase}: killed {victim} after {kill.when} s", flush=True)
        return True

    def _choose_node(self, status: dict[str, Any]) -> tuple[int, str, Condition] | None:
        """Return a node: the process to kill, its name, and what is so when the coordinator has noticed."""
        local = read_local_cluster(self._folder)
        assert local is not None
        node = self._chance.choice([node for node in local.nodes if node.number])
        label = f"node-{node.number}"
        ids = {entry["id"] for entry in status["nodes"] if entry["label"] == label}
        if len(status["nodes"]) < self._session.settings.cluster.nodes or len(ids) != 1:
            return None  # one that was killed is not back yet
        return node.raylet, label, lambda status: not ids & {entry["id"] for entry in status["nodes"]}

    def _observe(self) -> dict[str, Any]:
        """Return the status of the cluster; note which losses are made good."""
        status = self._read_status()
        now = time.monotonic()
        for loss in list(self._losses):
            if loss.is_noticed(status) and loss.is_whole(status):
                loss.kill.recovery_seconds = round(now - loss.began, 1)
                self._losses.remove(loss)
                print(f"       {loss.kill.victim}: whole after {loss.kill.recovery_seconds} s", flush=True)
            elif now - loss.began > LONGEST:
                faults = {name: unit["fault"] for name, unit in status["units"].items() if unit["fault"]}
                raise SystemExit(
                    f"{loss.kill} is not made good within {LONGEST:.0f} s: missing {status['missing']}, {faults}, "
                    f"noticed {loss.is_noticed(status)}, coordinator {status.get('coordinator_fault')}, "
                    f"table {status.get('table')}, serving faults {status.get('serving_faults')}"
                )
        return status

    def _read_status(self) -> dict[str, Any]:
        limit = time.monotonic() + LONGEST
        while True:
            try:
                return self._session.client.status()
            except ClusterError:  # the coordinator is started again
                if time.monotonic() > limit:
                    raise
                time.sleep(POLL)

    def _wait(self) -> None:
        """Wait until all losses are made good."""
        while self._losses:
            self._observe()
            time.sleep(POLL)

    def figures(self) -> dict[str, Any]:
        """Return all kills, their numbers by phase and kind, and the recovery times of each."""
        numbers: dict[str, dict[str, int]] = {}
        recoveries: dict[str, dict[str, list[float]]] = {}
        for kill in self.kills:
            counts = numbers.setdefault(kill.phase, {})
            counts[kill.kind] = counts.get(kill.kind, 0) + 1
            if kill.recovery_seconds is not None:
                recoveries.setdefault(kill.phase, {}).setdefault(kill.kind, []).append(kill.recovery_seconds)
        return {
            "killed": numbers,
            "killed_before_the_crawl_was_done": self.before_crawl_was_done,
            "recovery_seconds": {
                phase: {kind: summarize(times) for kind, times in kinds.items()} for phase, kinds in recoveries.items()
            },
            "each": [asdict(kill) for kill in self.kills],
        }


def choose_process(kind: str, status: dict[str, Any], chance: random.Random) -> tuple[int, str, Condition] | None:
    """Return the coordinator or a unit of a kind: process, name, and what is so when its loss was noticed."""
    if kind == "coordinator":
        process = int(status["pid"])
        return process, kind, lambda status: status["pid"] != process
    units = {
        name: unit for name, unit in status["units"].items() if unit["kind"] == kind and unit["state"] == "running"
    }
    if kind == "build":  # not while it waits for the others to start
        units = {name: unit for name, unit in units.items() if step_of(unit) not in ("", "ready")}
    if not units:
        return None
    name = chance.choice(sorted(units))
    process = process_of(units[name])
    if not process:
        return None
    victim = f"{name} ({step_of(units[name])})" if kind == "build" else name
    return process, victim, lambda status: process_of(status["units"].get(name, {"pid": -1})) not in (0, process)


def step_of(unit: dict[str, Any]) -> str:
    """Return the step that a build unit executes."""
    return str(unit["description"].get("state", ""))


def is_building(status: dict[str, Any]) -> bool:
    """Return whether a build unit executes a step."""
    units = status["units"].values()
    return bool(status["building"]) and any(
        unit["kind"] == "build" and unit["state"] == "running" and step_of(unit) not in ("", "ready") for unit in units
    )


def process_of(unit: dict[str, Any]) -> int:
    """Return the process of a unit; of a broker that of its web server; 0 if it has none."""
    description = unit.get("description", unit)
    return int(description.get("process") or description.get("pid") or 0)


def summarize(times: list[float]) -> dict[str, Any]:
    """Return some times, the middle one (the higher of two) and the longest."""
    return {"times": times, "median": sorted(times)[len(times) // 2], "longest": max(times)}
