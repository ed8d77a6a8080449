"""The figures of docs/tiers.md are those of the results file."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "tiers.json"


def test_the_page_has_the_figures_of_the_results() -> None:
    figures, page = json.loads(RESULTS.read_text())["figures"], (ROOT / "docs" / "tiers.md").read_text("utf-8")
    passages, articles = figures["passages"], figures["articles"]
    for order in ("site", "tiers", "rank"):
        found = passages[order]
        times = found["kernel"]["all"]
        row = (
            f"| {found['postings_mb']} MB | {found['columns_mb']} MB | {found['text_mb']} MB | {found['index_mb']} MB |"
        )
        assert f"| `{order}` {row} {times['mean_us']}, {times['p99_us']} us |" in page
    for enough in (0, 30, 100, 300):
        found = passages["tiers"]["whole"][f"enough_{enough}"]
        assert f"| {found['mean_us']:.0f}, {found['p50_us']:.0f}, {found['p99_us']:.0f} us |" in page
        for assignment, rows in articles.items():
            row = rows[f"enough_{enough}"]
            assert f"| {assignment} | {enough} | {row['ndcg']:.4f} | {row['from_tier']} |" in page
    assert f"{passages['queries']} of the search benchmark game" in page
