"""A small data folder with every kind of file that kernels read, and all that reads it."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from periplus.errors import PeriplusError
from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord, Link, Media, Outcome, Page, Query

__all__ = ["make_sample", "use_everything"]

WORDS = (
    *("sea", "chart", "ship", "ships", "harbour", "light", "fog", "bell", "tide", "wind", "rope", "sail", "sails"),
    *("12", "15", "1850", "007", "hafen", "東京", "灯台"),
)
HOSTS = ("coast.test", "www.coast.test", "deep.coast.test", "mountain.test")
QUERIES = (
    *(
        "sea",
        "the fog bell",
        '"sea chart"',
        '"ship sail rope"',
        "sail*",
        "ha*",
        "sea OR fog -bell",
        "harbour NEAR light",
    ),
    *("site:coast.test sea", "intitle:sea tide", "inurl:1", "lang:en fog", "filetype:html sea", "1..20 sea", "-xyzzy"),
    *(
        "harbuor lihgt",
        "灯台",
        "東京 灯台",
        "link:coast.test",
        "sea after:1970-01-02",
        "common",
        "common rare7",
        '"common rare7"',
    ),
    *("has:media sea", "rare*", "frequent common", '"frequent common"', "+sea +frequent"),
)


def make_record(number: int, chance: random.Random) -> FetchRecord:
    """Return the record of a page of a few common words."""
    words = lambda most: " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, most)))  # noqa: E731
    url = f"https://{chance.choice(HOSTS)}/{chance.choice('ab')}/{number}"
    links = tuple(
        Link(f"https://{chance.choice(HOSTS)}/{chance.choice('ab')}/{chance.randrange(400)}", words(2))
        for _ in range(3)
    )
    media = (Media(f"{url}.png", "image", words(3)),) if number % 3 == 0 else ()
    page = Page(
        url,
        title=words(5),
        text=f"{words(40)}\n{words(60)}",
        language="en",
        headings=(words(4),),
        links=links,
        media=media,
        published=f"2020-01-{1 + number % 28:02}" if number % 4 == 0 else "",
        feeds=("https://coast.test/feed",) if number % 8 == 0 else (),
    )
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 86_400.0 * (number % 20), 200, page=page)


def make_short_record(number: int) -> FetchRecord:
    """Return the record of one of very many pages, so that terms have every encoding of postings."""
    url = f"https://many.test/{number}"
    words = ["common"] * (1 + number % 5)
    words += ["frequent", "common"] if number % 130 == 0 else []
    words.append(f"rare{number % 1009}")
    page = Page(url, title=f"t{number % 7}", text=" ".join(words), language="en")
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 1.0, 200, page=page)


def make_sample(folder: Path, *, large: int = 33_280) -> None:
    """Write a data folder with every kind of file that kernels read."""
    from periplus.embeddings.vector_file import PassageVectors, segment_fingerprint, vector_path, write_vectors
    from periplus.graph import Graph, build_graph, learn_synonyms
    from periplus.index import Index, LiveIndex, build_index
    from periplus.rank.kernels.trees import Trees
    from periplus.rank.ranking_model import TreeModel, write_model
    from periplus.settings import GraphSettings, IndexSettings, StoreSettings
    from periplus.store import PageStore

    chance = random.Random(14)
    records = [make_record(number, chance) for number in range(400)]
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        for record in records:
            store.append(record)
        build_graph(store, folder / "graph", GraphSettings())
    graph = Graph.open(folder / "graph")
    learn_synonyms(graph, folder / "graph")
    build_index(iter(records), folder / "index", IndexSettings(), graph)
    build_index(map(make_short_record, range(large)), folder / "large", IndexSettings())
    live = LiveIndex(folder / "index", IndexSettings())
    for number in range(400, 420):
        live.add(make_record(number, chance))
    live.delete(records[3].url)
    live.close()
    index = Index.open(folder / "index")
    (folder / "index" / "meaning").mkdir(exist_ok=True)
    generator = np.random.default_rng(14)
    for segment in index.segments:
        vectors = [
            PassageVectors(generator.integers(-99, 99, (2, 32)).astype(np.int8), np.ones(2, np.float32))
            for _ in range(segment.documents)
        ]
        prints = np.ones(segment.documents, np.uint64)
        write_vectors(vector_path(folder / "index", segment.name), segment, "made-0/1", prints, vectors, complete=True)
        assert segment_fingerprint(segment)
    (folder / "models").mkdir()
    nodes = np.zeros(3, np.int32), np.array([[1, 2], [-1, -2], [-2, -1]], np.int32)
    trees = Trees(nodes[0][:1], nodes[0], np.zeros(3), nodes[1], np.zeros(3), np.ones(2))
    write_model(folder / "models" / "m.model", TreeModel(trees, 1.0))
    (folder / "models" / "used.json").write_bytes(b'{"model":"m","format":1}')


class _Encoder:
    """An encoder that needs no model."""

    name, width = "made-0", 32

    def encode_query(self, words: str) -> Any:
        """Return any vector."""
        return np.random.default_rng(len(words)).standard_normal(32).astype(np.float32)


def _tolerate(operation: Callable[[], object], refused: list[str]) -> None:
    try:
        operation()
    except PeriplusError as error:
        refused.append(str(error))


def _search(folder: Path, refused: list[str]) -> None:
    from periplus.search import Searcher
    from periplus.settings import Settings

    searcher = Searcher.open(folder, Settings(folder=str(folder)))
    session = searcher._session
    assert session is not None
    _tolerate(session.suggester.ready, refused)
    for words in QUERIES:
        _tolerate(lambda words=words: searcher.search(Query(words, explain=True)), refused)  # type: ignore[misc]
    for query in (
        Query("sea", language="en", days=9000, safe=2, size=50),
        Query("fog", having="media"),
        Query("fog", having="news"),
        Query("sea fog", as_you_type=True, kinds=("text/html",)),
    ):
        _tolerate(lambda query=query: searcher.search(query), refused)  # type: ignore[misc]
    for typed in ("se", "harb", "haebour", "common", "t3 ", "coast.t", "灯"):
        _tolerate(lambda typed=typed: searcher.suggest(typed), refused)  # type: ignore[misc]
    for segment in session.index.segments:
        for key in segment.column("key")[:3].tolist():
            _tolerate(lambda key=key: searcher.cached_page(int(key)), refused)  # type: ignore[misc]


def _read_index(folder: Path, scratch: Path, refused: list[str]) -> None:
    from periplus.embeddings import EmbeddingSearcher
    from periplus.index import Index, check_index, documents_with, export_index, read_media
    from periplus.index.merge.segment_merger import merge_segments
    from periplus.settings import EmbeddingSettings, IndexSettings

    check_index(folder)
    index = Index.open(folder, verify=False)
    index.statistics()
    _tolerate(index.spelling.load, refused)
    index.spelling.find_candidates("harbuor")
    index.spelling.complete("ha", 5)
    index.spelling.count_pairs(["sea"], ["chart"])
    _tolerate(lambda: export_index(index, scratch / "export.arrays"), refused)
    for number, segment in enumerate(index.segments):
        _tolerate(lambda: merge_segments(scratch / f"merged-{number}", [segment], IndexSettings()), refused)  # noqa: B023
        for kind in ("media", "news"):
            _tolerate(lambda kind=kind: documents_with(segment, kind), refused)  # type: ignore[misc]  # noqa: B023
        for document in range(0, segment.documents, max(1, segment.documents // 5)):
            _tolerate(lambda document=document: read_media(segment, document), refused)  # type: ignore[misc]  # noqa: B023
            _tolerate(lambda document=document: segment.text(document), refused)  # type: ignore[misc]  # noqa: B023
    _tolerate(lambda: merge_segments(scratch / "merged", index.segments, IndexSettings()), refused)
    searcher = EmbeddingSearcher(index, EmbeddingSettings(enabled=True, on_demand=False), _Encoder())  # type: ignore[arg-type]
    query = searcher.encode_query("sea")
    if query is not None:
        nearest = searcher.find_nearest(query, 10)
        searcher.similarities(query, nearest.segments, nearest.documents)


def _read_graph(folder: Path, scratch: Path, refused: list[str]) -> None:
    from periplus.graph import Backlinks, Graph, learn_synonyms, read_synonyms

    def ranks() -> None:
        graph = Graph.open(folder)
        keys = np.array([fingerprint_text(f"https://coast.test/a/{n}") for n in range(400)], np.uint64)
        for operation in (graph.signals, graph.flags, graph.representatives, graph.static_ranks):
            operation(keys)
        for key in keys[:20].tolist():
            graph.anchors(key)
        graph.top_hosts(5)
        graph.top_pages(5)
        learn_synonyms(graph, scratch)
        graph.check()

    _tolerate(ranks, refused)
    _tolerate(lambda: read_synonyms(folder), refused)

    def links() -> None:
        backlinks = Backlinks.open(folder)
        backlinks.find_by_host("coast.test")
        for number in range(400):
            backlinks.find_by_url(fingerprint_text(f"https://coast.test/a/{number}"))

    _tolerate(links, refused)


def _read_store(folder: Path, refused: list[str]) -> None:
    from periplus.settings import StoreSettings
    from periplus.store import PageStore

    with PageStore.open(folder, StoreSettings()) as store:
        for number in range(0, 400, 40):
            _tolerate(lambda number=number: store.find(fingerprint_text(f"https://coast.test/a/{number}")), refused)  # type: ignore[misc]


def use_everything(folder: Path, scratch: Path, part: str = "") -> list[str]:
    """Open and use all of a data folder, or one part of it; return the errors that were raised on purpose."""
    from periplus.rank.ranking_model import read_model

    refused: list[str] = []
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    large = folder / "as-index"
    if not large.exists():
        large.mkdir()
        (large / "index").symlink_to(folder / "large")
    operations: tuple[tuple[str, Callable[[], object]], ...] = (
        ("index", lambda: _read_index(folder / "index", scratch, refused)),
        ("index", lambda: _search(folder, refused)),
        ("large", lambda: _read_index(folder / "large", scratch, refused)),
        ("large", lambda: _search(large, refused)),
        ("graph", lambda: _read_graph(folder / "graph", scratch, refused)),
        ("graph", lambda: _search(folder, refused)),
        ("models", lambda: read_model(folder / "models" / "m.model")),
        ("models", lambda: _search(folder, refused)),
        ("store", lambda: _read_store(folder / "store", refused)),
    )
    for name, operation in operations:
        if part in ("", name):
            _tolerate(operation, refused)
            shutil.rmtree(scratch)
            scratch.mkdir()
    return refused
