"""Indexes written by earlier versions of Periplus: they open, they are whole, and they are found and changed in.

The first format is kept here for ever; later editions are `segments-vN`, see tests/formats.
"""

import json
import shutil
from pathlib import Path

import pytest

from index.made_pages import visit
from periplus.index import Index, LiveIndex, build_index, check_index
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import IndexSettings, Settings

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FOLDERS = sorted(GOLDEN.glob("index-v*"))


def found(folder: Path, words: str) -> list[str]:
    return sorted(hit.url for hit in Searcher.open(folder, Settings()).search(Query(words)).hits)


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "data"))


def test_the_first_edition_is_there() -> None:
    assert [path.name for path in FOLDERS] == ["index-v1"]


def test_it_is_whole_and_answers_as_it_did(golden: Path) -> None:
    expected = json.loads((golden / "expected.json").read_text("utf-8"))
    assert check_index(golden / "index") == []
    assert Index.open(golden / "index").documents == expected["documents"]
    assert {words: found(golden, words) for words in expected["found"]} == expected["found"]
    assert all(urls for urls in expected["found"].values())


def test_its_journal_is_taken_up_and_it_can_be_merged_and_extended(golden: Path) -> None:
    before = found(golden, "lighthouse")
    with LiveIndex(golden / "index", IndexSettings(), background=False) as live:
        assert live.pending == 1
        live.publish()
        for n in range(6):
            live.add(visit(f"https://more.test/{n}", "lighthouse"))
            live.publish()
        assert live.merge()
    after = found(golden, "lighthouse")
    assert set(before) < set(after)
    assert "https://coast.example/late" in after
    assert len(after) == len(before) + 7
    build_index([visit("https://again.test/", "lighthouse")], golden / "index", IndexSettings(), append=True)
    assert "https://again.test/" in found(golden, "lighthouse")
    assert check_index(golden / "index") == []
