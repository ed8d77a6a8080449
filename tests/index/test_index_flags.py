"""What a reader warned of reaches the index as a column."""

from periplus.index import Index, build_index
from periplus.records import FetchRecord, Outcome, Page, PageFlag
from periplus.settings import Settings


def test_flags_are_a_column(tmp_path) -> None:
    flags = {
        "http://a.example/": 0,
        "http://b.example/": PageFlag.ADULT | PageFlag.PAYWALL,
        "http://c.example/": PageFlag.SCRIPT_ONLY,
    }
    visits = [
        FetchRecord(url, key, Outcome.OK, 1.0, 200, page=Page(url, title="Words", text="some words", flags=int(flag)))
        for key, (url, flag) in enumerate(flags.items(), 1)
    ]
    build_index(visits, tmp_path / "index", Settings().index)
    segment = Index.open(tmp_path / "index").segments[0]
    found = {segment.string("url", n): int(value) for n, value in enumerate(segment.column("flags"))}
    assert found == {url: int(flag) for url, flag in flags.items()}
