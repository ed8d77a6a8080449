"""The launcher of nodes on this machine: a node that does not start ends neither the launcher nor the others."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from periplus.cluster.control.local_nodes import NodeLauncher, read_local_cluster
from periplus.errors import ClusterError


class Nodes:
    """Nodes that are processes which wait, instead of Ray's; some attempts to add one fail."""

    address = "127.0.0.1:1"

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.failures = 0
        self.options: list[dict[str, Any]] = []
        self.head_node = self._node()

    def _node(self) -> Any:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.processes.append(process)
        return SimpleNamespace(all_processes={"raylet": [SimpleNamespace(process=process)]})

    def add_node(self, **options: Any) -> Any:
        self.options.append(options)
        node = self._node()
        if self.failures:
            self.failures -= 1
            raise Exception("The current node timed out during startup.")
        return node

    def remove_node(self, node: Any, allow_graceful: bool) -> None:
        """Remove the processes of a node from its record, as Ray does."""
        del node.all_processes["raylet"]

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def nodes() -> Any:
    nodes = Nodes()
    yield nodes
    nodes.close()


def test_a_node_that_does_not_start_is_tried_again(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    launcher = NodeLauncher(tmp_path, 2, 1e-9, nodes)
    nodes.failures = 1
    launcher.start()
    failed, second = nodes.processes[1:]
    assert failed.wait(60) != 0, "nothing of a node that did not start is left"
    ports = {nodes.options[-1][name] for name in ("metrics_agent_port", "runtime_env_agent_port")}
    assert len(ports) == 2, "a node that waits for its agents to choose ports ends itself on a busy machine"
    nodes.kill(second)
    nodes.failures = 2
    while len(nodes.processes) < 6:
        launcher.replace_dead()
    local = read_local_cluster(tmp_path)
    assert local is not None
    assert [node.raylet for node in local.nodes] == [nodes.processes[0].pid, nodes.processes[-1].pid]
    assert nodes.processes[-1].poll() is None


def test_without_its_head_node_a_cluster_ends(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    launcher = NodeLauncher(tmp_path, 1, 1e-9, nodes)
    launcher.start()
    nodes.kill(nodes.processes[0])
    with pytest.raises(ClusterError, match="head node"):
        launcher.replace_dead()


def test_a_node_that_never_starts_is_an_error_at_the_start(nodes: Nodes, tmp_path: Path) -> None:
    nodes.failures = 99
    with pytest.raises(ClusterError, match=r"Node 1 does not start: .* timed out"):
        NodeLauncher(tmp_path, 2, 1e-9, nodes).start()
