"""Vectors of the static model in segments: written by builds, live indexes and merges; optional; validated."""

from pathlib import Path

import numpy as np
import pytest

from formats.golden_files import GOLDEN, take_out
from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.hashing import fingerprint_text
from periplus.index import Index, LiveIndex, Segment, build_index, check_index, static_vectors
from periplus.index.merge.segment_merger import merge_segments
from periplus.index.static_vectors import embed_segment, stored_vectors
from periplus.rank.static_similarity import StaticSimilarity, fill_similarities
from periplus.records import Candidates, FetchRecord, Outcome, Page, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.static_embeddings import load_static_model

SETTINGS = Settings()
GERMAN = "Der Leuchtturmwärter schreibt über die Gezeiten und das Meer, und niemand liest seine Briefe."
ENGLISH = "The lighthouse keeper writes about the tides and the sea, and nobody reads his letters."


def record(number: int, text: str = ENGLISH, language: str = "en", title: str = "") -> FetchRecord:
    url = f"https://coast{number}.example/{number}"
    page = Page(url, title=title or f"Keeper {number}", text=text, language=language)
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 1e9, status=200, page=page)


def build(folder: Path, records: list[FetchRecord]) -> Index:
    build_index(records, folder, SETTINGS.index)
    return Index.open(folder)


def rows_of(segment: Segment) -> list[tuple[str, bytes]]:
    """Return the URL of each document and its vectors."""
    stored = stored_vectors(segment, load_static_model())
    assert stored is not None
    signs, start = stored
    urls = segment.strings("url")
    return sorted((url, signs[start[n] : start[n + 1]].tobytes()) for n, url in enumerate(urls))


def test_a_build_writes_the_vectors_of_what_it_stores(tmp_path: Path) -> None:
    texts = [f"{ENGLISH} " * (4 * number + 1) for number in range(6)]
    index = build(tmp_path, [record(number, text) for number, text in enumerate(texts)])
    segment = index.segments[0]
    passages = embed_segment(segment, load_static_model())
    stored = stored_vectors(segment, load_static_model())
    assert stored is not None
    assert np.array_equal(stored[0], passages.signs)
    assert np.array_equal(np.diff(stored[1]), passages.rows)
    assert passages.rows.min() >= 1
    assert passages.rows.max() > 1


def test_an_old_segment_is_embedded_in_bounded_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{ENGLISH} " * (9 if number == 3 else 1) for number in range(7)]
    segment = build(tmp_path, [record(number, text) for number, text in enumerate(texts)]).segments[0]
    whole = embed_segment(segment, load_static_model())
    sizes = [segment.stored_texts.length(number) for number in range(7)]
    for documents, most in ((3, 10**9), (1_024, 2 * min(sizes)), (1_024, 1)):
        monkeypatch.setattr(static_vectors, "_CHUNK", documents)
        monkeypatch.setattr(static_vectors, "_CHUNK_BYTES", most)
        runs = list(static_vectors._split_documents(segment))
        assert [number for run in runs for number in run] == list(range(7))
        assert all(len(run) <= documents for run in runs)
        assert all(len(run) == 1 or sum(sizes[run.start : run.stop]) <= most for run in runs)
        assert len(runs) > 1
        pieces = embed_segment(segment, load_static_model())
        assert np.array_equal(pieces.signs, whole.signs)
        assert np.array_equal(pieces.rows, whole.rows)


def test_pages_in_other_languages_have_no_vectors(tmp_path: Path) -> None:
    others = record(2, GERMAN * 3, "de", "Der Wärter"), record(3, "日本語 " * 20, "ja", "灯台")
    index = build(tmp_path, [record(1), *others, record(4, language="zxx")])
    sizes = {url[-1]: len(signs) for url, signs in rows_of(index.segments[0])}
    assert sizes["1"] > 0
    assert sizes["2"] == sizes["3"] == sizes["4"] == 0


def test_a_live_index_and_a_merge_keep_them(tmp_path: Path) -> None:
    index = build(tmp_path / "whole", [record(number) for number in range(5)])
    expected = rows_of(index.segments[0])
    live = tmp_path / "live"
    build(live, [record(number) for number in range(3)])
    with LiveIndex(live, SETTINGS.index) as writer:
        writer.add(record(3))
        writer.add(record(4))
        writer.publish()
    segments = Index.open(live).segments
    assert len(segments) == 2
    assert sorted(row for segment in segments for row in rows_of(segment)) == expected
    merge_segments(tmp_path / "merged" / "seg-000009-0000", segments, SETTINGS.index)
    assert rows_of(Segment(tmp_path / "merged" / "seg-000009-0000")) == expected


def test_a_merge_computes_what_an_earlier_version_did_not_write(tmp_path: Path) -> None:
    index = build(tmp_path / "new", [record(number) for number in range(4)])
    expected = rows_of(index.segments[0])
    path = next((tmp_path / "new").glob("seg-*/static_vectors.arrays"))
    path.unlink()
    old = Index.open(tmp_path / "new").segments[0]
    assert stored_vectors(old, load_static_model()) is None
    merge_segments(tmp_path / "merged" / "seg-000009-0000", [old], SETTINGS.index)
    assert rows_of(Segment(tmp_path / "merged" / "seg-000009-0000")) == expected


def test_vectors_of_another_model_are_not_used(tmp_path: Path) -> None:
    build(tmp_path, [record(1)])
    path = next(tmp_path.glob("seg-*/static_vectors.arrays"))
    file = ArrayFile(path, "static_vectors")
    arrays = {array: file[array].copy() for array in file.sizes()}
    write_arrays(path, "static_vectors", arrays, {"recipe": "another model"})
    assert stored_vectors(Index.open(tmp_path).segments[0], load_static_model()) is None


def test_an_index_of_the_model_of_256_components_opens_answers_and_merges(tmp_path: Path) -> None:
    """Its vectors are of another recipe: they are not used, and a merge computes all of them again."""
    folder, model = take_out(GOLDEN / "segments-v6", tmp_path / "old"), load_static_model()
    assert check_index(folder / "index") == []
    index = Index.open(folder / "index")
    file = index.segments[0].files["static_vectors"]
    assert file.notes["recipe"] != model.recipe
    assert file["signs"].shape[1] == 32
    assert [stored_vectors(segment, model) for segment in index.segments] == [None, None]
    hits = Searcher.open(folder, SETTINGS).search(Query("high tide of the old harbour")).hits
    assert "Tides" in [hit.title for hit in hits]
    merge_segments(tmp_path / "merged" / "seg-000009-0000", index.segments, SETTINGS.index)
    merged = Segment(tmp_path / "merged" / "seg-000009-0000")
    stored, expected = stored_vectors(merged, model), embed_segment(merged, model)
    assert stored is not None
    assert np.array_equal(stored[0], expected.signs)
    assert len(expected.signs) >= merged.documents > 0


@pytest.mark.parametrize("change", [-1, 1, 16])
def test_vectors_of_another_width_are_not_used_whatever_their_recipe(tmp_path: Path, change: int) -> None:
    expected = rows_of(build(tmp_path / "new", [record(1)]).segments[0])
    path = next((tmp_path / "new").glob("seg-*/static_vectors.arrays"))
    file = ArrayFile(path, "static_vectors")
    arrays = {array: file[array].copy() for array in file.sizes()}
    rows, width = arrays["signs"].shape
    arrays["signs"] = np.zeros((rows, width + change), np.uint8)
    write_arrays(path, "static_vectors", arrays, file.notes)
    index = Index.open(tmp_path / "new")
    assert stored_vectors(index.segments[0], load_static_model()) is None
    ids = np.zeros(1, np.int32)
    candidates = Candidates(ids, ids, np.ones(1, np.float32), 1, True, False)
    similarities = StaticSimilarity(index).measure("who keeps the lighthouse at night", candidates)
    assert similarities is not None
    assert np.isnan(similarities).all()
    assert not fill_similarities(similarities).any()
    merge_segments(tmp_path / "merged" / "seg-000009-0000", index.segments, SETTINGS.index)
    assert rows_of(Segment(tmp_path / "merged" / "seg-000009-0000")) == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("start", np.array([0, 9], np.uint32)),
        ("start", np.array([0], np.uint32)),
        ("signs", np.zeros((1, 0), np.uint8)),
        ("signs", np.zeros(24, np.uint8)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, name: str, values: np.ndarray) -> None:
    build(tmp_path, [record(1)])
    path = next(tmp_path.glob("seg-*/static_vectors.arrays"))
    file = ArrayFile(path, "static_vectors")
    arrays = {array: file[array].copy() for array in file.sizes()} | {name: values}
    write_arrays(path, "static_vectors", arrays, file.notes)
    with pytest.raises(CorruptFile, match="static_vectors"):
        Index.open(tmp_path)


def test_a_check_finds_a_changed_byte(tmp_path: Path) -> None:
    build(tmp_path, [record(1)])
    path = next(tmp_path.glob("seg-*/static_vectors.arrays"))
    raw = bytearray(path.read_bytes())
    raw[-32] ^= 1
    path.write_bytes(raw)
    assert any("static_vectors" in str(fault) for fault in check_index(tmp_path))
