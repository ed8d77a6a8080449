"""Embedding within a budget: what was left out is reported, and the encoder takes part where it has vectors."""

import time
from pathlib import Path

import msgspec
import pytest
from tiny_model import NaiveEncoder

from index.made_pages import random_visits
from periplus.app.jobs import embedding_jobs
from periplus.embeddings import embed_index, embedder
from periplus.embeddings.embedding_progress import PROGRESS_NAME, describe_progress, read_progress, write_progress
from periplus.index import Index, build_index
from periplus.rank import Ranker, uses_encoder
from periplus.search import Searcher
from periplus.settings import EmbeddingSettings, IndexSettings, RankSettings, Settings

SETTINGS = EmbeddingSettings(passage_tokens=16, overlap=4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_index(iter(random_visits(1, 40)), tmp_path / "index", IndexSettings())
    return tmp_path / "index"


class _Clock:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def test_a_budget_of_time_leaves_the_rest_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "_CHUNK", 4)
    monkeypatch.setattr(embedder, "time", _Clock())
    first = embed_index(folder, SETTINGS, encoder=NaiveEncoder(), seconds=8.0)
    assert 0 < first.documents < 40
    assert first.documents + first.pending == 40
    progress = read_progress(folder)
    assert progress is not None
    assert (progress.finished, progress.done, progress.total, progress.pending) == (True, 40, 40, first.pending)
    assert f"{first.pending} skipped by the limit of time" in describe_progress(progress)
    monkeypatch.undo()
    second = embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    assert (second.documents, second.pending) == (first.pending, 0)
    assert describe_progress(read_progress(folder)) == ""


def test_a_limit_of_pages_is_named(folder: Path) -> None:
    embed_index(folder, msgspec.structs.replace(SETTINGS, documents=7), encoder=NaiveEncoder())
    assert "33 skipped by the limit of 7 pages" in describe_progress(read_progress(folder))


def test_a_run_in_progress_is_reported_until_it_is_silent(folder: Path) -> None:
    assert describe_progress(read_progress(folder)) == ""
    (folder / "meaning").mkdir(exist_ok=True)
    write_progress(folder, 10, 40, 3, 0, "", finished=False)
    progress = read_progress(folder)
    assert progress is not None
    assert "embedding is at 10 of 40; 3 skipped" in describe_progress(progress)
    silent = msgspec.structs.replace(progress, when=time.time() - 3_600)
    assert "embedding is at" not in describe_progress(silent)


def test_a_damaged_report_is_none(folder: Path) -> None:
    embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    path = folder / "meaning" / PROGRESS_NAME
    path.write_bytes(path.read_bytes().replace(b"40", b"41", 1))
    assert read_progress(folder) is None


def test_the_encoder_takes_part_where_it_has_vectors(folder: Path) -> None:
    assert not uses_encoder(folder, EmbeddingSettings())
    assert uses_encoder(folder, EmbeddingSettings(enabled=True))
    embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    assert uses_encoder(folder, EmbeddingSettings())
    assert not uses_encoder(folder, EmbeddingSettings(semantic="static"))
    assert not uses_encoder(folder, EmbeddingSettings(semantic="off"))


@pytest.mark.parametrize("semantic", ["static", "off"])
def test_what_is_switched_off_is_off_though_enabled(folder: Path, semantic: str) -> None:
    embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    settings = EmbeddingSettings(semantic=semantic, enabled=True)
    assert not uses_encoder(folder, settings)
    assert not embedding_jobs.embeds_new_pages(Settings(embeddings=settings))
    assert Ranker(Index.open(folder), RankSettings(), settings).embeddings is None


def test_a_searcher_notices_the_first_vectors(folder: Path) -> None:
    searcher = Searcher.open(folder.parent, Settings())
    assert searcher._session is not None
    assert searcher._session.ranker.embeddings is None
    assert not searcher.refresh()
    embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    assert searcher.refresh()
    assert searcher._session.ranker.embeddings is not None
    assert not searcher.refresh()


def test_pages_are_embedded_in_the_background_where_there_is_a_model(tmp_path: Path) -> None:
    nowhere = EmbeddingSettings(model=str(tmp_path / "nowhere"))
    assert not embedding_jobs.embeds_new_pages(Settings(embeddings=nowhere))
    assert embedding_jobs.embeds_new_pages(Settings(embeddings=msgspec.structs.replace(nowhere, enabled=True)))
    assert not embedding_jobs.embeds_new_pages(Settings(embeddings=EmbeddingSettings(semantic="static")))


def test_a_budget_is_spent_and_none_is_no_limit() -> None:
    assert embedding_jobs._spend(60.0, 20.0, 60.0) == 40.0
    assert 0 < embedding_jobs._spend(10.0, 20.0, 60.0) < 0.01
    assert embedding_jobs._spend(0.0, 20.0, 0.0) == 0.0
