"""Pages that limit what may be quoted and cached: up to the result page."""

from pathlib import Path

import pytest

from periplus.records import SNIPPET_LIMITS, PageFlag
from periplus.search.presentation.snippets import limit_snippet

ONE = PageFlag.SNIPPET_LIMIT & -PageFlag.SNIPPET_LIMIT
PIECES = (("A long sentence with many ", False), ("words", True), (" in it, which goes on and on for a while.", False))


@pytest.mark.parametrize("level", range(len(SNIPPET_LIMITS) + 1))
def test_a_snippet_is_no_longer_than_permitted(level: int) -> None:
    pieces, answer = limit_snippet(PIECES, (2, 60), level * ONE)
    text, whole = "".join(text for text, _ in pieces), "".join(text for text, _ in PIECES)
    limit = SNIPPET_LIMITS[level - 1] if level else 10_000
    assert len(text) <= limit
    assert whole.startswith(text)
    assert (text == whole) == (len(whole) <= limit)
    assert answer == ((2, 60) if len(text) >= 60 else (0, 0))


def test_up_to_the_result_page(tmp_path: Path) -> None:
    import periplus
    from periplus.app import build_graph_and_index
    from periplus.fetch import Fetcher  # noqa: F401
    from periplus.records import FetchRecord, Outcome, Page
    from periplus.settings import Settings
    from periplus.store import PageStore
    from periplus.url import parse_address

    settings = Settings(folder=str(tmp_path))
    flags = {"free": 0, "archive": int(PageFlag.NOARCHIVE), "quote": int(ONE), "short": 3 * int(ONE)}
    from periplus.files import open_data_folder

    open_data_folder(tmp_path, create=True)
    with PageStore.open(tmp_path / "store", settings.store, write=True) as store:
        for name, flag in flags.items():
            url = f"http://{name}.test/"
            text = f"{name} lighthouse keepers wrote down the weather every day of the year in a large black book."
            page = Page(url=url, title=name, text=text, flags=flag)
            store.append(FetchRecord(url, parse_address(url).key, Outcome.OK, 1e9, 200, page=page))
    build_graph_and_index(tmp_path, settings)
    with periplus.open(tmp_path, settings) as engine:
        hits = {hit.title: hit for hit in engine.search("lighthouse weather").hits}
    lengths = {name: sum(len(text) for text, _ in hit.snippet) for name, hit in hits.items()}
    assert min(lengths["free"], lengths["archive"]) > 60
    assert (lengths["quote"], 10 < lengths["short"] <= 40) == (0, True)
    from periplus.search import Searcher

    searcher = Searcher(tmp_path, settings)
    copies = {name: searcher.cached_page(hit.key) for name, hit in hits.items()}
    assert "weather" in copies["free"].text
    assert "weather" not in copies["archive"].text
    assert "noarchive" in copies["archive"].text
