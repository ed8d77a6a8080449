"""`periplus cluster`: what it says without a cluster, and how it shows one."""

from pathlib import Path
from typing import Any

import pytest

from periplus.cli import main
from periplus.cli.cluster_view import echo_cluster


@pytest.mark.parametrize("command", ["status", "crawl", "index", "serve", "resize", "down"])
def test_without_a_cluster_there_is_a_clear_error(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", command, "--folder", str(tmp_path / "data")]) == 1
    error = capsys.readouterr().err
    assert "No cluster runs on this machine" in error
    assert "periplus cluster up" in error


def test_a_cluster_of_several_machines_needs_storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["cluster", "up", "--folder", str(tmp_path), "--address", "10.0.0.1:6379"]
    assert main(arguments) == 1
    assert "storage.url" in capsys.readouterr().err


def unit(kind: str, number: int, label: str, state: str = "running", **description: Any) -> dict[str, Any]:
    fault = "" if state == "running" else "No node is left for it."
    return {
        "kind": kind,
        "number": number,
        "copy": 0,
        "label": label,
        "state": state,
        "fault": fault,
        "description": description,
    }


def test_the_status_shows_shards_nodes_and_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    echo_cluster(
        {
            "id": "0123456789",
            "periplus": "0.1.0",
            "crawling": True,
            "building": False,
            "serving": True,
            "generation": 3,
            "coordinator": {"term": 2},
            "nodes": [{"label": "node-0", "address": "10.0.0.1"}],
            "refused": {"node-1": "It has Periplus 9.8.7, the cluster runs 0.1.0."},
            "shards": [{"number": 0, "state": "active"}],
            "crawl": {"fault": "", "shards": {"0": {"state": "running", "pages": 17}}},
            "units": {
                "crawl-00": unit("crawl", 0, "node-0"),
                "replica-00-0": unit("replica", 0, "node-0"),
                "replica-00-1": unit("replica", 0, "", "wanted"),
                "broker-00": unit("broker", 0, "node-0", url="http://10.0.0.1:8080/"),
            },
            "missing": ["replica-00-1"],
        }
    )
    text = capsys.readouterr().out
    for part in (
        "crawling, serving; generation 3",
        "1 crawl, 1 replica, 1 broker",
        "9.8.7",
        "17 pages",
        "running on node-0",
        "http://10.0.0.1:8080/",
        "Missing: replica-00-1",
        "No node is left for it.",
    ):
        assert part in text
