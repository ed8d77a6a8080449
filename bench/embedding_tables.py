"""The tables of bench/encoders.py; run by itself, this writes those of the last run to docs/benchmarks.md."""

from typing import Any

from markdown_tables import markdown_table, replace_tables


def render_table(figures: dict[str, Any]) -> str:
    """Return the tables of a run as Markdown."""
    tiers: dict[str, Any] = figures["tiers"]
    heads = (
        "",
        "passages/s",
        "query, p50 / p99",
        "model",
        "a passage",
        "recall@10",
        "nDCG@10 against BM25; of how many collections",
    )
    rows = [_tier_row(name, tier) for name, tier in tiers.items()]
    collections = next(iter(tiers.values()))["fusion"]["collections"] if tiers else {}
    details = [
        [name, f"{row['bm25']:.4f}", *(_gain_cell(tier["fusion"]["collections"].get(name)) for tier in tiers.values())]
        for name, row in collections.items()
    ]
    return markdown_table(heads, rows) + "\n\n" + markdown_table(("nDCG@10", "BM25", *tiers), details)


def _tier_row(name: str, tier: dict[str, Any]) -> list[str]:
    fusion, nearest = tier["fusion"], tier.get("nearest")
    count = len(fusion["collections"])
    return [
        name,
        f"{tier['passages_a_second']:,.0f}",
        f"{tier['query_p50_ms']:.2f} / {tier['query_p99_ms']:.2f} ms",
        f"{tier['model_bytes'] / 1e6:.1f} MB",
        f"{tier['passage_bytes']} bytes",
        f"{nearest['recall_at_10']:.3f}" if nearest else "-",
        f"{fusion['gain']:+.1%} ({fusion['low']:+.1%} to {fusion['high']:+.1%}; of {count})",
    ]


def _gain_cell(row: dict[str, Any] | None) -> str:
    return f"{row['ndcg']:.4f}, {row['gain']:+.1%} (p {max(row['p'], 0.001):.3f})" if row else "-"


def write_page() -> None:
    """Replace the tables in docs/benchmarks.md by those of the last run."""
    replace_tables("benchmarks.md", "embeddings.json", render_table)


if __name__ == "__main__":
    write_page()
