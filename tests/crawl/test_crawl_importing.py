"""Crawls without a network: WARC files and JSON lines."""

import gzip
import json
from pathlib import Path

import pytest

from periplus.crawl import Crawler, import_jsonl, import_warc
from periplus.errors import BadFile
from periplus.settings import Settings
from periplus.store import PageStore, compress
from periplus.url import parse_address

LINES = [
    {"id": "a", "url": "http://a.test/x#part", "title": "First", "text": "one two"},
    {"id": 17, "title": "Second", "text": "three"},
    {"id": "a b/c?d", "text": "four", "extra": [1]},
    {"id": "..", "text": "five"},
    {"id": "x", "url": "not a url", "text": "six"},
]


@pytest.fixture
def store(tmp_path):
    with PageStore.open(tmp_path / "store", Settings().store, write=True) as store:
        yield store


def write_lines(path: Path, lines: list) -> Path:
    text = "\n".join(json.dumps(line) if not isinstance(line, str) else line for line in lines).encode()
    packed = {".gz": gzip.compress, ".zst": compress}.get(path.suffix, bytes)(text)
    path.write_bytes(packed)
    return path


@pytest.mark.parametrize("name", ["docs.jsonl", "docs.jsonl.gz", "docs.jsonl.zst"])
def test_json_lines_become_pages(store, tmp_path, name):
    seen: list[tuple[str, int, int]] = []
    path = write_lines(tmp_path / name, [*LINES, "", "  "])
    count = import_jsonl(store, [path], Settings(), lambda *state: seen.append(state))
    assert count == (5, 0)
    visits = list(store.records())
    assert [visit.url for visit in visits] == [
        "http://a.test/x",
        "https://import.invalid/17",
        "https://import.invalid/a%20b%2Fc%3Fd",
        "https://import.invalid/dots-2",
        "https://import.invalid/x",
    ]
    assert all(visit.key == parse_address(visit.url).key for visit in visits)
    assert [visit.page.text for visit in visits] == ["one two", "three", "four", "five", "six"]
    assert visits[0].page.title == "First"
    assert seen[-1] == ("import", 5, 5)


@pytest.mark.parametrize("bad", ["{", '{"id": [1]}', '"text"', "[]", '{"text": "no name"}', '{"id": "\\ud800"}'])
def test_a_bad_line_is_named_and_the_rest_stays(store, tmp_path, bad):
    path = write_lines(tmp_path / "docs.jsonl", [*LINES[:2], bad, LINES[2]])
    with pytest.raises(BadFile, match=r"docs\.jsonl, line 3"):
        import_jsonl(store, [path], Settings())
    assert [visit.page.title for visit in store.records()] == ["First", "Second"]


def test_bytes_that_are_no_text_are_named(store, tmp_path):
    (tmp_path / "docs.jsonl").write_bytes(b'{"id": "a"}\n\xff\xfe\x00\n')
    with pytest.raises(BadFile, match="line 2"):
        import_jsonl(store, [tmp_path / "docs.jsonl"], Settings())
    with pytest.raises(BadFile, match="nowhere"):
        import_jsonl(store, [tmp_path / "nowhere.jsonl"], Settings())


def test_a_crawl_can_be_imported_from_its_own_warc(server, fast, fake_web, tmp_path, store, read_stored):
    settings = fast(pages=40)
    Crawler(tmp_path / "data", settings, fake_web.seeds).run()
    crawled = {v.url: v.page for v in read_stored(tmp_path / "data", settings) if v.page and v.warc}
    files = sorted(path for path in (tmp_path / "data" / "store").iterdir() if ".warc" in path.name)
    count = import_warc(store, files, settings)
    imported = {visit.url: visit.page for visit in store.records() if visit.page}
    assert count.pages == len(crawled) == 40
    assert imported == crawled
    visit = next(visit for visit in store.records() if visit.page)
    assert len(store.read_response(visit).body) == visit.bytes


def test_a_folder_of_imports_can_be_crawled_on(server, fast, fake_web, tmp_path):
    data, settings = tmp_path / "data", fast(pages=5)
    with PageStore.open(data / "store", settings.store, write=True) as store:
        import_jsonl(store, [write_lines(tmp_path / "docs.jsonl", LINES)], settings)
    assert Crawler(data, settings, fake_web.seeds).run().pages == 5
    with PageStore.open(data / "store", settings.store) as store:
        assert len([visit for visit in store.records() if visit.page]) >= 10
