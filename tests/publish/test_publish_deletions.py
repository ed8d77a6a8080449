"""What somebody deleted stays deleted: after builds, repairs, new visits and kills, until it is let in again."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from index.made_pages import visit
from periplus.cli import main
from periplus.errors import BadInput, BadUrl, CorruptFile, NewerFormat
from periplus.files import lock_folder
from periplus.index import LiveIndex
from periplus.publish import DeletionList, Inbox, background_publisher, make_published_record, publish_pending
from periplus.records import Outcome, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PageStore

A, B, C = (f"https://{name}.test/tide" for name in "abc")
PAGES = [visit(url, "Tide " + url[8], f"The tide at {url[8]} comes in.") for url in (A, B, C)]


@pytest.fixture
def data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "data"
    with PageStore.open(folder / "store", Settings().store, write=True) as store:
        for page in PAGES:
            store.append(page, None)
        store.commit()
    run(folder, "build")
    capsys.readouterr()
    return folder


def run(folder: Path, *arguments: str) -> int:
    return main(["index", *arguments, "--folder", str(folder)])


def found(folder: Path) -> list[str]:
    return sorted(hit.url for hit in Searcher.open(folder, Settings()).search(Query("tide")).hits)


def test_a_deleted_page_stays_out_of_every_build_until_it_is_let_in(data: Path, capsys) -> None:
    assert found(data) == [A, B, C]
    assert run(data, "delete", "https://A.test:443/tide#part", C) == 0
    assert found(data) == [B]
    assert Searcher.open(data, Settings()).page_status(A).reason == "deleted"
    for _ in range(2):
        assert run(data, "build") == 0
        assert found(data) == [B]
    shutil.rmtree(data / "index")
    assert run(data, "build") == 0
    assert found(data) == [B]
    capsys.readouterr()
    assert run(data, "delete", "--json") == 0
    assert sorted(json.loads(capsys.readouterr().out)) == [A, C]
    assert run(data, "delete", "--undo", A) == 0
    assert found(data) == [A, B], "at once"
    run(data, "build")
    assert found(data) == [A, B]
    assert run(data, "delete", "--undo", A) == 0, "nothing to undo is no error"


def test_deleting_a_page_that_is_not_here_keeps_it_out_later(data: Path) -> None:
    new = visit("https://new.test/", "New tide", "A new tide.")
    assert run(data, "delete", new.url) == 0
    with PageStore.open(data / "store", Settings().store, write=True) as store:
        store.append(new, None)
        store.commit()
    run(data, "build")
    assert found(data) == [A, B, C]


def test_bad_input_is_told_and_changes_nothing(data: Path, capsys) -> None:
    for arguments in (["delete", "not a url"], ["delete", A, "http://["], ["delete", "--undo"]):
        assert run(data, *arguments) != 0
        assert "Traceback" not in capsys.readouterr().err
    assert found(data) == [A, B, C]
    assert run(data / "nowhere", "delete", A) != 0


def test_a_repair_does_not_bring_it_back(data: Path) -> None:
    run(data, "delete", B)
    segment = next((data / "index").glob("seg-*"))
    (segment / "documents.arrays").write_bytes(b"damaged")
    assert run(data, "repair") == 0
    assert found(data) == [A, C]


def test_new_visits_and_publications_do_not_bring_it_back(data: Path) -> None:
    inbox = Inbox(data)
    early = make_published_record("Tide", "Published tide.", A)
    inbox.add_record(early)
    DeletionList(data).add([A])
    with LiveIndex(data / "index", Settings().index, background=False) as live:
        publish_pending(live, inbox)
        for one in DeletionList(data).apply_to_records(PAGES):
            live.add(one)
    assert found(data) == [B, C]
    with pytest.raises(BadInput):
        Inbox(data).add_record(early)
    inbox.withdraw_page(A)  # to take back what is deleted is no contradiction


def test_whoever_holds_the_index_takes_it_out(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.app.jobs.deletion_jobs._LOCK_SECONDS", 0.0)
    monkeypatch.setattr("periplus.publish.publisher._IDLE_SECONDS", 0.2)
    with lock_folder(data, "index"):
        assert run(data, "delete", A) == 0
        assert found(data) == [A, B, C]
    with background_publisher(data, Settings()):  # a server that starts later, or has been busy
        until = time.monotonic() + 60
        while found(data) != [B, C] and time.monotonic() < until:
            time.sleep(0.05)
    assert found(data) == [B, C]


def test_what_is_deleted_during_a_rebuild_is_out_after_it(data: Path) -> None:
    deleted = DeletionList(data)

    def visits(start: int):
        for number, one in enumerate(deleted.apply_to_records(PAGES[start:])):
            if number == 1:
                DeletionList(data).add([A])  # its visit has passed already
            yield one

    with LiveIndex(data / "index", Settings().index, background=False) as live:
        live.rebuild(visits, live.signals)
        deleted.apply_to_index(live)
    assert found(data) == [B, C]


def test_the_list_is_whole_after_a_kill_at_any_moment(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from periplus.publish import DeletionList\n"
        "deleted = DeletionList(Path(sys.argv[1]))\n"
        "for number in range(100000):\n"
        "    deleted.add([f'https://x.test/{number}']); print(number, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= 30:
            break
    os.kill(child.pid, signal.SIGKILL)
    last = max(int(line) for line in ["30", *child.stdout.read().split()])
    child.wait()
    kept = DeletionList(tmp_path).pages()
    assert {f"https://x.test/{number}" for number in range(last + 1)} <= set(kept)
    assert DeletionList(tmp_path).add(["https://y.test/"]) == ["https://y.test/"], "the lock died with its owner"


def test_two_who_delete_at_once_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from periplus.publish import DeletionList\n"
        "for number in range(8): DeletionList(Path(sys.argv[1])).add([f'https://{sys.argv[2]}.test/{number}'])\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "ab"]
    assert [one.wait() for one in both] == [0, 0]
    assert len(DeletionList(tmp_path).pages()) == 16


def test_a_damaged_list_stops_a_build_rather_than_showing_what_was_deleted(data: Path) -> None:
    run(data, "delete", A)
    path = data / "deleted.json"
    good = path.read_bytes()
    for bad, error in ((good[:-3], CorruptFile), (b"\xff{}", CorruptFile), (b'{"format": 9}', NewerFormat)):
        path.write_bytes(bad)
        assert run(data, "build") != 0
        with pytest.raises(error):
            DeletionList(data).pages()
    path.write_bytes(good)
    assert found(data) == [B, C]


def test_judged_visits_are_gone_and_others_are_themselves(tmp_path: Path) -> None:
    deleted = DeletionList(tmp_path)
    assert list(deleted.apply_to_records(PAGES)) == PAGES
    deleted.add([B])
    assert [one.outcome for one in deleted.apply_to_records(PAGES)] == [Outcome.OK, Outcome.GONE, Outcome.OK]
    with pytest.raises(BadUrl):
        deleted.remove(["nonsense"])
