"""Graph, index, embeddings, exports and learned models, as golden files."""

import itertools
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from embeddings.tiny_model import NaiveEncoder
from formats.golden_files import GoldenFormat, content, plain
from formats.golden_store import DAY, WORDS, feed_visit, fetched_page
from index.made_pages import visit as made_visit
from periplus.arrays import ArrayFile
from periplus.embeddings import embed_index
from periplus.embeddings.embedding_log import LOG_NAME, EmbeddingLog, find_log_faults
from periplus.embeddings.vector_file import FOLDER, PassageVectors, read_vectors
from periplus.graph import Backlinks, Graph, build_graph, learn_synonyms, read_synonyms
from periplus.index import Index, LiveIndex, build_index, check_index, export_index, find_pair_sets
from periplus.index.index_manifest import read_deleted
from periplus.index.word_pairs import pair_lists
from periplus.query import Synonyms
from periplus.rank import FEATURES, list_models, save_model
from periplus.rank.kernels.trees import Trees
from periplus.rank.ranking_model import TreeModel, read_model
from periplus.rank.training import TrainingResult
from periplus.records import FetchRecord, Link, Outcome, Page, Query
from periplus.search import Searcher
from periplus.settings import EmbeddingSettings, GraphSettings, IndexSettings, Settings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

SEMANTIC = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4)


def _linked(number: int) -> FetchRecord:
    """Return a page of a site of its own that calls another by one of its two names."""
    url = f"http://site{number}.test/"
    name = ("sea charts", "nautical maps")[number % 2]
    links = (Link("http://chart.test/", name), Link(WORDS[number % len(WORDS)][0], "more"))
    page = Page(url, title=f"Site {number}", text="A page with links to the coast.", language="en", links=links)
    return FetchRecord(url, parse_address(url).key, Outcome.OK, DAY + number, 200, content=900 + number, page=page)


def write_graph(folder: Path) -> None:
    """Build the graph of a few sites, with synonyms."""
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        for number in range(len(WORDS)):
            store.append(*fetched_page(number))
        for number in range(12):
            store.append(_linked(number))
        store.commit()
        build_graph(store, folder / "graph", GraphSettings())
    learn_synonyms(Graph.open(folder / "graph"), folder / "graph")


def read_graph(folder: Path) -> Any:
    """Return ranks, anchor texts, links and synonyms of every page."""
    graph = Graph.open(folder / "graph")
    Backlinks.open(folder / "graph")
    assert Synonyms.from_pairs(read_synonyms(folder / "graph"), 0.5)
    file = ArrayFile(folder / "graph" / "graph.arrays", "graph")
    file.check()
    backlinks = ArrayFile(folder / "graph" / "backlinks.arrays", "backlinks")
    backlinks.check()
    pairs = ArrayFile(folder / "graph" / "synonyms.arrays", "synonyms")
    pairs.check()
    keys = [parse_address(url).key for url, _, _ in WORDS]
    rows = [int(file["rows"][np.searchsorted(file["keys"], np.uint64(key))]) for key in keys]
    names = ("pagerank", "hostrank", "in_links", "in_hosts", "spam_mass", "trust", "static")
    return {
        "notes": plain(file.notes),
        "texts": [graph.anchor_texts(row) for row in rows],
        "columns": {name: plain(file[name][rows]) for name in names},
        "marks": plain(backlinks["marks"]),
        "synonyms": pairs["pairs"].tobytes().decode(),
    }


QUERIES = ("lighthouse", '"old harbour"', "tide -fog", "title:tides", "site:light.test", "kw3")


def write_segments(folder: Path) -> None:
    """Write an index with all its parts: words, extras, late news, bitmaps of the dead and a journal."""
    index = folder / "index"
    visits = [fetched_page(number)[0] for number in range(len(WORDS))]
    many = [made_visit(f"http://many.test/{n}", f"kw{n % 7} page") for n in range(1_300)]
    build_index([*visits, *many], index, IndexSettings())
    live = LiveIndex(index, IndexSettings(), background=False)
    live.add(feed_visit())
    for n in range(1_100):
        live.delete(f"http://many.test/{n}")
    live.publish()
    live.add(made_visit("http://harbour.test/late", "Late", "A late page about the lighthouse."))
    shutil.copytree(index, folder / "waiting")
    live.close()
    shutil.rmtree(index)
    (folder / "waiting").rename(index)


def read_segments(folder: Path) -> Any:
    """Return what is found, the dead, and what the check says."""
    index = Index.open(folder / "index")
    searcher = Searcher.open(folder, Settings())
    return {
        "faults": check_index(folder / "index"),
        "documents": index.documents,
        "dead": [len(numbers) for numbers in read_deleted(folder / "index", index.manifest)],
        "hits": {words: sorted(hit.url for hit in searcher.search(Query(words)).hits) for words in QUERIES},
        "titles": [index.segments[0].string("title", n) for n in range(3)],
        "text": index.segments[0].text(0).decode(),
        "files": sorted(path.name for path in (folder / "index" / index.segments[0].name).iterdir()),
        "waiting": _take_up_journal(folder / "index"),
    }


def write_pair_lists(folder: Path) -> None:
    """Write an index whose segment lists frequent word pairs, for which others are too small."""
    texts = ("the old harbour", "the harbour of the old chart", "chart of the harbour")
    visits = [made_visit(f"http://many.test/{n}", "", texts[n % 3]) for n in range(600)]
    with patch.object(pair_lists, "MIN_DOCUMENTS", 1), patch.object(pair_lists, "_BUDGET", 10.0):
        build_index(visits, folder / "index", IndexSettings())


def read_pair_lists(folder: Path) -> Any:
    """Return how many documents each pair has, and which of the first block."""
    segment = Index.open(folder / "index").segments[0]
    words = [b"the", b"old", b"harbour", b"of", b"chart"]
    pairs = list(itertools.permutations(range(len(words)), 2))
    rows, sets = find_pair_sets(segment, segment.find_terms(words), pairs)
    named = {f"{words[a].decode()} {words[b].decode()}": row for (a, b), row in zip(pairs, rows, strict=True)}
    return {
        "faults": check_index(folder / "index"),
        "counts": {name: int(np.bitwise_count(sets[row]).sum()) if row >= 0 else -1 for name, row in named.items()},
        "first": {name: plain(sets[row][:1]) for name, row in named.items() if row >= 0},
    }


def _take_up_journal(index: Path) -> list[Any]:
    """Publish what waits in the journal; return how many changes, and which page that is."""
    with LiveIndex(index, IndexSettings(), background=False) as live:
        waiting = live.pending
        live.publish()
    return [waiting, Index.open(index).documents, check_index(index)]


def write_export(folder: Path) -> None:
    """Export an index in each of the forms."""
    build_index([fetched_page(number)[0] for number in range(len(WORDS))], folder / ".index", IndexSettings())
    index = Index.open(folder / ".index")
    for name in ("terms.jsonl", "terms.jsonl.zst", "terms.arrays"):
        export_index(index, folder / name)


def read_export(folder: Path) -> Any:
    """Return the array form, which a program of ours reads; the others are for programs of others."""
    file = ArrayFile(folder / "terms.arrays", "bounds", format=1)
    file.check()
    return {"notes": plain(file.notes), "frequency": plain(file["frequency"]), "impact": plain(file["max_impact"])}


def write_embeddings(folder: Path) -> None:
    """Embed an index, and leave a log with the vectors of two more documents."""
    index = folder / "index"
    build_index([fetched_page(number)[0] for number in range(len(WORDS))], index, IndexSettings())
    embed_index(index, SEMANTIC, encoder=NaiveEncoder())
    vectors = PassageVectors(np.arange(12, dtype=np.int8).reshape(3, 4), np.array([0.5, 0.25, 1.0], np.float32))
    with EmbeddingLog(index / FOLDER / LOG_NAME, "recipe", 4) as log:
        log.append([11, 12], [vectors, PassageVectors(vectors.vectors[:1], vectors.scales[:1])])
        log.append([13], [vectors])


def read_embeddings(folder: Path) -> Any:
    """Return the vectors of the segment and of the log."""
    place = folder / "index" / FOLDER
    index = Index.open(folder / "index")
    file = read_vectors(place / f"{index.segments[0].name}.arrays")
    faults = find_log_faults(place / LOG_NAME)
    if faults:
        return faults
    with EmbeddingLog(place / LOG_NAME, "recipe", 4) as log:
        logged = {mark: log.get(mark) for mark in (11, 12, 13)}
    return {
        "prints": plain(file.fingerprints),
        "shape": list(file.store.vectors.shape),
        "start": plain(file.store.start),
        "recipe": file.recipe,
        "whole": file.complete,
        "logged": {mark: plain(tuple(found)) if found else None for mark, found in logged.items()},
    }


def write_models(folder: Path) -> None:
    """Keep a model of two trees that passed, and the card of one that did not."""
    folder.mkdir(exist_ok=True)
    trees = Trees(
        np.array([0, ~2], np.int32),
        np.array([0, 3], np.int32),
        np.array([0.5, 0.25]),
        np.array([[1, ~0], [~1, ~2]], np.int32),
        np.array([0.1, 0.2]),
        np.array([1.0, -0.5, 0.25]),
    )
    learned = TrainingResult(TreeModel(trees, 2.0), 40, 0.5, 0.625, 0.0625, 0.001, {"pairs": 0.75, "static": 0.25})
    save_model(folder, learned, ("judgements", "clicks"))
    save_model(folder, learned._replace(low=-0.25, p=0.75), ("clicks",))


def _without_empty(card: Any, *names: str) -> Any:
    """Return a card without fields that earlier editions do not have, where they are empty."""
    return {name: value for name, value in card.items() if value or name not in names}


def read_models(folder: Path) -> Any:
    """Return the cards, which model is used, and what its trees say."""
    cards, used = list_models(folder)
    model = read_model(folder / "models" / "20231114-221320.model")
    row = np.linspace(0.0, 1.0, len(FEATURES)).reshape(1, -1)
    return {
        "cards": [_without_empty(content(card), "left_out", "examples") for card in cards],
        "used": used,
        "scale": model.scale,
        "sum": plain(model.correct(row)),
    }


FORMATS = (
    GoldenFormat("graph", write_graph, read_graph, unread=("store/*", "periplus.json")),
    GoldenFormat(
        "segments",
        write_segments,
        read_segments,
        tolerant=("index/journal-*", "index/feeds.log"),
        unnumbered=("index/*.arrays", "index/feeds.log"),
    ),
    GoldenFormat(
        "word-pairs",
        write_pair_lists,
        read_pair_lists,
        tolerant=("index/feeds.log",),
        unnumbered=("index/*.arrays", "index/feeds.log"),
    ),
    GoldenFormat("export", write_export, read_export, unread=("terms.jsonl", "terms.jsonl.zst")),
    GoldenFormat(
        "embeddings",
        write_embeddings,
        read_embeddings,
        tolerant=("*/embedded.log",),
        unread=("index/meaning/progress.json",),
        unnumbered=("index/seg*", "index/feeds.log"),
    ),
    GoldenFormat("models", write_models, read_models, tolerant=("models/used.json",), unread=("models/*.md",)),
)
