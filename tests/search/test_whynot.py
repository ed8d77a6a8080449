"""Why a page is not found."""

from pathlib import Path

import msgspec
import pytest

from index.made_pages import visit
from periplus.errors import BadUrl
from periplus.index import build_index
from periplus.records import FetchRecord
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PageStore


def other(made: FetchRecord, **more: object) -> FetchRecord:
    assert made.page is not None
    return msgspec.structs.replace(made, page=msgspec.structs.replace(made.page, **more))


def test_every_reason_is_known(tmp_path: Path) -> None:
    plain = visit("https://a.test/", "Amber", "x")
    pages = {
        "indexed": plain,
        "noindex": other(visit("https://a.test/n", "No", "x"), noindex=True),
        "copy": msgspec.structs.replace(visit("https://a.test/c", "Copy", "x"), duplicate_of="https://a.test/"),
        "canonical": other(visit("https://a.test/k", "K", "x"), canonical="https://a.test/"),
        "empty": msgspec.structs.replace(visit("https://a.test/e", "E", "x"), page=None),
        "waiting": visit("https://a.test/w", "W", "x"),
    }
    with PageStore.open(tmp_path / "store", Settings().store, write=True) as store:
        for page in pages.values():
            store.append(page, None)
        store.commit()
    build_index([plain], tmp_path / "index", Settings().index)
    searcher = Searcher.open(tmp_path, Settings())
    for reason, page in pages.items():
        said = searcher.page_status(page.url + "#here")
        assert (said.url, said.reason) == (page.url, reason)
        assert said.indexed == (reason == "indexed")
    assert searcher.page_status("https://a.test/c").other == "https://a.test/"
    assert searcher.page_status("https://never.test/").reason == "unknown"
    with pytest.raises(BadUrl):
        searcher.page_status("not a url")
