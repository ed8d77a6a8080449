"""The first URL with each content: in files beyond the newest, the same before and after a restart or a crash."""

import numpy as np
import pytest

from periplus.crawl.crawl_snapshot import check_snapshot, read_snapshot, write_snapshot
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.policies.key_table import KeyTable
from periplus.crawl.policies.original_urls import FILE_URLS, OriginalUrls
from periplus.errors import CorruptFile
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import Settings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

MANY = 2 * FILE_URLS + 100


def content_of(number: int) -> int:
    return (number * 0x9E3779B97F4A7C15 + 1) & (1 << 64) - 1


def url_of(number: int) -> str:
    return f"http://h{number % 7}.test/{'x' * (number % 50)}{number}"


def filled(folder, count: int = MANY) -> OriginalUrls:
    table = OriginalUrls(folder)
    for number in range(count):
        table.add(content_of(number), url_of(number))
    return table


def test_a_key_table_is_a_dict():
    chance = np.random.default_rng(5)
    table, truth = KeyTable(), {}
    for size in (1, 700, 3, 2_000, 5, 5, 5, 900):
        keys = np.unique(chance.integers(0, 1 << 63, size, dtype=np.uint64) * np.uint64(2))
        table.extend(keys)
        truth.update(zip(keys.tolist(), range(len(truth), len(truth) + len(keys)), strict=True))
    assert len(table) == len(truth)
    assert all(table.find(key) == number for key, number in truth.items())
    assert not any(table.find(key + 1) is not None for key in truth)
    assert table.nbytes == 12 * len(truth)


def test_urls_beyond_the_newest_are_read_from_files(tmp_path):
    table = filled(tmp_path / "originals")
    table.add(content_of(3), "http://late.test/")
    table.add(content_of(MANY - 1), "http://late.test/")
    assert len(table) == MANY
    assert len(table.newest) == 100
    assert table.nbytes == 12 * 2 * FILE_URLS
    chosen = [0, 1, FILE_URLS - 1, FILE_URLS, 2 * FILE_URLS - 1, 2 * FILE_URLS, MANY - 1, *range(5, MANY, 997)]
    again = OriginalUrls.load(tmp_path / "originals", table.newest, table.files)
    for one in (table, again):
        assert [one.get(content_of(number)) for number in chosen] == [url_of(number) for number in chosen]
        assert one.get(content_of(MANY)) is None
        assert dict(one.items()) == {content_of(number): url_of(number) for number in range(MANY)}


def test_without_a_folder_all_stays_in_memory():
    table = filled(None, FILE_URLS + 1)
    assert len(table.newest) == len(table) == FILE_URLS + 1


@pytest.mark.parametrize("fault", ["flip", "cut", "other", "missing"])
def test_a_file_that_is_not_the_one_named_is_noticed(tmp_path, fault):
    folder = tmp_path / "originals"
    table = filled(folder, 2 * FILE_URLS)
    path = folder / "00000000.urls"
    data = bytearray(path.read_bytes())
    data[-7] ^= 1
    {
        "flip": lambda: path.write_bytes(data),
        "cut": lambda: path.write_bytes(data[:90_000]),
        "other": lambda: path.write_bytes((folder / "00000001.urls").read_bytes()),
        "missing": path.unlink,
    }[fault]()
    with pytest.raises(CorruptFile, match="00000000"):
        OriginalUrls.load(folder, {}, table.files)


def record(number: int) -> FetchRecord:
    page = Page(url=url_of(number), title=f"page {number}", text="text")
    key = parse_address(url_of(number)).key
    return FetchRecord(url_of(number), key, Outcome.OK, 1.0, 200, page=page, content=content_of(number))


@pytest.fixture
def crawled(tmp_path):
    """A crawl that was killed after a file was written that its snapshot does not name."""
    path, settings = tmp_path / "crawl" / "frontier.bin", Settings()
    with PageStore.open(tmp_path / "store", StoreSettings(), write=True) as store:
        state = CrawlState(path, settings)
        state.add_seeds([parse_address("http://h0.test/")])
        state.totals.answered = 1
        for number in range(FILE_URLS + 50):
            state.duplicates.urls.add(content_of(number), url_of(number))
        state.save(0, 1.0)
        for number in range(FILE_URLS + 50, FILE_URLS + 60):
            store.append(record(number))
        store.commit()
        for number in range(10**6, 10**6 + FILE_URLS):
            state.duplicates.urls.add(content_of(number), "http://lost.test/")
        state.frontier.close()
        yield path, settings, store


def test_a_killed_crawl_has_every_original(crawled):
    path, settings, store = crawled
    assert len(list(path.with_name("originals").glob("*.urls"))) == 2
    state = CrawlState.recover(path, settings, store, ())
    assert not state.notes
    urls = state.duplicates.urls
    assert dict(urls.items()) == {content_of(number): url_of(number) for number in range(FILE_URLS + 60)}
    state.save(store.commit(), 2.0)
    written = read_snapshot(path)
    assert len(written.originals) == 60
    assert len(written.original_files) == 1
    assert not list(check_snapshot(path))
    state.frontier.close()


def test_a_damaged_file_has_the_crawl_rebuilt_from_its_records(crawled):
    path, settings, store = crawled
    (path.with_name("originals") / "00000000.urls").write_bytes(b"")
    assert [fault.path.name for fault in check_snapshot(path)] == ["00000000.urls"]
    state = CrawlState.recover(path, settings, store, ())
    assert "rebuilt" in state.notes[0]
    assert {url_of(number) for number in range(FILE_URLS + 50, FILE_URLS + 60)} == {
        url for _, url in state.duplicates.urls.items()
    }
    state.frontier.close()


def test_a_snapshot_of_an_earlier_version_is_read(crawled):
    path, settings, store = crawled
    old = read_snapshot(path)
    fields = {name: getattr(old, name) for name in old.__struct_fields__}
    every = {content_of(number): url_of(number) for number in range(MANY)}
    write_snapshot(path, type(old)(**{**fields, "originals": every, "original_files": ()}))
    state = CrawlState.recover(path, settings, store, ())
    assert dict(state.duplicates.urls.items()) == every
    assert len(state.duplicates.urls.newest) < FILE_URLS
    state.frontier.close()
