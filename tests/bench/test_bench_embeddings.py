"""The tables of the tiers of embeddings are those of the last run; no weight is chosen on its own collection."""

import json
from pathlib import Path

import numpy as np
import pytest

from embedding_tables import render_table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results" / "embeddings.json"


def test_the_tables_are_those_of_the_last_run() -> None:
    figures = json.loads(RESULTS.read_text("utf-8"))["figures"]
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert render_table(figures) in page, "run bench/embedding_tables.py"


def test_a_tier_without_neighbours_has_a_row() -> None:
    row = {"bm25": 0.5, "ndcg": 0.55, "gain": 0.1, "p": 0.0001, "weight": 1.0, "queries": 9}
    tier = {
        "passages_a_second": 1234.5,
        "query_p50_ms": 0.01,
        "query_p99_ms": 0.02,
        "model_bytes": 8_000_000,
        "passage_bytes": 32,
        "fusion": {"collections": {"made": row}, "gain": 0.1, "low": 0.05, "high": 0.15},
    }
    text = render_table({"tiers": {"static": tier}})
    assert "| static | 1,234 | 0.01 / 0.02 ms | 8.0 MB | 32 bytes | - | +10.0% (+5.0% to +15.0%; of 1) |" in text
    assert "| made | 0.5000 | 0.5500, +10.0% (p 0.001) |" in text


def test_the_weight_of_a_collection_comes_from_the_others() -> None:
    bench = pytest.importorskip("encoders", reason="needs the extra 'bench'")
    columns = len(bench.WEIGHTS)
    rising, falling = (np.full((20, columns), 0.5) for _ in range(2))
    rising[:, -1], falling[:, 1] = 0.9, 0.8
    rows = bench.leave_one_out({"rising": rising, "falling": falling})["collections"]
    assert rows["rising"]["weight"] == bench.WEIGHTS[1]
    assert rows["falling"]["weight"] == bench.WEIGHTS[-1]
    assert rows["rising"]["gain"] == rows["falling"]["gain"] == 0
