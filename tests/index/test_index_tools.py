"""check, repair and export."""

import json
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import random_visits, visit
from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import DataError
from periplus.index import Index, LiveIndex, build_index, check_index, export_index, repair_index
from periplus.records import FetchRecord, Outcome
from periplus.settings import IndexSettings
from periplus.store import read_lines

SETTINGS = IndexSettings()
PARTS = ("lexicon", "postings", "documents", "text")


def titles(folder: Path) -> dict[str, str]:
    index = Index.open(folder)
    pairs = [(s, n) for s in index.segments for n in range(s.documents) if s.is_live[n]]
    return {s.string("url", n): s.string("title", n) for s, n in pairs}


def damage(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0x55
    raw[200] ^= 0x55
    path.write_bytes(raw)


def three_segments(folder: Path, visits: list[FetchRecord]) -> list[Path]:
    for start in range(0, 60, 20):
        build_index(visits[start : start + 20], folder, SETTINGS, append=True)
    return sorted(folder.glob("seg-*"))


@pytest.mark.parametrize("part", PARTS)
def test_damaged_segments_are_restored_from_the_store(tmp_path: Path, part: str) -> None:
    visits = [visit(f"https://a.test/{n}", f"page {n}", "sea chart") for n in range(60)]
    segments = three_segments(tmp_path, visits)
    whole = titles(tmp_path)
    damage(segments[1] / f"{part}.arrays")
    assert check_index(tmp_path)
    done = repair_index(visits, tmp_path, SETTINGS)
    assert len(done.faults) == 1
    assert part in done.faults[0]
    assert (done.intact, done.restored, done.missing) == (2, 20, 0)
    assert titles(tmp_path) == whole
    assert check_index(tmp_path) == []
    assert segments[0].is_dir()
    assert not segments[1].exists()
    assert repair_index(visits, tmp_path, SETTINGS).faults == ()
    assert Index.open(tmp_path).manifest.record_count == 60


def test_lost_files_and_a_lost_manifest_are_restored(tmp_path: Path) -> None:
    visits = random_visits(3, 60)
    segments = three_segments(tmp_path, visits)
    whole = titles(tmp_path)
    for path in segments[2].iterdir():
        path.unlink()
    assert repair_index(visits, tmp_path, SETTINGS).restored == 20
    assert titles(tmp_path) == whole
    (tmp_path / "manifest.json").write_bytes(b"{")
    done = repair_index(visits, tmp_path, SETTINGS)
    assert (done.intact, done.restored) == (0, 60)
    assert titles(tmp_path) == whole
    assert Index.open(tmp_path).manifest.record_count == 60


def test_repair_brings_nothing_back_that_was_deleted_or_replaced(tmp_path: Path) -> None:
    visits = [visit(f"https://a.test/{n}", f"page {n}") for n in range(20)]
    build_index(visits, tmp_path, SETTINGS)
    first = next(tmp_path.glob("seg-*"))
    newer = visit(visits[0].url, "newer")
    gone = FetchRecord(visits[1].url, visits[1].key, Outcome.GONE, 2e6, 404)
    with LiveIndex(tmp_path, SETTINGS, background=False) as live:
        live.add(newer)
        live.add(gone)
        live.delete(visits[2].url)
        live.publish()
    whole = titles(tmp_path)
    assert len(whole) == 18
    damage(first / "postings.arrays")
    done = repair_index([*visits, newer, gone], tmp_path, SETTINGS)
    assert (done.intact, done.restored) == (1, 17)
    assert titles(tmp_path) == whole


def test_what_the_store_has_not_is_counted_and_set_aside(tmp_path: Path) -> None:
    visits = [visit(f"https://a.test/{n}", f"page {n}") for n in range(60)]
    segments = three_segments(tmp_path, visits)
    damage(segments[0] / "text.arrays")
    with pytest.raises(DataError, match="no page store"):
        repair_index(None, tmp_path, SETTINGS)
    assert segments[0].is_dir()
    done = repair_index(visits[5:], tmp_path, SETTINGS)
    assert (done.restored, done.missing) == (15, 5)
    assert len(titles(tmp_path)) == 55
    assert (tmp_path / f"damaged-{segments[0].name}").is_dir()


def test_a_segment_of_another_layout_says_what_to_do(tmp_path: Path) -> None:
    [segment] = three_segments(tmp_path, random_visits(3, 20))[:1]
    path = segment / "postings.arrays"
    whole = ArrayFile(path, "postings")
    write_arrays(path, "postings", {name: whole[name] for name in ("stream", "positions", "wide")})
    with pytest.raises(DataError, match=r"no array 'skip_block'.*periplus index build"):
        Index.open(tmp_path)
    assert any("periplus index build" in fault for fault in check_index(tmp_path))


def test_a_file_that_is_no_journal_is_a_fault(tmp_path: Path) -> None:
    with LiveIndex(tmp_path, SETTINGS, background=False) as live:
        live.add(visit("https://a.test/", "sea"))
    assert check_index(tmp_path) == []
    path = next(tmp_path.glob("journal-*.log"))
    path.write_bytes(b"something else entirely")
    assert any("journal" in fault for fault in check_index(tmp_path))


@pytest.mark.parametrize("name", ["bounds.jsonl", "bounds.jsonl.zst"])
def test_exported_bounds_are_those_of_every_posting(tmp_path: Path, name: str) -> None:
    visits = random_visits(9, 300)
    build_index(visits[:200], tmp_path / "index", SETTINGS)
    build_index(visits[200:], tmp_path / "index", SETTINGS, append=True)
    index = Index.open(tmp_path / "index")
    about = export_index(index, tmp_path / name)
    head, *lines = [json.loads(line) for line in read_lines(tmp_path / name)]
    assert (head["documents"], head["indexed"], head["terms"]) == (300, 300, len(lines))
    assert head["tokens"]["body"] + head["tokens"]["boilerplate"] == sum(
        len(v.page.text.split()) for v in visits if v.page
    )
    assert about.terms == len(lines)
    assert [line[0] for line in lines] == sorted(line[0] for line in lines)
    for term, frequency, highest in lines:
        found = [(s, place) for s in index.segments if (place := s.find_term(term.encode()))]
        impacts = [s.positions(place, n)[1] for s, place in found for n in range(s.documents)]
        assert frequency == sum(impact > 0 for impact in impacts)
        assert highest == max(impacts)


def test_exported_arrays_say_the_same(tmp_path: Path) -> None:
    build_index(random_visits(9, 50), tmp_path / "index", SETTINGS)
    index = Index.open(tmp_path / "index")
    export_index(index, tmp_path / "bounds.jsonl")
    export_index(index, tmp_path / "bounds.arrays")
    file = ArrayFile(tmp_path / "bounds.arrays", "bounds")
    file.check()
    _, *lines = [json.loads(line) for line in (tmp_path / "bounds.jsonl").read_text().splitlines()]
    assert file["frequency"].tolist() == [line[1] for line in lines]
    assert file["max_impact"].tolist() == [line[2] for line in lines]
    raw, starts = file["term_blob"].tobytes(), file["term_start"]
    assert [raw[a:b].decode() for a, b in np.column_stack([starts[:-1], starts[1:]]).tolist()] == [
        line[0] for line in lines
    ]
    assert file.notes["documents"] == 50


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from periplus.cli import main

    monkeypatch.chdir(tmp_path)
    pages = [{"url": f"http://a.example/{n}", "title": f"Page {n}", "text": "harbour lights"} for n in range(30)]
    Path("pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    assert main(["import", "pages.jsonl"]) == 0
    assert main(["index", "repair"]) == 0
    assert "nothing to repair" in capsys.readouterr().out
    damage(next(Path("periplus-data/index").glob("seg-*")) / "postings.arrays")
    assert main(["index", "check"]) == 1
    assert "periplus index repair" in capsys.readouterr().err
    assert main(["index", "repair"]) == 0
    assert "30 pages indexed again" in capsys.readouterr().out
    assert main(["index", "check"]) == 0
    assert main(["index", "export", "bounds.jsonl.zst"]) == 0
    assert "terms of 30 pages" in capsys.readouterr().out
    assert len(list(read_lines(Path("bounds.jsonl.zst")))) > 30
    assert main(["index", "stats"]) == 0
    assert "30 pages from 1 host" in capsys.readouterr().out
    damage(next(Path("periplus-data/index").glob("seg-*")) / "postings.arrays")
    Path("periplus-data/store").rename("elsewhere")
    assert main(["index", "repair"]) == 1
    assert "no page store" in capsys.readouterr().err
