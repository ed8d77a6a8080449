"""The tables of docs/reliability.md are those of the last run, and hold nothing but zeros where zeros are promised."""

import json
from pathlib import Path

from fault_tables import render_tables

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results" / "faults.json"


def test_the_tables_are_those_of_the_last_run() -> None:
    figures = json.loads(RESULTS.read_text("utf-8"))["figures"]
    page = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    assert render_tables(figures) in page, "run bench/fault_tables.py"
    assert {part: run["failed"] for part, run in figures["runs"].items() if run["failed"]} == {}


def test_failures_are_counted_in_their_columns() -> None:
    rows = [
        {"operation": "a", "tried": 7, "of": {"x": 7}, "failures": {"lost": 2, "hang": 1}},
        {"operation": "b", "tried": 1_000, "of": {"x": 900, "y": 100}, "failures": {}},
    ]
    text = render_tables({"cuts": rows, "faults": rows})
    assert "| a | 7 | 2 | 0 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| all | 1,007 | 2 | 0 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "x 907, y 100." in text
