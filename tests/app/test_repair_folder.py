"""`periplus repair`: what other files can restore is restored, the rest is named, and nothing is deleted."""

import json
import os
import random
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from periplus.app import check_data_folder, repair_data_folder
from periplus.cli.entry import main
from periplus.errors import FolderInUse, NothingHere
from periplus.files import lock_folder
from periplus.records import VisitReport
from periplus.settings import Settings
from periplus.signals import Judgement, LogPosition, append_visit_reports, read_judgements, read_visit_reports
from periplus.signals import write_judgement as write_one
from periplus.store import PageStore

ROOT = Path(__file__).resolve().parents[2]
RESTORED = (
    "periplus.json",
    "store/manifest.json",
    "graph/graph.arrays",
    "graph/backlinks.arrays",
    "graph/synonyms.arrays",
    "index/manifest.json",
    "index/journal-000001.log",
    "index/blocks.arrays",
    "index/seg-000001-0000/postings.arrays",
    "index/seg-000001-0000/text.arrays",
    "index/seg-000001-0000/documents.arrays",
    "index/seg-000001-0000/lexicon.arrays",
    "index/seg-000001-0000/words.arrays",
)


@pytest.fixture
def data(searched: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder."""
    return Path(shutil.copytree(searched, tmp_path / "data"))


def flip(path: Path, at: int | None = None) -> bytes:
    """Flip a bit of a file; return what it was."""
    before = path.read_bytes()
    at = random.Random(path.name).randrange(len(before) // 4, len(before)) if at is None else at
    path.write_bytes(before[:at] + bytes([before[at] ^ 2]) + before[at + 1 :])
    return before


def ranked(answers: dict[str, list[list[list[object]]]]) -> list[list[str]]:
    """Return the URLs of answers, in order."""
    return [sorted(str(hit[0]) for hit in hits) for hits in answers["answers"]]


@pytest.mark.parametrize("name", RESTORED)
def test_what_others_can_restore_is_restored(name: str, data: Path, damage: ModuleType) -> None:
    expected = damage.read_searched_folder(data)
    flip(data / name, 3 if "journal" in name else None)
    damaged = (data / name).read_bytes()
    assert check_data_folder(data).faults
    report = repair_data_folder(data, Settings(folder=str(data)))
    assert report.unrepaired == ()
    assert check_data_folder(data).faults == ()
    answers = damage.read_searched_folder(data)
    assert ranked(answers) == ranked(expected)
    assert answers["copies"] == expected["copies"]
    kept = [path for path in (data / "damaged").rglob("*") if path.is_file()]
    assert damaged in [path.read_bytes() for path in kept]
    assert repair_data_folder(data, Settings(folder=str(data))).faults == ()


def test_pages_of_a_damaged_frame_are_restored_from_their_responses(data: Path, damage: ModuleType) -> None:
    expected = damage.read_searched_folder(data)
    flip(data / "store" / "visits-00000.log", 900)
    report = repair_data_folder(data, Settings(folder=str(data)))
    assert report.unrepaired == ()
    assert check_data_folder(data).faults == ()
    answers = damage.read_searched_folder(data)
    assert sorted(answers["copies"]) == sorted(expected["copies"])
    assert ranked(answers) == ranked(expected)


def test_a_lost_copy_is_named_and_fetched_again(data: Path) -> None:
    settings = Settings(folder=str(data))
    with PageStore.open(data / "store", settings.store) as store:
        records = [record for record in store.records() if record.warc]
    lost = records[3]
    flip(data / "store" / lost.warc, lost.warc_offset + 60)
    report = repair_data_folder(data, settings)
    assert report.refetched == (lost.url,)
    assert [visit.url for visit in read_visit_reports(data, LogPosition())[0]] == [lost.url]
    assert check_data_folder(data).faults == ()
    with PageStore.open(data / "store", settings.store) as store:
        for record in records:
            if record.url == lost.url:
                with pytest.raises(NothingHere, match="damaged"):
                    store.read_response(record)
            else:
                assert store.read_response(record).body


def test_deleted_pages_stay_deleted(data: Path, damage: ModuleType) -> None:
    flip(data / "deleted.json", 60)
    report = repair_data_folder(data, Settings(folder=str(data)))
    assert any("deleted.json" in line for line in report.unrepaired)
    assert len(json.loads((data / "deleted.json").read_bytes())["pages"]) == 1


def test_damaged_lines_are_left_out_and_torn_tails_cut(data: Path) -> None:
    for number in range(3):
        write_one(data, Judgement(f"tide {number}", "http://a.test/", number))
        append_visit_reports(data, [VisitReport(f"http://a.test/{number}")])
    flip(data / "judgements.jsonl", 60)
    flip(data / "passive" / "visits-00000.log", 80)
    journal = next((data / "index").glob("journal-*.log"))
    journal.write_bytes(journal.read_bytes() + b"\x09\0\0\0ab")
    assert len(check_data_folder(data).faults) == 3
    report = repair_data_folder(data, Settings(folder=str(data)))
    assert report.unrepaired == ()
    assert check_data_folder(data).faults == ()
    assert len(read_judgements(data)) == 2
    assert len(read_visit_reports(data, LogPosition())[0]) == 2


def test_a_folder_in_use_is_left_alone_and_the_command_says_what_it_did(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(data / "graph" / "graph.arrays")
    with lock_folder(data, "index"), pytest.raises(FolderInUse):
        repair_data_folder(data, Settings(folder=str(data)))
    assert main(["repair", "--folder", str(data)]) == 0
    captured = capsys.readouterr()
    assert "graph" in captured.out + captured.err
    assert main(["repair", "--folder", str(data)]) == 0
    assert "nothing to repair" in capsys.readouterr().out


class _Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", [0, 1, 2, 3, 5, 8, 13])
def test_a_repair_that_was_killed_can_be_started_again(
    step: int, data: Path, damage: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = damage.read_searched_folder(data)
    flip(data / "store" / "visits-00000.log", 900)
    flip(data / "graph" / "backlinks.arrays")
    flip(data / "index" / "manifest.json")
    replace, calls = os.replace, 0

    def dying_replace(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls > step:
            raise _Killed
        replace(source, target)

    with monkeypatch.context() as patches:
        patches.setattr(os, "replace", dying_replace)
        with pytest.raises(_Killed):
            repair_data_folder(data, Settings(folder=str(data)))
    report = repair_data_folder(data, Settings(folder=str(data)))
    assert report.unrepaired == ()
    assert check_data_folder(data).faults == ()
    answers = damage.read_searched_folder(data)
    assert sorted(answers["copies"]) == sorted(expected["copies"])
    assert ranked(answers) == ranked(expected)
