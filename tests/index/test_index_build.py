"""Building, extending and reading an index; what a crash or a damaged disk does to it."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import Ranks, random_visits, visit
from naive.engine import split_body
from periplus.checksums import add_checksum
from periplus.errors import CorruptFile, DiskFailed, FolderInUse, NewerFormat, NothingHere
from periplus.files import lock_folder
from periplus.index import Index, build_index, check_index
from periplus.index.builder.index_builder import max_batch_bytes
from periplus.records import FetchRecord, Outcome
from periplus.settings import IndexSettings

SETTINGS = IndexSettings()


def urls(index: Index) -> list[str]:
    return [s.string("url", n) for s in index.segments for n in range(s.documents) if s.is_live[n]]


def test_documents_come_back_as_they_went_in(tmp_path: Path) -> None:
    visits = random_visits(3, 100)
    counted = build_index(visits, tmp_path, SETTINGS)
    index = Index.open(tmp_path)
    assert counted.documents == index.documents == 100
    texts = {s.string("url", n): s.text(n).decode() for s in index.segments for n in range(s.documents)}
    assert texts == {v.url: split_body(v.page)[0] for v in visits if v.page}
    titles = {s.string("url", n): s.string("title", n) for s in index.segments for n in range(s.documents)}
    assert all(titles[v.url] == (v.page.title or v.page.headings[0] or v.url) for v in visits if v.page)


def test_good_pages_are_numbered_first(tmp_path: Path) -> None:
    visits = random_visits(4, 100)
    ranks = {v.key: n / 100 for n, v in enumerate(visits)}
    build_index(visits, tmp_path, SETTINGS, Ranks(ranks))
    static = Index.open(tmp_path).segments[0].column("static")
    assert static[:25].min() >= static[25:].max()


def test_what_must_not_be_found_is_left_out(tmp_path: Path) -> None:
    kept = visit("https://a.test/", "sea")
    failed = FetchRecord("https://b.test/", 2, Outcome.GONE, 0.0, 404)
    copy = FetchRecord("https://c.test/", 3, Outcome.OK, 0.0, 200, page=kept.page, duplicate_of=kept.url)
    hidden = visit("https://d.test/", "sea", noindex=True)
    build_index([kept, failed, copy, hidden], tmp_path, SETTINGS)
    index = Index.open(tmp_path)
    assert urls(index) == [kept.url]
    assert index.manifest.record_count == 4


def test_the_last_visit_of_a_page_wins_within_and_between_segments(tmp_path: Path) -> None:
    old, new, newest = (visit("https://a.test/", title) for title in ("old", "new", "newest"))
    other = visit("https://b.test/", "other")
    build_index([old, other, new], tmp_path, SETTINGS)
    assert [Index.open(tmp_path).segments[0].string("title", n) for n in range(2)] == ["new", "other"]
    build_index([newest], tmp_path, SETTINGS, append=True)
    index = Index.open(tmp_path)
    assert index.documents == 2
    assert sorted(urls(index)) == ["https://a.test/", "https://b.test/"]
    assert index.segments[1].string("title", 0) == "newest"
    assert index.manifest.record_count == 4


@pytest.mark.parametrize("workers", [1, 2])
def test_batches_that_fit_into_memory_become_one_segment(tmp_path: Path, workers: int) -> None:
    visits = [visit(f"https://a.test/{n}", "", f"sea{n} " + "sea " * 30_000) for n in range(60)]
    again, gone = visit("https://a.test/0", "new", "land"), FetchRecord(visits[1].url, visits[1].key, Outcome.GONE, 0.0)
    few = IndexSettings(memory_mb=64)
    assert sum(len(v.page.text) for v in visits if v.page) > 1.5 * max_batch_bytes(few)
    build_index([*visits, again, gone], tmp_path, few, workers=workers)
    index = Index.open(tmp_path)
    assert len(index.segments) == len(list(tmp_path.glob("seg-*"))) == 1
    assert index.documents == index.segments[0].documents == 59
    assert [index.document_frequency(term) for term in (b"sea", b"sea0", b"sea1", b"sea59", b"land")] == [
        58,
        0,
        0,
        1,
        1,
    ]
    assert check_index(tmp_path) == []


def test_an_index_of_nothing_is_an_index(tmp_path: Path) -> None:
    build_index([], tmp_path, SETTINGS)
    index = Index.open(tmp_path)
    assert index.documents == 0
    assert index.document_frequency(b"sea") == 0
    assert check_index(tmp_path) == []
    assert index.statistics().bytes == 0


def test_pages_without_text_and_with_very_long_ones(tmp_path: Path) -> None:
    build_index(
        [visit("https://a.test/"), visit("https://b.test/", "t" * 100_000, "x" * 2_000_000)], tmp_path, SETTINGS
    )
    assert check_index(tmp_path) == []
    assert Index.open(tmp_path).documents == 2


def test_no_index_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NothingHere, match="periplus index build"):
        Index.open(tmp_path)


def test_a_reader_keeps_its_generation_while_a_new_one_is_built(tmp_path: Path) -> None:
    build_index([visit("https://a.test/", "sea", "old text")], tmp_path, SETTINGS)
    index = Index.open(tmp_path)
    assert not index.has_newer_generation()
    build_index([visit("https://b.test/", "land", "new text")], tmp_path, SETTINGS)
    assert index.has_newer_generation()
    assert index.segments[0].text(0) == b"old text"
    assert urls(Index.open(tmp_path)) == ["https://b.test/"]
    assert len(list(tmp_path.glob("seg-*"))) == 1


def test_a_build_that_dies_leaves_the_old_index(tmp_path: Path) -> None:
    build_index([visit("https://a.test/", "sea")], tmp_path, SETTINGS)

    def dying() -> object:
        yield visit("https://b.test/", "land")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(dying(), tmp_path, IndexSettings(memory_mb=64))  # type: ignore[arg-type]
    assert urls(Index.open(tmp_path)) == ["https://a.test/"]
    shutil.copytree(next(tmp_path.glob("seg-*")), tmp_path / "seg-000009-0000")  # a segment no manifest names
    build_index([visit("https://c.test/", "sky")], tmp_path, SETTINGS)
    assert urls(Index.open(tmp_path)) == ["https://c.test/"]
    assert not (tmp_path / "seg-000009-0000").exists()


def test_a_build_that_finds_the_disk_full_gives_back_what_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index([visit("https://a.test/", "sea")], tmp_path, IndexSettings())
    before = sorted(tmp_path.rglob("*"))

    def full(folder: Path, *_: object) -> None:
        assert len(list(folder.glob("seg-*"))) == 2
        raise DiskFailed("The disk is full.")

    monkeypatch.setattr("periplus.index.builder.index_builder.write_late_news", full)
    with pytest.raises(DiskFailed):
        build_index([visit("https://b.test/", "sea")], tmp_path, IndexSettings())
    assert sorted(tmp_path.rglob("*")) == before
    assert check_index(tmp_path) == []


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with lock_folder(tmp_path, "index"), pytest.raises(FolderInUse):
        build_index([], tmp_path, SETTINGS)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    build_index([visit("https://a.test/", "sea")], tmp_path, SETTINGS)
    manifest = tmp_path / "manifest.json"
    manifest.write_bytes(add_checksum(b'{"format":99,"later":1}'))
    with pytest.raises(NewerFormat, match="99"):
        Index.open(tmp_path)


@pytest.mark.parametrize("part", ["lexicon", "postings", "documents", "text"])
def test_damage_is_named_and_never_searched(tmp_path: Path, part: str) -> None:
    build_index(random_visits(5, 80), tmp_path, SETTINGS)
    path = next(tmp_path.glob("seg-*")) / f"{part}.arrays"
    whole = path.read_bytes()
    chance = np.random.default_rng(1)
    harmless = 0
    for _ in range(25):
        at = int(chance.integers(len(whole)))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(chance.integers(8)))]) + whole[at + 1 :])
        try:
            Index.open(tmp_path)
        except (CorruptFile, NewerFormat) as error:
            assert part in str(error)  # noqa: PT017 - either way is right, for padding carries no data
        else:
            harmless += 1
        finally:
            path.write_bytes(whole)
    assert harmless < 13
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptFile, match=part):
        Index.open(tmp_path)
    assert any(part in fault for fault in check_index(tmp_path))


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    build_index([visit("https://a.test/", "sea")], tmp_path, SETTINGS)
    for garbage in (b"", b"{", b"[]", b'{"format": "x"}', b"\xff\xfe", os.urandom(50)):
        (tmp_path / "manifest.json").write_bytes(garbage)
        with pytest.raises(CorruptFile, match="manifest"):
            Index.open(tmp_path)
