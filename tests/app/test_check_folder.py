"""`periplus check`: every kind of file is claimed, and damage to any of them is reported and changes no answer."""

import json
from pathlib import Path
from types import ModuleType

import pytest

from periplus.app import FILE_KINDS, check_data_folder
from periplus.app.checking.file_kinds import PARTS, find_kind
from periplus.cli.entry import main
from periplus.crawl import CrawlStatistics
from periplus.crawl.crawl_status import status_now, write_status
from periplus.errors import BadInput, NothingHere

ROOT = Path(__file__).resolve().parents[2]


def test_a_flipped_bit_or_a_cut_in_any_kind_of_file_is_reported_and_changes_no_answer(damage: ModuleType) -> None:
    rows = damage.damage_every_file_kind(flips=8, cuts=2, seed=7)
    assert len(rows) >= 50
    for row in rows:
        assert row.missed + row.silent + row.tracebacks + row.hangs == 0, (row.kind, row.examples)


def test_an_intact_folder_has_no_faults_and_every_file_has_a_kind(searched: Path) -> None:
    result = check_data_folder(searched)
    assert result.faults == ()
    assert result.files == sum(path.is_file() and not path.name.startswith(".") for path in searched.rglob("*"))


def test_the_status_of_a_crawl_as_it_is_written_today_is_no_fault(searched: Path) -> None:
    crawl = searched / "crawl"
    is_new = not crawl.exists()
    crawl.mkdir(exist_ok=True)
    statistics = CrawlStatistics(3, 4, 1.5, {"gone": 1}, 10, 2, 1, 1, 9, 5.0)
    write_status(crawl, status_now("running", statistics))
    try:
        assert (crawl / "status.json").is_file()
        assert check_data_folder(searched).faults == ()
    finally:
        (crawl / "status.json").unlink()
        if is_new:
            crawl.rmdir()


def test_a_file_that_no_kind_claims_is_reported(searched: Path) -> None:
    stranger = searched / "store" / "notes.doc"
    stranger.write_text("mine")
    try:
        assert [fault.path for fault in check_data_folder(searched).faults] == ["store/notes.doc"]
        assert check_data_folder(searched, ("store",)).faults == ()
    finally:
        stranger.unlink()


def test_the_command_names_the_file_and_ends_with_1(searched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--folder", str(searched)]) == 0
    assert "no faults" in capsys.readouterr().out
    path = searched / "index" / "manifest.json"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"documents":30', b'"documents":31'))
    try:
        assert main(["check", "--folder", str(searched), "--json"]) == 1
        faults = json.loads(capsys.readouterr().out)["faults"]
        assert faults[0]["path"] == "index/manifest.json"
        assert main(["check", "--folder", str(searched), "store", "graph"]) == 0
        assert main(["check", "--folder", str(searched), "index"]) == 1
        captured = capsys.readouterr()
        assert "index/manifest.json" in captured.out + captured.err
    finally:
        path.write_bytes(whole)


def test_parts_and_folders_that_do_not_exist_are_refused(searched: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="parts"):
        check_data_folder(searched, ("parts",))
    with pytest.raises(NothingHere):
        check_data_folder(tmp_path / "none")


def test_every_kind_belongs_to_a_part_and_says_what_damage_means() -> None:
    assert {kind.part for kind in FILE_KINDS} == set(PARTS)
    assert all(kind.checksum and kind.verified and kind.meaning for kind in FILE_KINDS)
    for kind in FILE_KINDS:
        name = kind.pattern.replace("**/", "shard-01/").replace("*", "7")
        assert find_kind(name) is not None


def test_each_kind_of_file_is_listed_once() -> None:
    patterns = [kind.pattern for kind in FILE_KINDS]
    assert len(patterns) == len(set(patterns))
