"""Many shards on paper: fan-out latency from measured shards, hedging, brokers in a tree, and what shards exchange.

.venv/bin/python bench/scale.py [--corpus JSONL] [--queries JSONL] [--documents N] [--shards 8] [--ask 300]

Measured: the retrieve stage on real shards of a real collection, building and sizes of them, the broker's work with the
records of up to 4,096 shards, sizes of messages. Modelled: the time of a query over S shards, by a bootstrap over the
measured times, and volumes of exchange. See docs/scale.md. Afterwards `scripts/write_scale.py` writes that page.
"""

import argparse
import gc
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from corpus import make_passages, make_queries, read_passages, read_queries, tokenise
from exchange_volumes import measure_dictionary, measure_pages, rank_exchange, volumes
from fanout_model import BrokerCost, ShardTimes, best_tree, fan_out, fit_line, rows_needed
from figures import exponent
from partition_load import BANDWIDTH, LATENCY, measure_messages
from peers.ours import page_visits
from periplus.accel import warm_up
from periplus.index import gather_build_statistics, sum_build_statistics
from periplus.settings import SearchSettings, Settings
from record import save
from shard_stages import LIMIT, BuiltShard, build_shard, measure_broker, measure_shards, record_requests, run_stages

COUNTS = (1, 4, 16, 64, 256, 1024, 4096)
HEDGED_AT = 95
PAUSE_SHARE, PAUSE_SECONDS = 1e-3, 20e-3
"""A second scenario, of CPU times alone: an assumed pause of 20 ms, as of a disk, in one call of a thousand."""
GRAPH = Path(__file__).parents[2] / "shared" / "data" / "graphs" / "cnr-2000" / "edges.tsv.zst"
EXTERNAL_SHARE = 0.2
"""Links that lead to another site: as in the web that `bench/pagerank.py` makes; an assumption."""
ROUNDS_OF_RANK = 66
"""Rounds of PageRank for 8.3 M pages: figures.growth.sizes of bench/results/pagerank.json."""
PAGES_IN_VOLUMES = 1e9


def latency_figures(times: ShardTimes, cost: BrokerCost) -> list[dict[str, Any]]:
    """Return latencies for 1 to 4,096 shards, with and without hedging, and the best arrangement of brokers."""
    paused = ShardTimes(times.base, _pauses())
    rows = []
    for shards in COUNTS:
        draws = 4_000 if shards <= 256 else 1_000
        row: dict[str, Any] = {"shards": shards}
        for name, these in (("measured", times), ("with_pauses", paused)):
            hedge_after = these.percentile(HEDGED_AT)
            plain, hedged = (fan_out(these, shards, after, draws) for after in (None, hedge_after))
            row[name] = {
                "p50_ms": _ms(plain.p50),
                "p99_ms": _ms(plain.p99),
                "hedged_p50_ms": _ms(hedged.p50),
                "hedged_p99_ms": _ms(hedged.p99),
                "second_requests": round(hedged.hedged, 4),
            }
        rows_sent = rows_needed(shards, LIMIT)
        one, tree = cost.of(shards), best_tree(cost, shards)
        small = best_tree(cost, shards, rows_sent / LIMIT)
        row |= {
            "one_broker_ms": _ms(one),
            "tree": {"levels": tree.levels, "fan_in": tree.fan_in, "brokers": tree.brokers, "ms": _ms(tree.seconds)},
            "rows_needed": rows_sent,
            "tree_with_rows_needed": {"levels": small.levels, "fan_in": small.fan_in, "ms": _ms(small.seconds)},
            "broker_bytes": round(shards * cost.part_bytes),
        }
        rows.append(row)
    return rows


def _pauses() -> Any:
    """Return delays of which all but one in a thousand are nothing."""
    delay = np.zeros(round(1 / PAUSE_SHARE))
    delay[0] = PAUSE_SECONDS
    return delay


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)


def stage_figures(
    shards: Sequence[BuiltShard], words: list[str], settings: Settings, rounds: int
) -> list[dict[str, Any]]:
    """Return CPU times of all stages on some indexes, the mean and the 99th percentile of queries, in microseconds.

    Indexes take turns at each query, so that other work on the machine falls on all of them alike.
    """
    runs = [[run_stages(shard, query, settings, rounds) for shard in shards] for query in words]
    rows = []
    for number, shard in enumerate(shards):
        own = [row[number] for row in runs]
        figures: dict[str, Any] = {"documents": shard.documents, "queries": len(own)}
        for stage in own[0].seconds:
            times = np.array([run.seconds[stage] for run in own]) * 1e6
            figures[f"{stage}_us"] = round(float(times.mean()), 1)
            figures[f"{stage}_p99_us"] = round(float(np.percentile(times, 99)), 1)
        figures["record_bytes"] = round(float(np.mean([run.size for run in own])))
        rows.append(figures)
    return rows


def build_figures(shards: list[BuiltShard], whole: BuiltShard, words: int) -> dict[str, Any]:
    """Return what building and keeping an index takes, per document and per word."""
    documents = whole.documents
    hot = sum(size for part, size in whole.bytes.items() if part not in ("text", "all"))
    return {
        "documents": documents,
        "words": words,
        "words_per_document": round(words / documents, 1),
        "build_cpu_seconds": round(whole.build_cpu, 2),
        "build_cpu_us_per_word": round(whole.build_cpu / words * 1e6, 4),
        "build_cpu_us_per_document": round(whole.build_cpu / documents * 1e6, 2),
        "shards_build_cpu_seconds": round(sum(shard.build_cpu for shard in shards), 2),
        "index_bytes": whole.bytes["all"],
        "index_bytes_per_document": round(whole.bytes["all"] / documents, 1),
        "index_bytes_per_word": round(whole.bytes["all"] / words, 3),
        "hot_bytes_per_document": round(hot / documents, 1),
        "hot_bytes_per_word": round(hot / words, 3),
        "parts": whole.bytes,
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6),
    }


def exchange_figures(shards: list[BuiltShard], whole: BuiltShard, scratch: Path, graph: Path | None) -> dict[str, Any]:
    """Return measured sizes of what travels, and volumes for a billion pages."""
    pages = measure_pages(scratch / "store")
    small, large = (measure_dictionary(shard.session.index) for shard in (shards[0], whole))
    heaps = exponent([small["documents"], large["documents"]], [small["terms"], large["terms"]])
    figures: dict[str, Any] = {"pages": pages, "dictionary": [small, large], "heaps_exponent": round(heaps, 3)}
    numbers, links = dict.fromkeys(COUNTS, 1.0), pages["links"]
    if graph is not None:
        rows = rank_exchange(graph, COUNTS)
        figures["pagerank"] = rows
        numbers = {row["shards"]: row["numbers_per_page"] for row in rows}
        links = round(rows[0]["links"] / rows[0]["pages"], 2)
    sizes = {
        "links_per_page": links,
        "external_share": EXTERNAL_SHARE,
        "outlink_bytes": pages["outlink_bytes"],
        "anchor_bytes": pages["anchor_bytes"],
        "numbers_per_page": numbers[COUNTS[-1]],
        "rounds": ROUNDS_OF_RANK,
        "dictionary_bytes": large["compressed_bytes"],
        "dictionary_documents": large["documents"],
        "statistics_bytes": (whole.session.index.folder / "statistics.json").stat().st_size,
        "heaps": heaps,
    }
    figures["sizes"] = {name: round(value, 4) for name, value in sizes.items()}
    figures["volumes"] = [
        {"shards": count, "pages": PAGES_IN_VOLUMES}
        | {name: round(value) for name, value in _volumes(count, sizes, numbers[count]).items()}
        for count in COUNTS
    ]
    return figures


def _volumes(shards: int, sizes: dict[str, float], numbers: float) -> dict[str, float]:
    """Return what so many shards exchange for a billion pages; numbers: of a PageRank round for each page."""
    return volumes(shards, PAGES_IN_VOLUMES, sizes | {"numbers_per_page": numbers})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="", help="JSONL of {id, url, title, text}; made without it")
    parser.add_argument("--queries", default="", help="JSONL of {query, tags}; made from the corpus without it")
    parser.add_argument("--documents", type=int, default=0, help="how many of the corpus; 0 is all")
    parser.add_argument("--shards", type=int, default=8, help="shards that are built and measured")
    parser.add_argument("--ask", type=int, default=300, help="queries that are measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--graph", type=Path, default=GRAPH if GRAPH.exists() else None, help="file of links")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    warm_up()
    began = time.perf_counter()
    if options.corpus:
        source, name = read_passages(Path(options.corpus), 10**9), Path(options.corpus).parent.name
    else:
        source, name = make_passages(200), "made"
    passages = list(islice(source, options.documents or (None if options.corpus else 20_000)))
    asked = (
        read_queries(Path(options.queries))
        if options.queries
        else make_queries(list(tokenise(p.text for p in passages[:5_000])))
    )
    typed = [query.typed for query in asked][:: max(1, len(asked) // options.ask)][: options.ask]
    settings = msgspec.structs.replace(Settings(), search=SearchSettings(budget_ms=600_000))
    with tempfile.TemporaryDirectory(prefix="periplus-bench-") as folder:
        scratch = Path(folder)
        words = sum(passage.text.count(" ") + passage.title.count(" ") + 2 for passage in passages)
        statistics = sum_build_statistics([gather_build_statistics(page_visits(passages))], 1)
        shards = [
            build_shard(passages[n :: options.shards], scratch / str(n), settings, statistics, n)
            for n in range(options.shards)
        ]
        whole = build_shard(passages, scratch / "whole", settings, statistics)
        built = build_figures(shards, whole, words)
        print(f"{name}: {whole.documents:,} documents, built after {time.perf_counter() - began:.0f} s", flush=True)
        del passages
        gc.collect()
        requests = record_requests(shards, typed, settings)
        request_bytes = float(np.mean([len(request) for request in requests]))
        times, records = measure_shards(shards, requests, options.rounds)
        stages = stage_figures((shards[0], whole), typed, settings, 5)
        retrieve_fixed, retrieve_slope = fit_line(
            [row["documents"] for row in stages], [row["retrieve_us"] + row["encode_us"] for row in stages]
        )
        broker = measure_broker(records, whole.session.ranker.model, COUNTS)
        fixed, slope = fit_line(
            [row["parts"] for row in broker], [(row["decode_us"] + row["merge_us"]) / 1e6 for row in broker]
        )
        part_bytes = float(np.mean([len(data) for parts in records for data in parts]))
        message = measure_messages()
        cost = BrokerCost(fixed, slope + message.of(round(part_bytes)), part_bytes, LATENCY, BANDWIDTH)
        base, spread = (
            times.base * 1e6,
            (times.base[:, :, None] + times.delay.reshape(*times.base.T.shape, -1).transpose(1, 0, 2)) * 1e6,
        )
        figures: dict[str, Any] = {
            "corpus": name,
            "load_average": round(os.getloadavg()[0], 1),
            "network": {"latency_us": LATENCY * 1e6, "gbit_s": BANDWIDTH * 8 / 1e9, "modelled": True},
            "build": built,
            "shard": {
                "shards": len(shards),
                "documents": shards[0].documents,
                "queries": len(requests),
                "request_bytes": round(request_bytes),
                "calls": int(times.delay.size),
                "cpu_mean_us": round(float(base.mean()), 1),
                "cpu_p50_us": round(float(np.percentile(base, 50)), 1),
                "cpu_p99_us": round(float(np.percentile(base, 99)), 1),
                "clock_p50_us": round(float(np.percentile(spread, 50)), 1),
                "clock_p95_us": round(float(np.percentile(spread, 95)), 1),
                "clock_p99_us": round(float(np.percentile(spread, 99)), 1),
                "record_bytes": round(part_bytes),
            },
            "stages": stages,
            "retrieve_fixed_us": round(retrieve_fixed, 1),
            "retrieve_us_per_million_documents": round(retrieve_slope * 1e6, 1),
            "broker": broker,
            "broker_fixed_us": round(fixed * 1e6, 1),
            "broker_us_per_shard": round(slope * 1e6, 2),
            "message_us": round(message.seconds * 1e6, 2),
            "message_ns_per_byte": round(message.seconds_per_byte * 1e9, 3),
            "fan_out": latency_figures(times, cost),
            "exchange": exchange_figures(shards, whole, scratch, options.graph),
        }
    figures["seconds"] = round(time.perf_counter() - began)
    figures["cpu_seconds"] = round(time.process_time())
    show(figures)
    if not options.no_save:
        save("scale", figures)


def show(figures: dict[str, Any]) -> None:
    """Print the figures that matter."""
    shard = figures["shard"]
    print(
        f"shard of {shard['documents']:,} documents: retrieve takes {shard['cpu_mean_us']} us of CPU, "
        f"p99 {shard['cpu_p99_us']}"
    )
    print(f"{'shards':>7} {'p50':>8} {'p99':>8} {'hedged':>8} {'p99':>8} {'one broker':>11} {'tree':>8}  ms")
    for row in figures["fan_out"]:
        times = row["measured"]
        print(
            f"{row['shards']:>7} {times['p50_ms']:>8} {times['p99_ms']:>8} {times['hedged_p50_ms']:>8} "
            f"{times['hedged_p99_ms']:>8} {row['one_broker_ms']:>11} {row['tree']['ms']:>8}"
        )
    print(f"{figures['seconds']} s")


if __name__ == "__main__":
    main()
