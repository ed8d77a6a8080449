"""The order of documents, and searching the first tier alone: size, time, share of the index read, and quality.

python bench/tiers.py [--part articles|passages] [--words N] [--documents N] [--keep FOLDER] [--rounds N]

Articles of simplewiki_entity, which have no links, are given the ranks of a real web (`given_ranks.py`).

    articles   quality: nDCG@10 of the judged queries, by all documents and by the first tier where it has enough
    passages   size and time: passages of the articles, with the rank of their article, in each order; queries of the
               search benchmark game through the match kernel and through the whole path
"""

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from corpus import Asked, Passage, read_passages, read_queries
from figures import folder_bytes
from given_ranks import ASSIGNMENTS, GivenRanks, assign_ranks, read_mentions, web_ranks
from peers.ours import page_visits
from periplus.evaluate import read_collection, read_documents
from periplus.evaluate.rankings import DEPTH, Rankings, make_judgements, score
from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index, check_index
from periplus.index.index_manifest import SegmentEntry, commit, read_manifest
from periplus.index.kernels.inversion import MAX_IMPACT
from periplus.index.kernels.postings_format import SPARSE
from periplus.index.kernels.term_dictionary import ENTRY_BEGIN, ENTRY_ENCODING, ENTRY_FREQUENCY
from periplus.index.merge.segment_merger import merge_segments
from periplus.query import QueryPlan, parse_query, plan_segment
from periplus.query.kernels import match
from periplus.query.kernels.first_blocks import limit_blocks
from periplus.query.kernels.plan import WORK
from periplus.query.matcher import ScratchPool
from periplus.rank import Ranker
from periplus.records import Query
from periplus.search import Searcher, rerank, retrieve
from periplus.settings import IndexSettings, Settings
from periplus.store import read_lines
from record import RESULTS, save

DATA = Path(__file__).parents[2] / "shared" / "data"
CORPUS, CNR = DATA / "ir" / "simplewiki_entity", DATA / "graphs" / "cnr-2000" / "edges.tsv.zst"
GAME = DATA / "queries" / "search-benchmark-game.jsonl"
ORDERS = ("site", "tiers", "rank")
ENOUGH = (0, 30, 100, 300)
COMMON = 100
"""Good pages of the first tier that make a query a common one."""
K = 100
"""Candidates that are reranked: what a search asks the kernel for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("articles", "passages"))
    parser.add_argument("--words", type=int, default=28, help="words of a passage")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="use this folder, and what an earlier run has built there")
    parser.add_argument("--build", action="store_true", help="build the indexes of passages in that folder, only")
    options = parser.parse_args()
    if options.build:
        build_orders(options.keep, options)
        return
    path = RESULTS / "tiers.json"
    figures = json.loads(path.read_text())["figures"] if options.part and path.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        if options.part != "passages":
            figures["articles"] = measure_articles(folder)
        if options.part != "articles":
            figures["passages"] = measure_passages(folder, options)
    save("tiers", figures)


def is_built(data: Path) -> bool:
    return (data / "index" / "manifest.json").exists()


def build_articles(data: Path, ranks: Sequence[float] | None) -> list[str]:
    """Build the index of all articles, if there is none; return their names, by number."""
    ids: list[str] = []
    records = read_documents(CORPUS / "docs.jsonl.zst", ids)
    if is_built(data):
        for _ in records:
            pass
        return ids
    keys = [fingerprint_text(str(number)) for number in range(len(ranks))] if ranks is not None else []
    build_index(records, data / "index", IndexSettings(), GivenRanks(keys, ranks) if ranks is not None else None)
    return ids


def article_ranks(folder: Path) -> dict[str, np.ndarray]:
    """Return the rank of each article, by assignment."""
    ids = build_articles(folder / "articles", None)
    keys, counts = read_mentions(Index.open(folder / "articles" / "index", verify=False).segments[0])
    of_key = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    mentions = np.array([of_key[fingerprint_text(str(number))] for number in range(len(ids))])
    web = web_ranks(CNR)
    return {assignment: assign_ranks(web, mentions, assignment) for assignment in ASSIGNMENTS}


def measure_articles(folder: Path) -> dict[str, Any]:
    """Return nDCG@10 over the judged queries."""
    collection = read_collection(CORPUS)
    figures: dict[str, Any] = {}
    for assignment, ranks in article_ranks(folder).items():
        data = folder / f"articles-{assignment}"
        ids = build_articles(data, ranks.tolist())
        judgements = make_judgements(collection.qrels, ids)
        index, settings = Index.open(data / "index", verify=False), Settings()
        ranker = Ranker(index, settings.rank, settings.embeddings)
        index.spelling.load()
        number_of = {fingerprint_text(str(number)): number for number in range(len(ids))}
        figures[assignment] = {"documents": index.documents, "first_tier": index.segments[0].first_tier * 64}
        whole = np.zeros(0)
        for enough in ENOUGH:
            asked = [collection.queries[query] for query in judgements.queries]
            rankings, from_tier = rank_all(ranker, asked, number_of, enough)
            ndcg = score(rankings, judgements).ndcg
            row: dict[str, Any] = {
                "ndcg": round(float(ndcg.mean()), 4),
                "queries": len(ndcg),
                "from_tier": int(from_tier.sum()),
            }
            whole = whole if enough else ndcg
            if from_tier.any():
                row |= {"ndcg_from_tier": round(float(ndcg[from_tier].mean()), 4)}
                row |= {"ndcg_of_these_by_all": round(float(whole[from_tier].mean()), 4)}
            figures[assignment][f"enough_{enough}"] = row
        print(f"articles, ranks by {assignment}: {json.dumps(figures[assignment])}", flush=True)
    return figures


def rank_all(ranker: Ranker, asked: Sequence[str], number_of: dict[int, int], enough: int) -> tuple[Rankings, Any]:
    """Return the rankings of all queries, and which are from the first tier alone."""
    documents, scores = np.full((len(asked), DEPTH), -1, np.int32), np.zeros((len(asked), DEPTH), np.float32)
    from_tier = np.zeros(len(asked), np.bool_)
    for row, words in enumerate(asked):
        tree = parse_query(words).tree
        assert tree is not None
        retrieved = retrieve(ranker, ranker.plan(tree)._replace(enough=enough), DEPTH)
        ranked = rerank(retrieved, ranker.model, DEPTH)
        documents[row, : len(ranked.keys)] = [number_of[key] for key in ranked.keys.tolist()]
        scores[row, : len(ranked.scores)] = ranked.scores
        from_tier[row] = retrieved.unsearched > 0
    return Rankings(documents, scores), from_tier


def measure_passages(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return size and times of the index in each order."""
    asked = read_queries(GAME)
    figures: dict[str, Any] = {"words": options.words, "queries": len(asked)}
    for order, data in build_orders(folder, options).items():
        assert check_index(data / "index") == []
        figures[order] = measure_order(data, asked, options.rounds)
        print(f"passages, {order}: {json.dumps(figures[order])}", flush=True)
    return figures


def build_orders(folder: Path, options: argparse.Namespace) -> dict[str, Path]:
    """Build the index of each order, unless there is one; return their data folders."""
    built = {order: folder / f"passages-{options.words}-{options.documents}-{order}" for order in ORDERS}
    for order, data in built.items():
        if not is_built(data):
            build_passages(folder, data, order, options)
    return built


def build_passages(folder: Path, data: Path, order: str, options: argparse.Namespace) -> None:
    """Build the index of an order: the first from passages, the others by merging that one."""
    first = data.with_name(data.name.replace(order, ORDERS[0]))
    settings = IndexSettings(order=order, memory_mb=4_096)
    if order != ORDERS[0]:
        (data / "index").mkdir(parents=True)
        index = Index.open(first / "index", verify=False)
        assert len(index.segments) == 1
        merge_segments(data / "index" / "seg-000001-0000", index.segments, settings)
        manifest = msgspec.structs.replace(
            read_manifest(first / "index"), segments=(SegmentEntry("seg-000001-0000", index.documents),)
        )
        commit(data / "index", manifest, [np.zeros(0, np.int64)])
        return
    given = article_ranks(folder)["mentions"]
    lines = (json.loads(line) for line in read_lines(CORPUS / "docs.jsonl.zst") if line.strip())
    of_url = {entry["url"]: given[number] for number, entry in enumerate(lines)}
    keys = [fingerprint_text(passage.url) for passage in passages(options)]
    ranks = [of_url[passage.url.partition("?passage=")[0]] for passage in passages(options)]
    build_index(page_visits(passages(options)), data / "index", settings, GivenRanks(keys, ranks))


def passages(options: argparse.Namespace) -> Iterator[Passage]:
    return itertools.islice(read_passages(CORPUS / "docs.jsonl.zst", options.words), options.documents)


def measure_order(data: Path, asked: Sequence[Asked], rounds: int) -> dict[str, Any]:
    """Measure one index: size, kernel, whole path, and agreement of its first tier with all of it."""
    settings, index = Settings(folder=str(data)), Index.open(data / "index", verify=False)
    sizes = index.segments[0].sizes()
    return {
        "documents": index.documents,
        "index_mb": round(folder_bytes(data / "index") / 1e6, 1),
        "postings_mb": round(sum(size for name, size in sizes.items() if name.startswith("postings.")) / 1e6, 1),
        "text_mb": round(sizes["text.text"] / 1e6, 1),
        "columns_mb": round(sum(size for name, size in sizes.items() if name.startswith("documents.")) / 1e6, 1),
        "kernel": time_kernel(index, settings, asked, rounds),
        "whole": {f"enough_{enough}": ask_all(data, settings, asked, enough, rounds) for enough in ENOUGH},
    }


def time_kernel(index: Index, settings: Settings, asked: Sequence[Asked], rounds: int) -> dict[str, Any]:
    """Time the match call alone, over all blocks and over those of the first tier; CPU time, of several the least."""
    segment, pool = index.segments[0], ScratchPool()
    ranker = Ranker(index, settings.rank, settings.embeddings)
    lists = {"all": segment.pinned_postings}
    if segment.first_tier:
        lists["tier"] = limit_blocks(segment.pinned_postings, segment.first_tier)
    times: dict[str, list[int]] = {name: [] for name in lists}
    work: dict[str, list[int]] = {name: [] for name in lists}
    reads, common = [], []
    for query in asked:
        tree = parse_query(query.typed).tree
        assert tree is not None
        plan = ranker.plan(tree)
        laid_out = plan_segment(segment, plan)
        scratch = pool.get(len(segment.live), laid_out, K)
        for name, own in lists.items():
            best = 1 << 62
            for _ in range(rounds + 1):
                began = time.thread_time_ns()
                found = match.match(own, laid_out, scratch, K, 512, counts_complete=name == "tier")
                best = min(best, time.thread_time_ns() - began)
            times[name].append(best)
            work[name].append(int(scratch.arrays.progress[WORK]))
            if name == "all":
                reads.append(read_by_rank(index, plan, found))
            else:
                good = found.complete if plan.groups else found.total
                common.append(good >= COMMON and len(found.documents) == K)
    figures: dict[str, Any] = {name: summary(times[name]) | {"work": round(np.mean(work[name]))} for name in lists}
    if any(common):
        rows = {name: [time for time, own in zip(times[name], common, strict=True) if own] for name in lists}
        figures["common"] = {"queries": sum(common)} | {name: summary(own) for name, own in rows.items()}
    exits = np.array(reads)
    return figures | {"exit_by_rank": {"queries": int((exits < 1).sum()), "read": round(float(exits.mean()), 4)}}


def read_by_rank(index: Index, plan: QueryPlan, found: match.MatchResult) -> float:
    """Return the share of blocks after which a search by falling static rank could end, with one bound of each word.

    The bound of what is not seen yet: the highest impact of each word anywhere, the bonus, and the static rank there.
    """
    segment = index.segments[0]
    ranks = segment.postings.block_static
    if len(found.scores) < K or not len(ranks):
        return 1.0
    bound = plan.bonus
    for leaf, entry in zip(plan.leaves, plan.leaf_places(segment), strict=True):
        highest = segment.postings.stream[entry[ENTRY_BEGIN] + 1] if entry[ENTRY_ENCODING] != SPARSE else MAX_IMPACT
        bound += leaf.weight * float(highest) / MAX_IMPACT if entry[ENTRY_FREQUENCY] else 0.0
    remaining = np.maximum.accumulate(ranks[::-1])[::-1]  # The highest rank from each block on.
    done = np.flatnonzero(bound + plan.scoring.static_weight * remaining < found.scores[-1])
    return float(done[0] / len(ranks)) if len(done) else 1.0


def summary(nanoseconds: Sequence[int]) -> dict[str, float]:
    times = np.array(nanoseconds, np.float64) / 1000
    names = {"mean_us": times.mean(), "p50_us": np.percentile(times, 50), "p99_us": np.percentile(times, 99)}
    return {name: round(float(value), 1) for name, value in names.items()}


def ask_all(data: Path, settings: Settings, asked: Sequence[Asked], enough: int, rounds: int) -> dict[str, Any]:
    """Ask everything through the whole path; CPU time of the thread, of several times the least."""
    searcher = Searcher.open(data, settings)
    best, pages = [1 << 62] * len(asked), [searcher.search(Query(query.typed, enough=enough)) for query in asked]
    for _ in range(rounds):
        for number, query in enumerate(asked):
            began = time.thread_time_ns()
            searcher.search(Query(query.typed, enough=enough))
            best[number] = min(best[number], time.thread_time_ns() - began)
    shares, first = [], []
    for query, page in zip(asked, pages, strict=True):
        if page.unsearched:
            whole = [hit.key for hit in searcher.search(Query(query.typed, enough=0)).hits]
            own = [hit.key for hit in page.hits]
            shares.append(len({*own} & {*whole}) / max(1, len(whole)))
            first.append(own[:1] == whole[:1])
    figures: dict[str, Any] = summary(best)
    if enough:
        read = float(np.mean([1 - page.unsearched / page.documents for page in pages]))
        figures |= {"from_tier": len(shares), "read": round(read, 3)}
    if shares:
        figures |= {"overlap_at_10": round(float(np.mean(shares)), 3), "same_first": round(float(np.mean(first)), 3)}
    return figures


if __name__ == "__main__":
    main()
