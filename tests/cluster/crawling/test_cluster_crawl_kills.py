"""Shards as processes, killed at random, some with their folders: every page once, no pause broken."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_a_dozen_kills_of_processes_and_machines_while_hosts_move():
    """Judged by the log of the server and by the stores, as the benchmark does at length."""
    options = "--kills 12 --shards 2 --hosts 8 --pages 160 --delay 0.04 --seed 6 --quick"
    result = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "cluster_crawl.py"), *options.split()],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    kills = re.search(r"(\d+) kills: no page lost, none stored twice, no pause broken", result.stdout)
    assert kills is not None
    assert int(kills[1]) > 5
    assert int(re.search(r"machines  (\d+)", result.stdout)[1]) > 1
    assert int(re.search(r"resizes  (\d+)", result.stdout)[1]) > 0
