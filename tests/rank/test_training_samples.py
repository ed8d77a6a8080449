"""Samples are measured as queries are answered: with the pages that a query names, and with the settings in force."""

import numpy as np
import pytest

from periplus.app.jobs.model_training import _without_encoder
from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index
from periplus.rank import FEATURES, Ranker, Sample, collect_samples
from periplus.rank.training import _RISING
from periplus.records import FetchRecord, Outcome, Page
from periplus.search import retrieve_relaxed
from periplus.settings import EmbeddingSettings, IndexSettings, RankSettings, Settings

FILLER = "The keeper of the tower writes long letters about ships and the weather of the northern sea. "
NAMED = "https://sky.example/black-hole"


def record(url: str, title: str, text: str) -> FetchRecord:
    page = Page(url, title=title, text=text, language="en")
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 1e9, status=200, page=page)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("named") / "index"
    pages = [record(NAMED, "Black hole", "A region of space that light cannot leave. " * 3)]
    pages += [
        record(f"https://shop{n}.example/", f"Offer {n}", f"{FILLER * 2} Blackhole brand number {n}.") for n in range(6)
    ]
    build_index(iter(pages), folder, IndexSettings())
    return Index.open(folder)


def samples_of(index: Index, query: str, embeddings: EmbeddingSettings) -> list[Sample]:
    keys = {int(key): 0 for segment in index.segments for key in segment.column("key")}
    ranker = Ranker(index, RankSettings(learned=False), embeddings)
    return collect_samples(index, ranker, {query: keys | {fingerprint_text(NAMED): 4}}, retrieve_relaxed)


def test_pages_that_a_query_names_are_among_the_samples(index: Index) -> None:
    (sample,) = samples_of(index, "blackhole", EmbeddingSettings())
    row = sample.urls.index(NAMED)
    assert sample.grades[row] == 4
    assert sample.rows[row, FEATURES.index("name")] > 0


def test_samples_have_no_static_similarity_where_it_is_off(index: Index) -> None:
    query, column = (
        "region of space that light cannot leave or the weather of the sea",
        FEATURES.index("static_similarity"),
    )
    for semantic, measured in (("auto", True), ("static", True), ("off", False)):
        settings = Settings(embeddings=EmbeddingSettings(semantic=semantic, enabled=True))
        (sample,) = samples_of(index, query, _without_encoder(settings))
        assert bool(np.any(sample.rows[:, column])) == measured, semantic


def test_the_encoder_takes_no_part_in_samples(index: Index) -> None:
    for semantic in ("auto", "static", "off"):
        settings = Settings(embeddings=EmbeddingSettings(semantic=semantic, enabled=True))
        assert Ranker(index, RankSettings(), _without_encoder(settings)).embeddings is None


def test_similarities_names_and_passages_speak_only_for_a_page() -> None:
    assert set(_RISING) <= set(FEATURES)
    assert {"name", "mentions", "passage", "passage_body", "title_body", "static_similarity"} <= set(_RISING)
