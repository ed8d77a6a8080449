"""The coordinator as a detached Ray actor, and the client that other processes talk to it with."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus import __version__
from periplus.cluster.cluster_topology import ClusterTopology
from periplus.cluster.control.coordinator import Coordinator, Duty
from periplus.cluster.control.ray_host import COORDINATOR, RayHost
from periplus.cluster.control.ray_runtime import load_ray
from periplus.cluster.control.topology_store import TopologyStore
from periplus.cluster.control.unit_actor import WorkerFactory
from periplus.cluster.wire.signing import ClusterKey, load_key
from periplus.errors import ClusterError, CoordinatorConflict, NothingHere, PeriplusError, WrongVersion
from periplus.settings import Settings
from periplus.storage import Storage, open_storage
from periplus.typed_decoding import parse_json

__all__ = ["ClusterClient", "CoordinatorActor", "DutyFactory", "key_path", "start_coordinator"]

_LOG: Final = logging.getLogger("periplus.cluster")
_FAULT_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 120.0
_CONFLICT_SECONDS: Final = 60.0
"""For which a coordinator that another has replaced waits for somebody to tell it to."""
_FAREWELL_SECONDS: Final = 1.0
"""Between that and its end, so that the answer arrives."""

DutyFactory = Callable[[Settings, ClusterKey, Storage, RayHost], Sequence[Duty]]


def key_path(settings: Settings) -> Path:
    """Return the file of the cluster's key."""
    return Path(settings.cluster.key_file or Path(settings.folder) / "cluster.key").resolve()


class CoordinatorActor:
    """Runs a `Coordinator` in a thread. All its methods may be called again if the actor is started again."""

    def __init__(self, settings: bytes, factories: dict[str, WorkerFactory], make_duties: DutyFactory) -> None:
        self._settings = parse_json(settings, Settings)
        self._factories, self._make_duties = factories, make_duties
        self._conflict: CoordinatorConflict | None = None
        self._reported = threading.Event()
        """Set when somebody was told of the conflict."""
        self._fault = ""
        self._stopped = threading.Event()
        self._coordinator = self._open()
        threading.Thread(target=self._run, name="coordinator", daemon=True).start()

    def _open(self) -> Coordinator:
        storage = open_storage(self._settings.storage.url, self._settings.storage)
        key = load_key(key_path(self._settings))
        host = RayHost(load_ray(), self._settings, self._factories)
        return Coordinator(TopologyStore(storage), host, self._make_duties(self._settings, key, storage, host))

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._coordinator.step()
                self._fault = ""
            except CoordinatorConflict as error:
                _LOG.error("%s", error)
                self._conflict = error
                self._coordinator.close()
                self._exit()
                return
            except Exception as error:
                self._fault = f"{type(error).__name__}: {error}"
                _LOG.exception("The coordinator failed")
                self._stopped.wait(_FAULT_SECONDS)
            self._stopped.wait(self._settings.cluster.heartbeat_seconds)

    def _exit(self) -> None:
        """End this process for good, once somebody was told why, or nobody has asked for a while."""
        self._reported.wait(_CONFLICT_SECONDS)
        self._stopped.wait(_FAREWELL_SECONDS)
        ray = load_ray()
        ray.kill(ray.get_runtime_context().current_actor, no_restart=True)

    def version(self) -> str:
        """Return the version of Periplus."""
        return __version__

    def status(self) -> dict[str, Any]:
        """Return the state of the cluster; raise `CoordinatorConflict` if another coordinator has taken over."""
        self._check()
        return {**self._coordinator.status(), "coordinator_fault": self._fault, "pid": os.getpid()}

    def topology(self) -> ClusterTopology:
        """Return the topology."""
        self._check()
        return self._coordinator.topology

    def update(self, fields: dict[str, Any]) -> ClusterTopology:
        """Change fields of the topology."""
        self._check()
        return self._coordinator.update(**fields)

    def publish(
        self, generation: int, statistics_epoch: int, shards: Sequence[int], owners: Sequence[int], base: int | None
    ) -> ClusterTopology:
        """Serve another index; the same one again is no error, since a call may be repeated."""
        self._check()
        current = self._coordinator.topology
        if (current.generation, current.statistics_epoch) == (generation, statistics_epoch):
            return current
        return self._coordinator.publish(generation, statistics_epoch, shards, owners, base)

    def resize(self, shards: Sequence[int]) -> ClusterTopology:
        """Change which shards own the hosts."""
        self._check()
        return self._coordinator.resize(shards)

    def _check(self) -> None:
        if self._conflict is not None:
            self._reported.set()
            raise self._conflict

    def close(self) -> None:
        """Stop looking after units."""
        self._stopped.set()
        self._coordinator.close()


def start_coordinator(
    ray: Any, settings: Settings, factories: dict[str, WorkerFactory], make_duties: DutyFactory
) -> "ClusterClient":
    """Start the coordinator of a cluster unless it runs; return a client of it."""
    options = {
        "name": COORDINATOR,
        "lifetime": "detached",
        "get_if_exists": True,
        "max_restarts": -1,
        "max_task_retries": -1,
        "max_concurrency": 16,
        "num_cpus": 0,
        "resources": {"node:__internal_head__": 0.001},
    }
    actor = ray.remote(CoordinatorActor).options(**options)
    client = ClusterClient(ray, actor.remote(msgspec.json.encode(settings), factories, make_duties))
    client.check_version()
    return client


class ClusterClient:
    """Calls the coordinator; while that is started again, calls wait."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    @classmethod
    def find(cls, ray: Any) -> "ClusterClient":
        """Return a client of the cluster in this namespace; raise `NothingHere` if there is none."""
        try:
            return cls(ray, ray.get_actor(COORDINATOR))
        except ValueError:
            raise NothingHere("No Periplus cluster runs here.", "Start one: periplus cluster up.") from None

    def check_version(self) -> None:
        """Raise `WrongVersion` if the coordinator runs another version of Periplus."""
        version = self._call("version")
        if version != __version__:
            raise WrongVersion(
                f"The cluster runs Periplus {version}, this node has {__version__}.",
                "Install the same version on every node.",
            )

    def status(self) -> dict[str, Any]:
        """Return the state of the cluster."""
        status: dict[str, Any] = self._call("status")
        return status

    def topology(self) -> ClusterTopology:
        """Return the topology."""
        topology: ClusterTopology = self._call("topology")
        return topology

    def update(self, **fields: Any) -> None:
        """Change fields of the topology."""
        self._call("update", fields)

    def publish(
        self,
        generation: int,
        statistics_epoch: int,
        shards: Sequence[int],
        owners: Sequence[int] = (),
        base: int | None = None,
    ) -> None:
        """Serve another index; see `Coordinator.publish`."""
        self._call("publish", generation, statistics_epoch, list(shards), list(owners), base)

    def resize(self, shards: Sequence[int]) -> None:
        """Change which shards own the hosts."""
        self._call("resize", list(shards))

    def wait(
        self, is_reached: Callable[[dict[str, Any]], bool], what: str, seconds: float, poll: float = 0.3
    ) -> dict[str, Any]:
        """Wait until the status satisfies a condition and return it; raise `ClusterError` after so many seconds."""
        limit = time.monotonic() + seconds
        while True:
            status = self.status()
            if is_reached(status):
                return status
            if time.monotonic() > limit:
                faults = {name: unit["fault"] for name, unit in status["units"].items() if unit["fault"]}
                missing = ", ".join(status["missing"]) or "-"
                raise ClusterError(
                    f"The cluster was not {what} within {seconds:.0f} s; missing: {missing}.",
                    f"{faults or ''} {status.get('coordinator_fault', '')}".strip(),
                )
            time.sleep(poll)

    def stop(self) -> None:
        """Stop the coordinator; units run on."""
        self._ray.kill(self._actor, no_restart=True)

    def _call(self, method: str, *arguments: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(getattr(self._actor, method).remote(*arguments), timeout=_ANSWER_SECONDS)
        except errors.RayTaskError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, PeriplusError):
                raise cause from error
            raise ClusterError(f"The coordinator failed: {error}") from error
        except errors.RayActorError as error:
            cause = getattr(error, "cause", None) or error
            raise ClusterError(f"The coordinator does not run: {str(cause).splitlines()[-1]}") from error
        except errors.GetTimeoutError as error:
            raise ClusterError("The coordinator does not answer.", "See: periplus cluster status.") from error
