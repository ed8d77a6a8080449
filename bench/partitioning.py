"""An index split by documents and by terms over 2, 4 and 8 nodes: messages, bytes, work, latency, balance, failures.

.venv/bin/python bench/partitioning.py [--corpus JSONL] [--queries JSONL] [--documents N] [--nodes 2,4,8] [--rounds 3]

The same index, queries and kernels for all. Half of the queries, by their words, train the balanced placement of terms;
the other half is measured. CPU times are measured, the network is a model: see `partition_load`.
"""

import argparse
import heapq
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from corpus import KINDS, Asked, make_passages, make_queries, read_passages, read_queries, tokenise
from fanout_model import fit_line
from figures import exponent, overlap
from partition_load import (
    BANDWIDTH,
    FRAME,
    LATENCY,
    MessageCost,
    latency,
    loaded_latency,
    measure_messages,
    node_seconds,
)
from partition_load import messages as count_messages
from partitions import DocumentPartition, Evaluation, TermPartition, WholeIndex, is_plain
from periplus.accel import warm_up
from periplus.hashing import fingerprint
from periplus.query import QueryPlan
from record import save

K = 100
"""Candidates of a query, as many as are reranked."""
TOP = 10
"""Results by which failures are judged."""
LOADS = (0.3, 0.6)
"""Rates of queries that are simulated, as shares of what nodes with a share of the documents can do."""
Partition = DocumentPartition | TermPartition


def is_training(asked: Asked) -> bool:
    """Return whether a query trains the placement of terms; all queries of the same words do, or do not."""
    return fingerprint(" ".join(sorted(asked.terms)).encode()) % 2 == 0


def place_by_hash(nodes: int) -> Callable[[bytes], int]:
    """Return a placement of terms by their fingerprint."""
    return lambda term: fingerprint(term) % nodes


def place_balanced(whole: WholeIndex, plans: Iterable[QueryPlan], nodes: int) -> Callable[[bytes], int]:
    """Return a placement by the work of each term in past queries, and by size for those that none has.

    The terms with most work first, each on the node with least of it so far: the fill-smallest rule of Moffat, Webber
    and Zobel. Work is bytes of postings times queries.
    """
    asked = Counter(leaf.term for plan in plans for leaf in plan.leaves)
    sizes = np.diff(whole.terms.stream_end, prepend=0)
    blob, start = whole.terms.blob.tobytes(), whole.terms.start.tolist()
    order = np.argsort(-sizes, kind="stable").tolist()
    names = [blob[start[n] : start[n + 1]] for n in order]
    work = sorted(
        ((asked[name] * int(sizes[n]), name) for name, n in zip(names, order, strict=True) if name in asked),
        reverse=True,
    )
    placed: dict[bytes, int] = {}
    heap = [(0, 0, node) for node in range(nodes)]
    for amount, name in work:
        done, held, node = heapq.heappop(heap)
        placed[name] = node
        heapq.heappush(heap, (done + amount, held, node))
    by_size = [(0, node) for node in range(nodes)]
    for name, n in zip(names, order, strict=True):
        if name not in placed:
            held, node = heapq.heappop(by_size)
            placed[name] = node
            heapq.heappush(by_size, (held + int(sizes[n]), node))
    return lambda term: placed.get(term, fingerprint(term) % nodes)


def measure(partition: Partition, plans: Sequence[QueryPlan], rounds: int) -> list[Evaluation]:
    """Run every query."""
    return [partition.evaluate(plan, rounds) for plan in plans]


def summarise(
    name: str, nodes: int, evaluations: Sequence[Evaluation], cost: MessageCost, rates: Sequence[float]
) -> dict[str, Any]:
    """Return the figures of one way to split an index over so many nodes."""
    counts = np.array([count_messages(evaluation) for evaluation in evaluations], np.float64)
    times = np.array([latency(evaluation, cost) for evaluation in evaluations]) * 1e3
    load, decoded = np.zeros(nodes), np.zeros(nodes)
    for evaluation in evaluations:
        for node, seconds in node_seconds(evaluation, cost):
            load[node] += seconds / len(evaluations) * 1e6
        for visit in evaluation.visits:
            decoded[visit.node] += visit.decoded / len(evaluations)
    return {
        "split": name,
        "nodes": nodes,
        "queries": len(evaluations),
        "nodes_per_query": round(float(np.mean([len(evaluation.visits) for evaluation in evaluations])), 2),
        "messages": round(float(counts[:, 0].mean()), 2),
        "bytes_mean": round(float(counts[:, 1].mean())),
        "bytes_p50": round(float(np.percentile(counts[:, 1], 50))),
        "bytes_p99": round(float(np.percentile(counts[:, 1], 99))),
        "work_units": round(float(decoded.sum())),
        "work_units_busiest": round(float(decoded.max())),
        "cpu_us": round(float(load.sum()), 1),
        "cpu_us_busiest": round(float(load.max()), 1),
        "balance": round(float(load.max() / load.mean()), 3),
        "queries_per_second_most": round(1e6 / float(load.max())),
        "p50_ms": round(float(np.percentile(times, 50)), 3),
        "p99_ms": round(float(np.percentile(times, 99)), 3),
        "loaded": [{"rate": round(rate), **loaded_latency(evaluations, cost, nodes, rate)} for rate in rates],
    }


def by_kind(asked: Sequence[Asked], evaluations: Sequence[Evaluation], cost: MessageCost) -> dict[str, Any]:
    """Return bytes and latency of each kind of query."""
    rows = {}
    for kind in KINDS:
        these = [e for query, e in zip(asked, evaluations, strict=True) if query.kind == kind]
        if these:
            times = np.array([latency(evaluation, cost) for evaluation in these]) * 1e3
            rows[kind] = {
                "queries": len(these),
                "bytes_mean": round(float(np.mean([count_messages(e)[1] for e in these]))),
                "cpu_us": round(float(np.mean([sum(s for _, s in node_seconds(e, cost)) for e in these])) * 1e6, 1),
                "p50_ms": round(float(np.percentile(times, 50)), 3),
                "p99_ms": round(float(np.percentile(times, 99)), 3),
            }
    return rows


def agreement(right: Sequence[Any], evaluations: Sequence[Evaluation]) -> dict[str, float]:
    """Return how answers agree with those of one index: scores that are equal, and documents in common."""
    equal = [
        len(r[0]) == len(e.scores) and np.allclose(r[0], e.scores, rtol=1e-4)
        for r, e in zip(right, evaluations, strict=True)
    ]
    shared = overlap([r[1][:TOP].tolist() for r in right], [e.documents[:TOP].tolist() for e in evaluations])
    return {"equal_scores": round(float(np.mean(equal)), 4), "overlap": round(shared, 4)}


def lose_documents(partition: DocumentPartition, plans: Sequence[QueryPlan], right: Sequence[Any]) -> dict[str, Any]:
    """Return what is left of the answers while one of the nodes is gone, over all nodes."""
    shares, whole = [], []
    for node in range(partition.nodes):
        for plan, answer in zip(plans, right, strict=True):
            best = partition.evaluate(plan, 0, without=node).documents[:TOP].tolist()
            wanted = answer[1][:TOP].tolist()
            shares.append(overlap([wanted], [best]))
            whole.append(set(best) == set(wanted))
    return {"overlap": round(float(np.mean(shares)), 4), "unchanged": round(float(np.mean(whole)), 4)}


def lose_terms(
    partition: TermPartition, whole: WholeIndex, asked: Sequence[Asked], right: Sequence[Any]
) -> dict[str, Any]:
    """Return the same for terms: a query is answered by those of its terms that are left, if any."""
    shares, unchanged, answers = [], [], dict[tuple[str, tuple[str, ...]], list[int]]()
    for node in range(partition.nodes):
        for query, answer in zip(asked, right, strict=True):
            left = tuple(term for term in query.terms if partition.node_of(term.encode()) != node)
            wanted = answer[1][:TOP].tolist()
            if left == query.terms:
                shares.append(1.0)
                unchanged.append(True)
                continue
            kind = query.kind if len(left) > 1 else "term"
            if left and (kind, left) not in answers:
                result = whole.run(whole.plan(Asked(kind, left, "")), 0)[1]
                answers[kind, left] = whole.keys[result.documents][:TOP].tolist()
            best = answers[kind, left] if left else []
            shares.append(overlap([wanted], [best]))
            unchanged.append(set(best) == set(wanted))
    return {"overlap": round(float(np.mean(shares)), 4), "unchanged": round(float(np.mean(unchanged)), 4)}


def updates(whole: WholeIndex, nodes: int, place: Callable[[bytes], int]) -> dict[str, Any]:
    """Return how many nodes adding one document touches, and the balance of what nodes have on disk."""
    sample = whole.texts[:: max(1, len(whole.texts) // 200)]
    touched = [len({place(term.encode()) for term in set(text.split(" "))}) for text in sample]
    terms, sizes = (
        whole.terms,
        np.diff(whole.terms.stream_end, prepend=0) + np.diff(whole.terms.position_end, prepend=0),
    )
    blob, start = terms.blob.tobytes(), terms.start.tolist()
    held = np.zeros(nodes)
    for n in range(len(sizes)):
        held[place(blob[start[n] : start[n + 1]])] += sizes[n]
    return {
        "nodes_of_a_document": round(float(np.mean(touched)), 2),
        "terms_of_a_document": round(float(np.mean([len(set(text.split(" "))) for text in sample])), 1),
        "disk_balance": round(float(held.max() / held.mean()), 4),
        "replicated_bytes_per_document": round(len(whole.segment.postings.plain_impact) / whole.segment.documents, 2),
    }


def compare(whole: WholeIndex, asked: list[Asked], options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Split one index in every way, and measure."""
    cost = measure_messages()
    pairs = [(query, whole.plan(query)) for query in asked]
    training = [plan for query, plan in pairs if is_training(query)]
    pairs = [(query, plan) for query, plan in pairs if not is_training(query)]
    measured = [query for query, plan in pairs if is_plain(plan)]
    plans = [plan for _, plan in pairs if is_plain(plan)]
    runs = [whole.run(plan, options.rounds) for plan in plans]
    right = [(result.scores, whole.keys[result.documents]) for _, result, _ in runs]
    alone = np.array([cpu for cpu, _, _ in runs]) * 1e6
    figures: dict[str, Any] = {
        "message_us": round(cost.seconds * 1e6, 2),
        "message_ns_per_byte": round(cost.seconds_per_byte * 1e9, 3),
        "queries": len(measured),
        "training_queries": len(training),
        "left_out": len(pairs) - len(plans),
        "one_index": {"cpu_us": round(float(alone.mean()), 1), "p50_us": round(float(np.percentile(alone, 50)), 1),
                      "p99_us": round(float(np.percentile(alone, 99)), 1)},
    }  # fmt: skip
    rows, kinds, failures, disks = [], {}, {}, {}
    for nodes in options.nodes:
        documents = DocumentPartition(whole, nodes, scratch / f"documents-{nodes}")
        placements = {"hash": place_by_hash(nodes), "balanced": place_balanced(whole, training, nodes)}
        splits: list[Partition] = [documents]
        for placement, place in placements.items():
            splits += [
                TermPartition(whole, nodes, place, f"terms by {placement}, {way}", gather=way == "gathered")
                for way in ("pipelined", "gathered")
            ]
        rates: list[float] = []
        for split in splits:
            evaluations = measure(split, plans, options.rounds)
            row = summarise(split.name, nodes, evaluations, cost, rates)
            if split is documents:
                rates = [share * row["queries_per_second_most"] for share in LOADS]
                row = summarise(split.name, nodes, evaluations, cost, rates)
            rows.append(row | agreement(right, evaluations))
            kinds[f"{split.name}, {nodes}"] = by_kind(measured, evaluations, cost)
            print(show(rows[-1]), flush=True)
        some = slice(None, None, max(1, len(plans) // 100))
        failures[str(nodes)] = {"documents": lose_documents(documents, plans[some], right[some])} | {
            f"terms by {name}": lose_terms(
                TermPartition(whole, nodes, place, "", gather=True), whole, measured[some], right[some]
            )
            for name, place in placements.items()
        }
        disks[str(nodes)] = {f"terms by {name}": updates(whole, nodes, place) for name, place in placements.items()} | {
            "documents": {
                "nodes_of_a_document": 1,
                "disk_balance": round(max(documents.bytes) / np.mean(documents.bytes), 4),
            }
        }
    return figures | {"rows": rows, "kinds": kinds, "one_node_lost": failures, "disk": disks}


def show(row: dict[str, Any]) -> str:
    """Return a row as a line."""
    loaded = "  ".join(f"{load['p99_ms']}" for load in row["loaded"])
    return (
        f"{row['nodes']} {row['split']:<30} messages {row['messages']:>6} bytes {row['bytes_mean']:>9,} "
        f"cpu {row['cpu_us']:>7} us, busiest {row['cpu_us_busiest']:>7} (x{row['balance']}) "
        f"p50 {row['p50_ms']} p99 {row['p99_ms']} ms, loaded p99 {loaded}; equal {row['equal_scores']}"
    )


def grow(
    whole: WholeIndex, asked: list[Asked], shares: Sequence[int], nodes: int, scratch: Path
) -> list[dict[str, Any]]:
    """Return bytes and work of a query on parts of the collection and on all of it, on so many nodes."""
    rows, texts = [], whole.texts
    measured = [query for query in asked if not is_training(query)]
    for share in shares:
        whole = WholeIndex(texts[::share], scratch / f"whole-{share}", K)
        documents = DocumentPartition(whole, nodes, scratch / f"grow-{share}")
        plans = [plan for plan in map(whole.plan, measured) if is_plain(plan)]
        row: dict[str, Any] = {"documents": len(whole.texts)}
        pipelined = TermPartition(whole, nodes, place_by_hash(nodes), "pipelined", gather=False)
        gathered = TermPartition(whole, nodes, place_by_hash(nodes), "gathered", gather=True)
        for name, split in (("documents", documents), ("pipelined", pipelined), ("gathered", gathered)):
            evaluations = [split.evaluate(plan, 1) for plan in plans]
            row[f"{name}_bytes"] = round(float(np.mean([count_messages(e)[1] for e in evaluations])))
            row[f"{name}_cpu_us"] = round(
                float(np.mean([sum(visit.cpu for visit in e.visits) for e in evaluations])) * 1e6, 1
            )
        rows.append(row)
        print(row, flush=True)
    return rows


def project(figures: dict[str, Any], documents: float, nodes: int) -> dict[str, Any]:
    """Return what the figures come to for a larger collection: times as lines, bytes as powers of its size. A model."""
    rows = [row for row in figures["rows"] if row["split"] == "documents"]
    sizes = [figures["documents"] / row["nodes"] for row in rows]
    fixed, slope = fit_line(sizes, [row["cpu_us"] / row["nodes"] for row in rows])
    powers, last = figures["growth_exponents"], figures["growth"][-1]
    growth = documents / last["documents"]
    node_us = fixed + slope * documents / nodes
    one_us = fixed + slope * documents
    lists = last["gathered_bytes"] * growth ** powers["gathered_bytes"]
    bundles = last["pipelined_bytes"] * growth ** powers["pipelined_bytes"]
    per_byte = figures["message_ns_per_byte"] / 1e3
    return {
        "collection": documents,
        "nodes": nodes,
        "documents": {
            "bytes": last["documents_bytes"],
            "cpu_us": round(node_us * nodes),
            "latency_ms": round(node_us / 1e3 + 0.1, 2),
        },
        "gathered": {
            "bytes": round(lists),
            "cpu_us": round(one_us + lists * per_byte),
            "latency_ms": round((one_us + lists * per_byte) / 1e3 + 0.2 + lists / BANDWIDTH * 1e3, 2),
        },
        "pipelined": {
            "bytes": round(bundles),
            "cpu_us": round(last["pipelined_cpu_us"] * growth ** powers["pipelined_cpu_us"]),
        },
    }


def gather(options: argparse.Namespace) -> tuple[str, list[str], list[Asked]]:
    """Return the name of the corpus, its texts as terms, and the queries."""
    if options.corpus:
        passages = islice(read_passages(Path(options.corpus), 10**9), options.documents or None)
        texts = list(tokenise(f"{passage.title} {passage.text}" for passage in passages))
        name = Path(options.corpus).parent.name
    else:
        texts = list(tokenise(p.text for p in islice(make_passages(200), options.documents or 20_000)))
        name = "made"
    asked = read_queries(Path(options.queries)) if options.queries else make_queries(texts)
    return name, texts, asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="", help="JSONL of {id, url, title, text}; made without it")
    parser.add_argument("--queries", default="", help="JSONL of {query, tags}; made from the corpus without it")
    parser.add_argument("--documents", type=int, default=0, help="how many of the corpus; 0 is all")
    parser.add_argument("--nodes", type=lambda text: [int(n) for n in text.split(",")], default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=2, help="calls of each step; the fastest counts")
    parser.add_argument("--no-growth", action="store_true", help="leave out smaller collections")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    warm_up()
    began = time.perf_counter()
    name, texts, asked = gather(options)
    with tempfile.TemporaryDirectory(prefix="periplus-bench-") as folder:
        scratch = Path(folder)
        whole = WholeIndex(texts, scratch / "whole", K)
        print(
            f"{name}: {len(texts):,} documents, {len(asked)} queries, {time.perf_counter() - began:.0f} s", flush=True
        )
        figures: dict[str, Any] = {
            "corpus": name,
            "documents": len(texts),
            "k": K,
            "network": {
                "latency_us": LATENCY * 1e6,
                "gbit_s": BANDWIDTH * 8 / 1e9,
                "frame_bytes": FRAME,
                "modelled": True,
            },
            "load_average": round(os.getloadavg()[0], 1),
        } | compare(whole, asked, options, scratch)
        if not options.no_growth:
            rows = grow(whole, asked, (16, 4, 1), max(options.nodes), scratch)
            figures["growth"] = rows
            figures["growth_exponents"] = {
                column: round(exponent([row["documents"] for row in rows], [row[column] for row in rows]), 2)
                for column in rows[0]
                if column != "documents"
            }
    if not options.no_growth and len(options.nodes) > 1:
        figures["projected"] = [project(figures, size, max(options.nodes)) for size in (1e7, 1e8)]
    figures["seconds"] = round(time.perf_counter() - began)
    figures["cpu_seconds"] = round(time.process_time())
    if not options.no_save:
        save("partitioning", figures)
    print(f"{figures['seconds']} s")


if __name__ == "__main__":
    main()
