"""The coefficients of `periplus plan`: which field of which file in bench/results each is, and what it means."""

import json
from pathlib import Path
from typing import Any, Final

from periplus.app.capacity.coefficients import read_field

RESULTS: Final = Path(__file__).resolve().parents[1] / "bench" / "results"
_FAN_OUT: Final = tuple(enumerate((1, 4, 16, 64, 256, 1024, 4096)))

_FIGURES: Final = "figures."
SOURCES: Final[tuple[tuple[str, str, str, str, str], ...]] = (
    (
        "crawl_pages_per_cpu_second",
        "pages/s",
        "crawl",
        "web.1.ours.pages_per_cpu_second",
        "crawl of one core: fetch, parse, store",
    ),
    ("crawl_page_bytes", "B", "crawl", "web.1.page_bytes", "HTML of a page of that crawl"),
    ("crawl_memory_mb", "MB", "crawl", "web.1.ours.memory_mb", "memory of a crawl process"),
    ("seen_bytes_per_url", "B", "crawl", "seen.0.peak_bytes", "memory for each known URL, at its peak"),
    (
        "stored_html_bytes",
        "B",
        "scale",
        "exchange.pages.html_bytes",
        "HTML of a page, where stored bytes were measured",
    ),
    (
        "html_compressed_bytes",
        "B",
        "scale",
        "exchange.pages.html_bytes_compressed",
        "the same, compressed as it is sent",
    ),
    ("stored_bytes", "B", "scale", "exchange.pages.stored_bytes", "page store for that page: WARC and fetch log"),
    ("outlink_bytes", "B", "scale", "exchange.pages.outlink_bytes", "a link in a mailbox message"),
    ("anchor_bytes", "B", "scale", "exchange.pages.anchor_bytes", "anchor text and keys of a link"),
    (
        "build_cpu_us_per_word",
        "us",
        "scale",
        "build.build_cpu_us_per_word",
        "building the index, CPU time for each word",
    ),
    ("index_bytes_per_word", "B", "scale", "build.index_bytes_per_word", "index on disk"),
    ("hot_bytes_per_word", "B", "scale", "build.hot_bytes_per_word", "index without stored text: what queries read"),
    ("build_memory_mb", "MB", "million", "build_memory_mb", "memory of a build process"),
    ("graph_links", "links", "pagerank", "growth.sizes.2.links", "links of the largest measured graph"),
    ("graph_build_cpu", "s", "pagerank", "growth.sizes.2.build_cpu", "CPU time of building that graph"),
    ("graph_bytes_per_link", "B", "pagerank", "growth.sizes.2.bytes_per_link", "graph on disk"),
    ("pagerank_rounds", "", "pagerank", "growth.sizes.2.rounds", "rounds of PageRank"),
    ("pagerank_ns_per_link_round", "ns", "pagerank", "growth.sizes.2.ns_per_link_and_round", "PageRank, CPU time"),
    ("web_links", "links", "pagerank", "real.periplus, 1.links", "links of a real crawl, cnr-2000"),
    ("web_pages", "pages", "pagerank", "real.periplus, 1.nodes", "pages of that crawl"),
    (
        "rank_numbers_per_page",
        "",
        "scale",
        "exchange.pagerank.6.numbers_per_page",
        "numbers that a round sends, cnr-2000 on 4,096 shards",
    ),
    (
        "dictionary_documents",
        "documents",
        "scale",
        "exchange.dictionary.1.documents",
        "documents of the measured dictionary",
    ),
    ("dictionary_bytes", "B", "scale", "exchange.dictionary.1.bytes", "terms and document frequencies in memory"),
    ("dictionary_compressed_bytes", "B", "scale", "exchange.dictionary.1.compressed_bytes", "the same as it is sent"),
    ("heaps_exponent", "", "scale", "exchange.heaps_exponent", "growth of the vocabulary with documents"),
    ("shard_documents", "documents", "scale", "shard.documents", "documents of the measured shards"),
    ("shard_cpu_p50_us", "us", "scale", "shard.cpu_p50_us", "retrieve on one of them, CPU time, median of queries"),
    ("shard_cpu_p99_us", "us", "scale", "shard.cpu_p99_us", "the same, 99th percentile"),
    ("retrieve_fixed_us", "us", "scale", "retrieve_fixed_us", "retrieve on a shard, part that does not grow"),
    (
        "retrieve_us_per_million_documents",
        "us",
        "scale",
        "retrieve_us_per_million_documents",
        "retrieve, part that grows with the shard",
    ),
    ("record_bytes", "B", "scale", "shard.record_bytes", "candidates with features of one shard, as a message"),
    ("message_us", "us", "scale", "message_us", "sending and receiving a message over loopback, both ends"),
    ("message_ns_per_byte", "ns", "scale", "message_ns_per_byte", "the same for each byte"),
    (
        "broker_fixed_us",
        "us",
        "scale",
        "broker_fixed_us",
        "decoding and merging at the broker, part that does not grow",
    ),
    ("broker_us_per_shard", "us", "scale", "broker_us_per_shard", "the same for each shard"),
    ("plan_us", "us", "scale", "stages.1.plan_us", "parsing and planning a query"),
    ("rerank_us", "us", "scale", "stages.1.rerank_us", "reranking"),
    ("present_us", "us", "scale", "stages.1.present_us", "titles and snippets of a page of results"),
    ("http_cpu_ms", "ms", "serve", "warm.cpu_ms", "HTTP request answered from the cache"),
    (
        "serve_memory_mb",
        "MB",
        "million",
        "start_memory_mb",
        "server process after its start, with a million small documents",
    ),
    *(
        (
            f"fan_out_p50_{shards}",
            "ms",
            "scale",
            f"fan_out.{n}.measured.p50_ms",
            f"slowest of {shards:,} shards, median, simulated",
        )
        for n, shards in _FAN_OUT
    ),
    *(
        (
            f"fan_out_p99_{shards}",
            "ms",
            "scale",
            f"fan_out.{n}.measured.p99_ms",
            f"slowest of {shards:,} shards, 99th percentile, simulated",
        )
        for n, shards in _FAN_OUT
    ),
    *(
        (
            f"hedged_p99_{shards}",
            "ms",
            "scale",
            f"fan_out.{n}.measured.hedged_p99_ms",
            f"the same with hedging, {shards:,} shards",
        )
        for n, shards in _FAN_OUT
    ),
)
"""Name, unit, benchmark, field below 'figures', meaning."""


def read_results() -> dict[str, Any]:
    """Return the results of all benchmarks that coefficients come from."""
    return {name: json.loads((RESULTS / f"{name}.json").read_text("utf-8")) for name in {row[2] for row in SOURCES}}


def coefficient_rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table of coefficients as it is written to the package."""
    return [
        {
            "name": name,
            "value": read_field(results[benchmark], _FIGURES + field),
            "unit": unit,
            "file": f"{benchmark}.json",
            "field": _FIGURES + field,
            "date": results[benchmark]["date"],
            "meaning": meaning,
        }
        for name, unit, benchmark, field, meaning in SOURCES
    ]


def coefficients_text() -> str:
    """Return the file of coefficients."""
    rows = coefficient_rows(read_results())
    return "[\n" + ",\n".join(" " + json.dumps(row) for row in rows) + "\n]\n"
