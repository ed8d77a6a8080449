"""Units as Ray actors: started on a given node, probed, called and stopped."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from periplus import __version__
from periplus.cluster.control.placement import NodeView, Unit, parse_unit
from periplus.cluster.control.unit_actor import UnitActor, UnitSpec, WorkerFactory
from periplus.cluster.wire.listening import is_wildcard
from periplus.errors import ClusterError, PeriplusError
from periplus.settings import Settings

__all__ = ["COORDINATOR", "NodeCheck", "Probe", "RayHost", "node_version"]

COORDINATOR: Final = "coordinator"
_PREFIX: Final = "periplus-node-"
_PROBE_SECONDS: Final = 5.0
_VERSION_SECONDS: Final = 60.0
_STALL_SECONDS: Final = 60.0
_STOP_POLL_SECONDS: Final = 1.0
_CALLS: Final = 8
"""Calls that an actor executes at once, so that it answers probes while it works."""


class Probe(NamedTuple):
    """What a probe of a unit has shown."""

    state: str
    """'running', 'starting' (no answer yet, or started again just now) or 'dead'."""
    description: dict[str, Any]
    fault: str = ""
    has_failed: bool = False
    """Whether its process lives, and is to be replaced since its work has ended with an error."""


class NodeCheck(NamedTuple):
    """What a node has answered to the question which version of Periplus it has."""

    version: str
    fault: str = ""
    """Why it has none, or does not answer."""


def node_version() -> str:
    """Return the version of Periplus on the node that executes this."""
    return __version__


class RayHost:
    """Starts and probes units by Ray; the connection must exist."""

    def __init__(self, ray: Any, settings: Settings, factories: dict[str, WorkerFactory]) -> None:
        self._ray, self._settings, self._factories = ray, settings, factories
        self._checks: dict[str, NodeCheck] = {}
        self._questions: dict[str, tuple[Any, float]] = {}
        """By node that has not answered yet: the task, and when it was started."""

    def nodes(self) -> list[NodeView]:
        """Return the nodes that are alive, in the order of their labels."""
        nodes = []
        for node in self._ray.nodes():
            if not node["Alive"]:
                continue
            local = [name[len(_PREFIX) :] for name in node["Resources"] if name.startswith(_PREFIX)]
            label = f"node-{local[0]}" if local else str(node["NodeManagerHostname"])
            is_head = "node:__internal_head__" in node["Resources"]
            nodes.append(NodeView(node["NodeID"], label, node["NodeManagerAddress"], is_head))
        return sorted(nodes, key=lambda node: (node.label, node.id))

    def check_nodes(self, nodes: Iterable[NodeView]) -> dict[str, NodeCheck]:
        """Ask new nodes for their version of Periplus, all at once; return the answers so far, by node.

        Only the first call waits for the answers: a node that starts slowly must not keep units from being started on
        the others.
        """
        nodes = list(nodes)
        alive = {node.id for node in nodes}
        self._questions = {id: question for id, question in self._questions.items() if id in alive}
        for node in nodes:
            if node.id not in self._checks and node.id not in self._questions:
                task = self._ray.remote(num_cpus=0, max_retries=0)(node_version)
                answer = task.options(scheduling_strategy=self._strategy(node.id)).remote()
                self._questions[node.id] = answer, time.monotonic()
        tasks = [task for task, _ in self._questions.values()]
        seconds = 0 if self._checks else _VERSION_SECONDS
        ready, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=seconds) if tasks else ([], [])
        faults: dict[str, NodeCheck] = {}
        for id, (task, began) in list(self._questions.items()):
            if task in ready:
                try:
                    self._checks[id] = NodeCheck(str(self._ray.get(task)))
                except Exception as error:  # whatever it is, the node is asked again
                    faults[id] = NodeCheck("", f"It cannot run Periplus: {_first_line(error)}")
            elif time.monotonic() - began >= _VERSION_SECONDS:
                faults[id] = NodeCheck("", f"It does not run Periplus within {_VERSION_SECONDS:.0f} s.")
            else:
                continue
            del self._questions[id]
        return {id: check for id, check in self._checks.items() if id in alive} | faults

    def node_dir(self, node: NodeView) -> str:
        """Return the folder of a node; nodes on one machine have one each."""
        base = Path(self._settings.cluster.node_folder or self._settings.folder).resolve()
        return str(base / "nodes" / node.label) if node.label.startswith("node-") else str(base)

    def start(self, unit: Unit, node: NodeView, term: int) -> None:
        """Start a unit on a node; return before it has started. Raise `ClusterError` if Ray refuses."""
        cluster = self._settings.cluster
        spec = UnitSpec(
            kind=unit.kind,
            number=unit.number,
            copy=unit.copy,
            settings=self._settings,
            node_dir=self.node_dir(node),
            node=node.id,
            address=node.address if is_wildcard(cluster.bind) else cluster.bind,
            bind=cluster.bind,
            term=term,
        )
        options = {
            "name": unit.name,
            "lifetime": "detached",
            "max_restarts": -1,
            "max_task_retries": 0,
            "max_concurrency": _CALLS,
            "num_cpus": getattr(cluster, f"{unit.kind}_cpus"),
            "memory": getattr(cluster, f"{unit.kind}_memory_mb", 0) * 1_000_000 or None,
            "scheduling_strategy": self._strategy(node.id),
        }
        try:
            actor = self._ray.remote(UnitActor).options(**options)
            actor.remote(self._factories[unit.kind], msgspec.msgpack.encode(spec))
        except ValueError as error:
            raise ClusterError(f"{unit.name} cannot be started: {_first_line(error)}") from error

    def units(self) -> list[Unit]:
        """Return the units that Ray has actors for, dead nodes' actors excluded."""
        names = self._ray.util.list_named_actors()
        return sorted(unit for unit in map(parse_unit, names) if unit is not None)

    def probe(self, units: Iterable[Unit]) -> dict[Unit, Probe]:
        """Ask units how they are, all at once."""
        probes: dict[Unit, Probe] = {}
        pending: dict[Any, Unit] = {}
        for unit in units:
            try:
                pending[self._ray.get_actor(unit.name).describe.remote()] = unit
            except ValueError:
                probes[unit] = Probe("dead", {}, "Ray has no such actor.")
        ready, _ = (
            self._ray.wait(list(pending), num_returns=len(pending), timeout=_PROBE_SECONDS) if pending else ([], [])
        )
        for reference, unit in pending.items():
            probes[unit] = self._read(reference) if reference in ready else Probe("starting", {})
        return probes

    def _read(self, reference: Any) -> Probe:
        errors = self._ray.exceptions
        try:
            return Probe("running", self._ray.get(reference))
        except errors.ActorUnavailableError as error:
            return Probe("starting", {}, _first_line(error))
        except (errors.RayActorError, errors.ActorUnschedulableError) as error:
            return Probe("dead", {}, _first_line(error))
        except Exception as error:
            return Probe("running", {}, _first_line(error))

    def call(self, unit: Unit, command: str, argument: bytes = b"", timeout: float | None = None) -> bytes:
        """Execute a command of a unit and return its answer; raise what it raises, `ClusterError` if it is gone."""
        return self.call_all({unit: argument}, command, timeout)[unit]

    def call_all(self, arguments: dict[Unit, bytes], command: str, timeout: float | None = None) -> dict[Unit, bytes]:
        """Execute a command of several units at the same time; return their answers."""
        try:
            references = [
                self._ray.get_actor(unit.name).call.remote(command, argument) for unit, argument in arguments.items()
            ]
        except ValueError as error:
            raise ClusterError(f"A unit is gone: {_first_line(error)}") from error
        try:
            answers = self._ray.get(references, timeout=timeout)
        except Exception as error:  # an error of a unit is wrapped in one of Ray
            cause = getattr(error, "cause", None)
            if isinstance(cause, PeriplusError):
                raise cause from error
            raise ClusterError(f"'{command}' failed: {_first_line(error)}") from error
        return dict(zip(arguments, answers, strict=True))

    def stop(self, unit: Unit, seconds: float | None = None) -> None:
        """Stop a unit: in an orderly way, and if it makes no progress for so many seconds, by killing its process.

        A crawl shard stores its last checkpoint meanwhile, which takes as long as it takes.
        """
        if seconds is None:
            seconds = _STALL_SECONDS + self._settings.storage.retry_seconds
        try:
            actor = self._ray.get_actor(unit.name)
        except ValueError:
            return
        try:
            self._wait_for_end(actor, actor.close.remote(), seconds)
        except Exception:  # whatever it is, the process is killed next
            pass
        self._ray.kill(actor, no_restart=True)

    def _wait_for_end(self, actor: Any, end: Any, seconds: float) -> None:
        """Wait until a unit has ended, or its description stays the same for so many seconds."""
        description, changed = None, time.monotonic()
        while time.monotonic() - changed < seconds:
            ready, _ = self._ray.wait([end], timeout=min(seconds, _STOP_POLL_SECONDS))
            if ready:
                return
            answer = self._ray.get(actor.describe.remote(), timeout=seconds)
            current = {name: value for name, value in answer.items() if not name.endswith("_bytes")}  # mail goes on
            if current != description:
                description, changed = current, time.monotonic()

    def _strategy(self, node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node, soft=False)


def _first_line(error: BaseException) -> str:
    """Return the end of an error of Ray: the last line has the cause, the others are the traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1][:300]
