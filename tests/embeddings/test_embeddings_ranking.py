"""Meaning takes part in ranking where it can, and where it cannot nothing changes."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from tiny_model import NaiveEncoder

from index.made_pages import random_visits, visit
from periplus.embeddings import EmbeddingSearcher, embed_index, embedding_status, missing_packages
from periplus.index import Index, build_index
from periplus.query import BagOfWords, parse_query, query_text
from periplus.rank import Ranker
from periplus.records import Query
from periplus.search import Searcher, rerank, retrieve
from periplus.settings import EmbeddingSettings, IndexSettings, RankSettings, Settings

SETTINGS = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4, nearest=5, candidates=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ranking") / "index"
    odd = visit("https://odd.test/", "zebra", "zebra quagga okapi")
    build_index(iter([*random_visits(2, 80), odd]), place, IndexSettings())
    embed_index(place, SETTINGS, encoder=NaiveEncoder())
    return place


def ranker(folder: Path, settings: EmbeddingSettings) -> Ranker:
    """Make a ranker whose encoder is the naive one."""
    index = Index.open(folder)
    made = Ranker(index, RankSettings(), settings)
    if made.embeddings is not None:
        made.embeddings._meaning = EmbeddingSearcher(index, settings, NaiveEncoder())
    return made


def order(made: Ranker, words: str, k: int = 100) -> tuple[list[tuple[int, int]], np.ndarray]:
    found = rerank(retrieve(made, made.plan(parse_query(words).tree), k), made.model, k)
    return list(zip(found.segments.tolist(), found.documents.tolist(), strict=True)), found.scores


@pytest.mark.parametrize(
    ("words", "text", "plain"),
    [
        ("what is the sea", "what is the sea", True),
        ("sea -fog", "sea", False),
        ('"light house" keeper', "keeper light house", False),
        ("sea OR fog", "sea fog", False),
        ("sea site:coast.test", "sea", False),
        ("-fog", "", False),
        ("intitle:sea", "sea", False),
    ],
)
def test_what_was_said(words: str, text: str, plain: bool) -> None:
    tree = parse_query(words).tree
    assert sorted(query_text(tree).split()) == sorted(text.split())
    assert isinstance(tree, BagOfWords) is plain


def test_meaning_changes_the_order_and_weight_zero_does_not(folder: Path) -> None:
    off = order(ranker(folder, EmbeddingSettings(semantic="static")), "sea chart fog")[0]
    none = msgspec.structs.replace(SETTINGS, weight=0.0, nearest=0)
    assert order(ranker(folder, none), "sea chart fog")[0] == off
    heavy = msgspec.structs.replace(SETTINGS, weight=50.0, nearest=0)
    on, scores = order(ranker(folder, heavy), "sea chart fog")
    assert on != off
    assert sorted(on) == sorted(off)
    assert sorted(on[:10]) == sorted(off[:10]), "only the best candidates are looked at"
    assert (np.diff(scores) <= 0).all()


def test_with_all_weight_on_meaning_the_nearest_candidate_is_first(folder: Path) -> None:
    heavy = msgspec.structs.replace(SETTINGS, weight=1000.0, nearest=0, candidates=100)
    index = Index.open(folder)
    searcher = EmbeddingSearcher(index, heavy, NaiveEncoder())
    found = order(ranker(folder, heavy), "sea chart fog")[0]
    segments, documents = (np.array(part, np.int32) for part in zip(*found, strict=True))
    near = searcher.similarities(searcher.encode_query("sea chart fog"), segments, documents)
    near = near[~np.isnan(near)]  # A page without text has no embedding.
    assert (np.diff(near) <= 2e-3).all(), "words count a thousandth"


def test_near_documents_join_plain_words_only(folder: Path) -> None:
    words = "zebra"
    alone = order(ranker(folder, EmbeddingSettings(semantic="static")), words)[0]
    assert len(alone) == 1
    joined = order(ranker(folder, SETTINGS), words)[0]
    assert len(joined) >= 5
    assert joined[0] == alone[0]
    assert order(ranker(folder, SETTINGS), "zebra site:odd.test")[0] == alone
    assert order(ranker(folder, SETTINGS), "+zebra quagga -sea")[0] == alone


def test_k_is_kept_to(folder: Path) -> None:
    assert len(order(ranker(folder, SETTINGS), "sea", 3)[0]) == 3


@pytest.mark.parametrize("words", ["sea chart", "nowhere-at-all", "-sea", "*", "x" * 5_000])
def test_without_model_or_vectors_nothing_changes(tmp_path: Path, words: str) -> None:
    build_index(iter(random_visits(3, 30)), tmp_path / "index", IndexSettings())
    lacking = EmbeddingSettings(enabled=True, model=str(tmp_path / "nowhere"))
    plain, off = Settings(), Searcher.open(tmp_path, Settings())
    on = Searcher.open(tmp_path, msgspec.structs.replace(plain, embeddings=lacking))
    expected, found = off.search(Query(words)), on.search(Query(words))
    assert [(hit.url, hit.score) for hit in found.hits] == [(hit.url, hit.score) for hit in expected.hits]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    build_index(iter(random_visits(3, 10)), tmp_path / "index", IndexSettings())
    lacking = EmbeddingSettings(enabled=True, model=str(tmp_path / "nowhere"))
    found = embedding_status(tmp_path / "index", lacking)
    assert not found.usable
    assert ("periplus doctor" if missing_packages() else "periplus embeddings fetch") in found.advice
    index = Index.open(tmp_path / "index")
    made = Ranker(index, RankSettings(), lacking)
    retrieved = retrieve(made, made.plan(parse_query("sea").tree), 10)
    assert retrieved.similarities is None
    assert retrieved.nearest is None
    assert rerank(retrieved, made.model, 10).embedding_points is None
    assert made.embeddings is not None
    assert made.embeddings.problem


def test_what_meaning_adds_can_be_told(folder: Path) -> None:
    made, off = ranker(folder, SETTINGS), ranker(folder, EmbeddingSettings(semantic="off"))
    tree = parse_query("sea chart fog").tree
    plan = made.plan(tree)
    found = rerank(retrieve(made, plan, 3), made.model, 3)
    words = rerank(retrieve(off, off.plan(tree), 100), off.model, 100)
    alone = dict(zip(zip(words.segments.tolist(), words.documents.tolist(), strict=True), words.scores, strict=True))
    assert found.embedding_points is not None
    points = found.embedding_points.tolist()
    for segment, document, score, added in zip(found.segments, found.documents, found.scores, points, strict=True):
        assert score == pytest.approx(alone[segment, document] + added, rel=1e-5)
        assert dict(made.explain(plan, int(segment), int(document), added))["meaning"] == pytest.approx(added)
