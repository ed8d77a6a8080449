"""Ranking by the static model: pages that say the same in other words, and no effect where it knows nothing."""

from pathlib import Path

import msgspec
import numpy as np

from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index
from periplus.query import parse_query
from periplus.rank import FEATURES, Ranker, complete_features
from periplus.rank.static_similarity import StaticSimilarity, fill_similarities
from periplus.records import Candidates, FetchRecord, Outcome, Page
from periplus.search import rerank, retrieve
from periplus.settings import Settings

SETTINGS = Settings()
SIMILARITY = FEATURES.index("static_similarity")
TEXTS = {
    "medicine": "A doctor treats patients in the hospital, prescribes medicine and cures the sick of their illness.",
    "volcano": "A doctor of geology writes of the volcano, of lava and ash, and of eruptions that formed the island.",
    "music": "A doctor of music plays the violin in an orchestra, and composes symphonies for the concert hall.",
}


def record(name: str, text: str, language: str = "en") -> FetchRecord:
    url = f"https://{name}.example/"
    page = Page(url, title="Doctor", text=text, language=language)
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 1e9, status=200, page=page)


def build(folder: Path, records: list[FetchRecord]) -> Index:
    build_index(records, folder, SETTINGS.index)
    return Index.open(folder)


def first_host(index: Index, words: str, weight: float) -> str:
    ranker = Ranker(index, SETTINGS.rank, SETTINGS.embeddings, changes={"static_similarity": weight})
    tree = parse_query(words).tree
    assert tree is not None
    results = rerank(retrieve(ranker, ranker.plan(tree), 10), ranker.model, 10)
    segment = index.segments[int(results.segments[0])]
    return segment.string("url", int(results.documents[0]))


def candidates(index: Index) -> Candidates:
    documents = np.arange(index.segments[0].documents, dtype=np.int32)
    return Candidates(
        np.zeros_like(documents), documents, np.ones(len(documents), np.float32), len(documents), True, False
    )


def test_the_page_of_the_same_meaning_gains(tmp_path: Path) -> None:
    index = build(tmp_path, [record(name, text) for name, text in TEXTS.items()])
    for words, name in (("doctor physician clinic", "medicine"), ("doctor magma crater", "volcano")):
        assert name in first_host(index, words, 1.0)


def test_another_language_has_no_effect(tmp_path: Path) -> None:
    german = "Der Doktor behandelt Kranke im Krankenhaus und verschreibt ihnen Arznei gegen ihre Leiden."
    index = build(tmp_path, [record(f"de{number}", f"{german} {number}", "de") for number in range(3)])
    similarity = StaticSimilarity(index)
    values = similarity.measure("doctor hospital", candidates(index))
    assert values is not None
    assert np.isnan(values).all()
    assert not fill_similarities(values).any()
    assert similarity.measure("почему небо голубое", candidates(index)) is None
    ranker = Ranker(index, SETTINGS.rank, SETTINGS.embeddings)
    tree = parse_query("doktor krankenhaus").tree
    assert tree is not None
    assert not complete_features(retrieve(ranker, ranker.plan(tree), 10).features)[:, SIMILARITY].any()


def test_a_page_without_vectors_counts_as_the_mean_of_the_others(tmp_path: Path) -> None:
    records = [record(name, text) for name, text in TEXTS.items()]
    index = build(tmp_path, [*records, record("odd", "Доктор лечит больных в больнице. " * 5, "ru")])
    measured = StaticSimilarity(index).measure("doctor hospital", candidates(index))
    assert measured is not None
    values = fill_similarities(measured)
    urls = index.segments[0].strings("url")
    odd = next(number for number, url in enumerate(urls) if "odd" in url)
    others = [value for number, value in enumerate(values) if number != odd]
    assert abs(values[odd] - np.mean(others)) < 1e-6
    assert len({round(value, 6) for value in others}) == 3


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    index = build(tmp_path, [record(name, text) for name, text in TEXTS.items()])
    tree = parse_query("doctor hospital").tree
    assert tree is not None
    for mode, expected in (("off", False), ("static", True), ("auto", True)):
        ranker = Ranker(index, SETTINGS.rank, msgspec.structs.replace(SETTINGS.embeddings, semantic=mode))
        assert retrieve(ranker, ranker.plan(tree), 10).features[:, SIMILARITY].any() == expected


def test_an_index_of_an_earlier_version_is_ranked_without_it(tmp_path: Path) -> None:
    build(tmp_path, [record(name, text) for name, text in TEXTS.items()])
    next(tmp_path.glob("seg-*/static_vectors.arrays")).unlink()
    index = Index.open(tmp_path)
    values = StaticSimilarity(index).measure("doctor hospital", candidates(index))
    assert values is not None
    assert not fill_similarities(values).any()
