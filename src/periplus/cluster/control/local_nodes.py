"""A Ray cluster of several nodes on this machine: for a try, for tests, or for a single large machine.

A launcher process owns them. Its state is in `DATA/cluster/nodes.json`, its log beside it. Every node has a custom
resource 'periplus-node-N', by which its processes find their folder, `DATA/nodes/node-N`: nodes share no files but
storage, as if they were machines. With `respawn`, a node that dies is replaced after a while, with an empty folder.
"""

import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec

from periplus.cluster.control.ray_runtime import load_ray
from periplus.errors import ClusterError, CorruptFile, NothingHere, ProcessFailed
from periplus.files import decode_json, encode_json, make_folder, process_started, read_file, write_atomically
from periplus.typed_decoding import parse_json

__all__ = [
    "LocalCluster",
    "LocalNode",
    "NodeLauncher",
    "node_resource",
    "read_local_cluster",
    "start_local_nodes",
    "stop_local_nodes",
]

_LOG: Final = logging.getLogger("periplus.cluster")
_FORMAT: Final = 1
_START_SECONDS: Final = 300.0
_STOP_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.1
_CPUS: Final = 1024
"""Cores that Ray believes a node to have: on one machine the number of units is not to depend on it."""
_OBJECT_STORE_BYTES: Final = 80 << 20
_ENVIRONMENT: Final = {
    "RAY_agent_register_timeout_ms": "180000",  # a node whose agent starts slowly, on a busy machine, ends itself
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_worker_niceness": "0",  # by default, actors yield to everything else on the machine
}
_AGENT_PORTS: Final = ("metrics_agent_port", "runtime_env_agent_port", "dashboard_agent_listen_port")
"""Given, so that a node need not wait until its agents tell theirs: it ends itself after 15 s, on a busy machine."""
_SYSTEM: Final = {
    "health_check_initial_delay_ms": 5_000,
    "health_check_period_ms": 1_000,
    "health_check_timeout_ms": 5_000,
    "health_check_failure_threshold": 5,
}
"""A node that does not answer is dead after 5 to 30 seconds; one whose raylet was killed, at once."""
_SHORT_FOLDER: Final = "/tmp"  # noqa: S108 - the folder below it has a random name and belongs to the user
_PREFIX: Final = "periplus-node-"
_ATTEMPTS: Final = 3
"""To start a node: on a busy machine, the raylet of one may not be ready within the 30 seconds that Ray waits."""


class LocalNode(msgspec.Struct, frozen=True):
    """One node of a cluster on this machine."""

    number: int
    raylet: int
    """Process id of its raylet: who kills it, kills the node."""


class LocalCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A Ray cluster on this machine."""

    format: int = _FORMAT
    pid: int
    """Process id of the launcher."""
    started: str
    """When that process was started, in a form to compare."""
    address: str
    nodes: tuple[LocalNode, ...]


class _Arguments(msgspec.Struct):
    folder: str
    nodes: int
    respawn: float
    temporary: str


def node_resource(number: int) -> str:
    """Return the custom resource that a node on this machine has."""
    return f"{_PREFIX}{number}"


def _state_file(folder: Path) -> Path:
    return folder / "cluster" / "nodes.json"


def read_local_cluster(folder: Path) -> LocalCluster | None:
    """Return the Ray cluster that runs on this machine for a data folder; None if none does."""
    path = _state_file(folder)
    try:
        cluster = decode_json(path, read_file(path), LocalCluster, _FORMAT, checksum_since=1)
    except FileNotFoundError:
        return None
    return cluster if process_started(cluster.pid) == cluster.started else None


def start_local_nodes(folder: Path, nodes: int, *, respawn: float = 0.0) -> LocalCluster:
    """Start a Ray cluster of so many nodes on this machine, unless it runs; return it.

    respawn: seconds after which a node that died is replaced by a new, empty one; 0 is never.
    """
    load_ray()
    running = read_local_cluster(folder)
    if running is not None:
        return running
    path = _state_file(folder)
    make_folder(path.parent)
    path.unlink(missing_ok=True)
    # Names of sockets have at most 107 bytes: a temporary folder of the system is short enough.
    temporary = tempfile.mkdtemp(prefix="periplus-", dir=_SHORT_FOLDER if os.path.isdir(_SHORT_FOLDER) else None)
    environment = [f"{name}={value}" for name, value in {**_ENVIRONMENT, "RAY_TMPDIR": temporary}.items()]
    log = path.with_name("nodes.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["env", *environment, sys.executable, "-m", "periplus.cluster.control.local_nodes"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(msgspec.json.encode(_Arguments(str(folder.resolve()), nodes, respawn, temporary)))
    return _wait_for_start(folder, process, log)


def _wait_for_start(folder: Path, process: "subprocess.Popen[bytes]", log: Path) -> LocalCluster:
    limit = time.monotonic() + _START_SECONDS
    while time.monotonic() < limit:
        if process.poll() is not None:
            lines = log.read_text("utf-8", "replace").strip().splitlines() or ["no message"]
            raise ProcessFailed(f"Ray did not start: {lines[-1][:300]}.", f"See {log}.")
        cluster = read_local_cluster(folder)
        if cluster is not None and cluster.pid == process.pid:
            return cluster
        time.sleep(_POLL_SECONDS)
    process.terminate()
    raise ProcessFailed(f"Ray did not start within {_START_SECONDS:.0f} s.", f"See {log}.")


def stop_local_nodes(folder: Path) -> None:
    """Stop the Ray cluster of a data folder on this machine, with everything that runs in it."""
    cluster = read_local_cluster(folder)
    if cluster is None:
        raise NothingHere(f"No Ray cluster runs on this machine for {folder}.")
    with contextlib.suppress(ProcessLookupError):
        os.kill(cluster.pid, signal.SIGTERM)
    limit = time.monotonic() + _STOP_SECONDS
    while read_local_cluster(folder) is not None:
        if time.monotonic() > limit:
            raise ClusterError(f"The Ray cluster does not stop: process {cluster.pid}.")
        with contextlib.suppress(ChildProcessError):
            os.waitpid(cluster.pid, os.WNOHANG)
        time.sleep(_POLL_SECONDS)
    _state_file(folder).unlink(missing_ok=True)


class _Stop(Exception):
    """The launcher is to end."""


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody uses now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


class NodeLauncher:
    """Owns the nodes of a Ray cluster on this machine."""

    def __init__(self, folder: Path, nodes: int, respawn: float, cluster: Any = None) -> None:
        self._folder, self._count, self._respawn = folder, nodes, respawn
        self._nodes: dict[int, Any] = {}
        self._died: dict[int, float] = {}
        self._cluster = cluster

    def start(self) -> None:
        """Start the head node, then the others."""
        if self._cluster is None:
            from ray.cluster_utils import Cluster

            head = {**self._options(0), "_system_config": _SYSTEM}
            self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes[0] = self._cluster.head_node
        for number in range(1, self._count):
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    self._add(number)
                    break
                except ClusterError:
                    if attempt == _ATTEMPTS:
                        raise
        self._write()

    def _options(self, number: int) -> dict[str, Any]:
        return {
            "num_cpus": _CPUS,
            "num_gpus": 0,
            "object_store_memory": _OBJECT_STORE_BYTES,
            "include_dashboard": False,
            "include_log_monitor": False,
            "resources": {node_resource(number): 1},
            **dict(zip(_AGENT_PORTS, _free_ports(len(_AGENT_PORTS)), strict=True)),
        }

    def _add(self, number: int) -> None:
        """Start a node with an empty folder; raise `ClusterError` if it does not start, with nothing of it left."""
        shutil.rmtree(self._folder / "nodes" / f"node-{number}", ignore_errors=True)
        before = _child_processes()
        try:
            self._nodes[number] = self._cluster.add_node(wait=False, **self._options(number))
        except Exception as error:  # Ray raises just that
            for process in _child_processes() - before:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            raise ClusterError(f"Node {number} does not start: {error}") from error

    def watch(self) -> None:
        """Replace nodes that have died, where that is wanted; end when the head node dies."""
        while True:
            time.sleep(_POLL_SECONDS)
            self.replace_dead()

    def replace_dead(self) -> None:
        """Replace nodes that died long enough ago; one that does not start is tried again."""
        for number, node in list(self._nodes.items()):
            if self._is_alive(node):
                continue
            if number == 0:
                raise ClusterError("The head node has died.")
            died = self._died.setdefault(number, time.monotonic())
            if not self._respawn or time.monotonic() - died < self._respawn:
                continue
            del self._died[number]
            with contextlib.suppress(Exception):
                self._cluster.remove_node(node, allow_graceful=False)
            try:
                self._add(number)
            except ClusterError as error:
                _LOG.warning("%s", error)
                continue
            self._write()

    @staticmethod
    def _is_alive(node: Any) -> bool:
        # A node that was removed, and whose successor has not started, has no processes left.
        raylets = node.all_processes.get("raylet", ())
        return bool(raylets) and all(info.process.poll() is None for info in raylets)

    def _write(self) -> None:
        nodes = tuple(
            LocalNode(number, node.all_processes["raylet"][0].process.pid)
            for number, node in self._nodes.items()
            if node.all_processes.get("raylet")
        )
        pid = os.getpid()
        state = LocalCluster(pid=pid, started=process_started(pid), address=self._cluster.address, nodes=nodes)
        write_atomically(_state_file(self._folder), encode_json(state))

    def stop(self) -> None:
        """Stop all nodes."""
        if self._cluster is not None:
            with contextlib.suppress(Exception):
                self._cluster.shutdown()


def _child_processes() -> set[int]:
    """Return the children of this process, where the system lists them."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(number) for path in lists for number in path.read_text().split()}


def _raise_stop(number: int, frame: FrameType | None) -> None:
    raise _Stop


def _main() -> None:
    arguments = parse_json(sys.stdin.buffer.read(), _Arguments)
    launcher = NodeLauncher(Path(arguments.folder), arguments.nodes, arguments.respawn)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _raise_stop)
    try:
        launcher.start()
        launcher.watch()
    except _Stop:
        pass
    except (ClusterError, CorruptFile) as error:
        sys.exit(str(error))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        launcher.stop()
        shutil.rmtree(arguments.temporary, ignore_errors=True)


if __name__ == "__main__":
    _main()
