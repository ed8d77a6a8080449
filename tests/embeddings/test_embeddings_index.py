"""Vectors come to documents: all of them, once, in bounded steps, and no end of a process loses any."""

import itertools
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tiny_model import NaiveEncoder

from index.made_pages import random_visits, visit
from periplus.embeddings import EmbeddingSearcher, embed_index, embedding_searcher, vector_coverage, vector_file
from periplus.embeddings.embedding_log import EmbeddingLog
from periplus.embeddings.passages import cut_passages
from periplus.embeddings.vector_file import PassageVectors, open_vectors, vector_path
from periplus.errors import DiskFailed, FolderInUse
from periplus.files import lock_folder
from periplus.index import Index, LiveIndex, build_index
from periplus.settings import EmbeddingSettings, IndexSettings

SETTINGS = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4)


def made_index(folder: Path, count: int = 60, seed: int = 1) -> Path:
    build_index(iter(random_visits(seed, count)), folder / "index", IndexSettings())
    return folder / "index"


def all_vectors(folder: Path) -> dict[int, bytes]:
    """Return the vectors of each document by its key, as bytes."""
    found = {}
    for segment in Index.open(folder).segments:
        file = open_vectors(vector_path(folder, segment.name), segment)
        if file is not None:
            store = file.store
            for document in np.flatnonzero(segment.is_live):
                rows = store.rows[store.start[document] : store.start[document + 1]]
                if len(rows):
                    key = int(segment.column("key")[document])
                    found[key] = store.vectors[rows].tobytes() + store.scales[rows].tobytes()
    return found


def test_all_documents_get_vectors_and_the_nearest_is_found(tmp_path: Path) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    made = embed_index(folder, SETTINGS, encoder=encoder)
    index = Index.open(folder)
    assert made.documents == 60
    assert made.passages == encoder.encoded > 60
    assert vector_coverage(index).covered == 60
    searcher = EmbeddingSearcher(index, SETTINGS, encoder)
    segment = index.segments[0]
    text = f"{segment.string('title', 7)} {segment.text(7).decode()}"
    query = searcher.encode_query(text)
    near = searcher.find_nearest(query, 60)
    scores = searcher.similarities(query, near.segments, near.documents)
    assert np.allclose(near.scores, scores, atol=1e-6)
    assert (np.diff(near.scores) <= 0).all()
    assert len(set(near.documents.tolist())) == 60


def test_lists_of_neighbours_find_what_all_vectors_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    embed_index(folder, SETTINGS, encoder=encoder)
    exact = EmbeddingSearcher(Index.open(folder), SETTINGS, encoder)
    query = exact.encode_query("sea chart and fog")
    expected = exact.find_nearest(query, 8)
    monkeypatch.setattr(vector_file, "_MAX_ONE_LIST", 20)
    monkeypatch.setattr(embedding_searcher, "_MIN_ROWS", 1)
    for path in (folder / "meaning").glob("*.arrays"):
        path.unlink()
    embed_index(folder, SETTINGS, encoder=encoder)
    file = open_vectors(next((folder / "meaning").glob("*.arrays")))
    assert len(file.store.centres) > 5
    for share, least in ((1.0, 8), (0.5, 4)):
        some = EmbeddingSearcher(Index.open(folder), msgspec.structs.replace(SETTINGS, probe=share), encoder)
        found = some.find_nearest(some.encode_query("sea chart and fog"), 8)
        assert len(set(found.documents.tolist()) & set(expected.documents.tolist())) >= least
    assert np.allclose(some.similarities(query, expected.segments, expected.documents), expected.scores, atol=1e-6)


def test_the_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    embed_index(folder, SETTINGS, encoder=encoder)
    before = encoder.encoded
    again = embed_index(folder, SETTINGS, encoder=encoder)
    assert (again.documents, again.reused, encoder.encoded) == (0, 60, before)


def test_vectors_of_another_model_are_not_used_and_are_computed_again(tmp_path: Path) -> None:
    folder, encoder, other = made_index(tmp_path), NaiveEncoder(), NaiveEncoder()
    other.name = "other-0"
    embed_index(folder, SETTINGS, encoder=other)
    index = Index.open(folder)
    assert (vector_coverage(index).covered, vector_coverage(index, encoder.name).covered) == (60, 0)
    assert not vector_coverage(index, encoder.name).complete
    searcher = EmbeddingSearcher(index, SETTINGS, encoder)
    assert searcher.encode_query("sea chart") is None
    assert "of another model" in searcher.problem
    assert embed_index(folder, SETTINGS, encoder=encoder).documents == 60
    assert vector_coverage(index, encoder.name) == vector_coverage(index)
    assert EmbeddingSearcher(index, SETTINGS, encoder).encode_query("sea chart") is not None


def test_bounded_runs_go_on_where_the_last_one_ended(tmp_path: Path) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    bounded = msgspec.structs.replace(SETTINGS, documents=25)
    runs = [embed_index(folder, bounded, encoder=encoder) for _ in range(4)]
    assert [(run.documents, run.pending) for run in runs] == [(25, 35), (25, 10), (10, 0), (0, 0)]
    other = made_index(tmp_path / "other")
    embed_index(other, SETTINGS, encoder=encoder)
    assert all_vectors(folder) == all_vectors(other)


def test_vectors_outlive_the_segment_they_were_made_for(tmp_path: Path) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    embed_index(folder, SETTINGS, encoder=encoder)
    before = all_vectors(folder)
    visits = random_visits(1, 60)
    changed = visit(visits[3].url, "another title", "sea chart and nothing else")
    build_index(iter([*visits[:3], changed, *visits[4:]]), folder, IndexSettings())
    assert vector_coverage(Index.open(folder)).covered == 0, "another segment's vectors are not taken for one's own"
    made = embed_index(folder, SETTINGS, encoder=encoder)
    assert (made.documents, made.reused) == (1, 59)
    after = all_vectors(folder)
    assert {key for key in before if before[key] != after[key]} == {changed.key}
    assert len(list((folder / "meaning").glob("*.arrays"))) == len(Index.open(folder).segments)


def test_a_live_index_is_covered_as_far_as_it_was_embedded(tmp_path: Path) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    embed_index(folder, SETTINGS, encoder=encoder)
    with LiveIndex(folder, IndexSettings(), background=False) as live:
        live.add(visit("https://new.test/", "new", "a ship at sea"))
        live.publish()
    index = Index.open(folder)
    searcher = EmbeddingSearcher(index, SETTINGS, encoder)
    places = [(n, d) for n, s in enumerate(index.segments) for d in range(s.documents)]
    segments, documents = (np.array(part, np.int32) for part in zip(*places, strict=True))
    found = searcher.similarities(searcher.encode_query("ship at sea"), segments, documents)
    assert np.isnan(found).sum() == 1
    assert embed_index(folder, SETTINGS, encoder=encoder).documents == 1
    searcher = EmbeddingSearcher(Index.open(folder), SETTINGS, encoder)
    assert not np.isnan(searcher.similarities(searcher.encode_query("ship at sea"), segments, documents)).any()


def test_documents_in_other_languages_are_passed_over(tmp_path: Path) -> None:
    texts = {"de": "der Hafen und die See sind nicht weit von dem Turm", "en": "the sea and the ship of the line"}
    pages = []
    for code, text in texts.items():
        page = visit(f"https://{code}.test/", "", text)
        pages.append(msgspec.structs.replace(page, page=msgspec.structs.replace(page.page, language=code)))
    build_index(iter(pages), tmp_path / "index", IndexSettings())
    made = embed_index(tmp_path / "index", SETTINGS, encoder=NaiveEncoder())
    assert (made.documents, made.skipped) == (1, 1)


def test_on_demand_makes_what_a_query_needs_and_keeps_it(tmp_path: Path) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    lazy = msgspec.structs.replace(SETTINGS, on_demand=True)
    wanted = np.arange(10, dtype=np.int32)
    searcher = EmbeddingSearcher(Index.open(folder), lazy, encoder)
    query = searcher.encode_query("sea chart")
    found = searcher.similarities(query, np.zeros(10, np.int32), wanted)
    assert not np.isnan(found).any()
    before = encoder.encoded
    assert np.array_equal(searcher.similarities(query, np.zeros(10, np.int32), wanted), found)
    assert encoder.encoded == before
    del searcher
    made = embed_index(folder, SETTINGS, encoder=encoder)
    assert (made.documents, made.reused) == (50, 10)
    whole = EmbeddingSearcher(Index.open(folder), SETTINGS, encoder)
    query = whole.encode_query("sea chart")
    assert np.allclose(whole.similarities(query, np.zeros(10, np.int32), wanted), found, atol=1e-6)


def test_two_cannot_embed_at_once(tmp_path: Path) -> None:
    folder = made_index(tmp_path, 5)
    with lock_folder(folder / "meaning", "embed"), pytest.raises(FolderInUse):
        embed_index(folder, SETTINGS, encoder=NaiveEncoder())


@pytest.mark.parametrize("damage", ["cut", "flip", "other"])
def test_damaged_vectors_are_no_vectors_and_are_made_again(tmp_path: Path, damage: str) -> None:
    folder, encoder = made_index(tmp_path), NaiveEncoder()
    embed_index(folder, SETTINGS, encoder=encoder)
    expected = all_vectors(folder)
    path = next((folder / "meaning").glob("*.arrays"))
    raw = bytearray(path.read_bytes())
    if damage == "flip":
        raw[len(raw) // 2] ^= 1
    path.write_bytes(b"something else" if damage == "other" else raw[: len(raw) - (100 if damage == "cut" else 0)])
    index = Index.open(folder)
    assert vector_coverage(index).covered == 0
    searcher = EmbeddingSearcher(index, SETTINGS, encoder)
    assert searcher.encode_query("sea") is None
    assert "periplus index embed" in searcher.problem
    embed_index(folder, SETTINGS, encoder=encoder)
    assert all_vectors(folder) == expected


def test_killed_at_any_moment_nothing_is_lost(tmp_path: Path) -> None:
    folder, chance = made_index(tmp_path), random.Random(4)
    program = Path(__file__).parent / "slow_embedder.py"
    kept = 0
    for _ in range(3):
        lines = chance.randint(1, 4)
        child = subprocess.Popen([sys.executable, program, folder], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        told = [child.stdout.readline().strip() for _ in range(lines)]
        child.kill()
        child.wait()
        child.stdout.close()
        with EmbeddingLog(folder / "meaning" / "embedded.log", "made-0/16/4/2/whole", NaiveEncoder.width) as log:
            assert len(log) >= max(kept, int(told[-1]))
            kept = len(log)
    encoder = NaiveEncoder()
    made = embed_index(folder, SETTINGS, encoder=encoder)
    assert (made.documents, made.reused) == (60 - kept, kept)
    other = made_index(tmp_path / "other")
    embed_index(other, SETTINGS, encoder=encoder)
    assert all_vectors(folder) == all_vectors(other)


def some_vectors(seed: int, count: int) -> PassageVectors:
    chance = np.random.default_rng(seed)
    return PassageVectors(
        chance.integers(-127, 127, (count, 8)).astype(np.int8), chance.random(count).astype(np.float32)
    )


def test_a_log_that_was_cut_anywhere_keeps_all_whole_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    ends = []
    with EmbeddingLog(path, "recipe", 8) as log:
        for number in range(1, 6):
            log.append([number, number + 100], [some_vectors(number, 2), some_vectors(number + 100, 1)])
            ends.append(path.stat().st_size)
    raw = path.read_bytes()
    for cut in range(40, len(raw), 7):
        path.write_bytes(raw[:cut])
        with EmbeddingLog(path, "recipe", 8) as log:
            assert len(log) == 2 * sum(end <= cut for end in ends)
            log.append([999], [some_vectors(9, 1)])
        with EmbeddingLog(path, "recipe", 8) as log:
            assert np.array_equal(log.get(999).vectors, some_vectors(9, 1).vectors)
            for number in range(1, len(log) // 2 + 1):
                assert np.array_equal(log.get(number).scales, some_vectors(number, 2).scales)
    with EmbeddingLog(path, "another recipe", 8) as log:
        assert len(log) == 0


def test_a_damaged_block_costs_no_other(tmp_path: Path) -> None:
    path, ends = tmp_path / "a.log", []
    with EmbeddingLog(path, "recipe", 8) as log:
        for number in range(1, 6):
            log.append([number], [some_vectors(number, 2)])
            ends.append(path.stat().st_size)
    raw = bytearray(path.read_bytes())
    raw[ends[1] - 3] ^= 0x40
    path.write_bytes(raw)
    with EmbeddingLog(path, "recipe", 8) as log:
        assert [number for number in range(1, 7) if number in log] == [1, 3, 4, 5]
        log.append([6], [some_vectors(6, 2)])
    with EmbeddingLog(path, "recipe", 8) as log:
        assert [number for number in range(1, 7) if number in log] == [1, 3, 4, 5, 6]
        assert np.array_equal(log.get(5).vectors, some_vectors(5, 2).vectors)


def test_a_full_disk_loses_nothing_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    log = EmbeddingLog(path, "recipe", 8)
    log.append([1], [some_vectors(1, 2)])
    size = path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 60, before[1]))
    try:
        with pytest.raises(DiskFailed, match=r"a\.log"):
            log.append([2], [some_vectors(2, 200)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    log.append([3], [some_vectors(3, 2)])
    with EmbeddingLog(path, "recipe", 8) as again:
        assert [number for number in range(1, 4) if number in again] == [1, 3]


@pytest.mark.parametrize(("length", "count"), [(0, 1), (5, 1), (13, 1), (14, 2), (22, 2), (23, 3), (500, 3)])
def test_passages_cover_the_text_and_overlap(length: int, count: int) -> None:
    settings = EmbeddingSettings(passage_tokens=16, overlap=4, passages=3)
    text = list(range(100, 100 + length))
    found = cut_passages([7], text, settings)
    assert len(found) == count
    assert all(passage[0] == 7 and len(passage) <= 14 for passage in found)
    read = {piece for passage in found for piece in passage[1:]}
    assert read == set(text[:31])
    for one, other in itertools.pairwise(found):
        assert one[-4:] == other[1:5]
