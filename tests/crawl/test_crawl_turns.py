"""Results of one turn are processed together, and what is stored of them is what it is one after the other."""

import msgspec
import pytest

from periplus.crawl import crawler
from periplus.crawl.documents import parsing_ahead
from periplus.crawl.documents.parsing_ahead import batches_of, parse_ahead
from periplus.crawl.fetch_processing import FetchProcessor
from periplus.crawl.fetch_records import DuplicateTable, make_page_record
from periplus.crawl.policies.original_urls import OriginalUrls
from periplus.hashing import fingerprint
from periplus.parse.html import html_parser
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address

PROSE = " ".join(f"the tide of harbour {number} turns and the boats leave" for number in range(40))


def html(number: int, body: str = "") -> FetchResult:
    request = FetchRequest(parse_address(f"http://a.test/{number}"))
    page = (
        f"<!DOCTYPE html><html><title>Page</title><p>{body or number} {PROSE}</p><form action=/s><input name=q></form>"
    )
    return FetchResult(request, Outcome.OK, 1.0, 200, (("content-type", "text/html"),), page.encode(), 0.1)


def test_batches_are_bounded_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [html(number) for number in range(10)]
    assert list(batches_of([])) == []
    assert list(batches_of(results)) == [results]
    monkeypatch.setattr(parsing_ahead, "_MAX_PAGES", 4)
    assert [len(batch) for batch in batches_of(results)] == [4, 4, 2]
    monkeypatch.setattr(parsing_ahead, "_MAX_BYTES", 2 * len(results[0].body))
    assert [result for batch in batches_of(results) for result in batch] == results
    assert [len(batch) for batch in batches_of(results)] == [2, 2, 2, 2, 2]
    monkeypatch.setattr(parsing_ahead, "_MAX_BYTES", 1)
    assert list(batches_of(results[:2])) == [results[:1], results[1:2]]


def test_known_and_repeated_contents_are_left_out() -> None:
    known = OriginalUrls()
    results = [html(1), html(2), html(3, "the same"), html(4, "the same")]
    known.add(fingerprint(results[0].body), "http://a.test/other")
    ahead = parse_ahead(results, ParseSettings(), False, known)
    assert list(ahead) == [id(results[1]), id(results[2])]


def test_large_pages_are_parsed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []

    def parse_and_count(results, settings):
        parts.append(len(results))
        return html_parser.parse_html_each(results, settings)

    monkeypatch.setattr(parsing_ahead, "parse_html_each", parse_and_count)
    results = [html(1), html(2, "long " * 20_000), html(3), html(4, "longer " * 20_000)]
    ahead = parse_ahead(results, ParseSettings(), False, OriginalUrls())
    assert parts == [2, 1, 1]
    assert [ahead[id(result)].page.url for result in results] == [result.request.address.url for result in results]


@pytest.mark.parametrize("forms", [False, True])
def test_a_record_is_what_it_is_without(forms: bool) -> None:
    results = [html(1), html(2)]
    ahead = parse_ahead(results, ParseSettings(), forms, OriginalUrls())
    for result in results:
        alone = make_page_record(result, ParseSettings(), DuplicateTable(), forms=forms)
        together = make_page_record(result, ParseSettings(), DuplicateTable(), forms=forms, parsed=ahead[id(result)])
        assert together == alone
        assert alone.simhash
        assert bool(alone.page.forms) == forms


@pytest.mark.parametrize("place", ["parser", "forms"])
def test_a_page_whose_parser_fails_is_a_record_that_says_so(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def fail(*values: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(
        *((html_parser, "STAGES", (fail,)) if place == "parser" else (parsing_ahead, "extract_forms", fail))
    )
    result = html(1)
    ahead = parse_ahead([result], ParseSettings(), True, OriginalUrls())[id(result)]
    record = make_page_record(result, ParseSettings(), DuplicateTable(), parsed=ahead)
    assert (record.outcome, record.page, record.fault) == (
        Outcome.PARSE_FAILED,
        None,
        "the parser failed: ZeroDivisionError",
    )
    assert record.content == fingerprint(result.body)


class TurnFetcher:
    """Answers all requests that wait at once, from a table."""

    def __init__(self, bodies: dict[str, bytes]) -> None:
        self.bodies, self.waiting, self.turns = bodies, [], []

    def start(self, request: FetchRequest, *values: object, **named: object) -> None:
        self.waiting.append(request)

    def poll(self, timeout: float) -> list[FetchResult]:
        waiting, self.waiting = self.waiting, []
        self.turns.append(len(waiting))
        return [self._answer(request) for request in waiting]

    def _answer(self, request: FetchRequest) -> FetchResult:
        body = self.bodies.get(request.address.url)
        outcome, status = (Outcome.GONE, 404) if body is None else (Outcome.OK, 200)
        return FetchResult(request, outcome, 1.0, status, (("content-type", "text/html"),), body or b"", 0.01)

    def busy(self) -> int:
        return len(self.waiting)

    def is_full(self) -> bool:
        return len(self.waiting) >= 32

    def bandwidth_wait(self) -> float:
        return 0.0

    def under_way(self) -> tuple[()]:
        return ()

    def watch(self, descriptor: int) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_crawl_stores_what_it_stores_page_by_page(scripted, tmp_path, monkeypatch, read_stored) -> None:
    links = "".join(f"<a href=http://h{host}.test/{page}>p</a>" for host in range(12) for page in range(4))
    bodies = {"http://h0.test/": f"<!DOCTYPE html><html><title>Home</title>{links}".encode()}
    for host in range(12):
        for page in range(4):
            # Some have the content of a page of the same turn, some that of an earlier one, and some are nearly equal.
            text = f"{'one' if host < 3 else host // 2 if page else host} {page // 2 if host < 8 else page}"
            more = f"{PROSE} {host if page == 3 else ''}<p><a href=http://h{host}.test/a/{text.replace(' ', '-')}>x</a>"
            if host in (8, 9, 10):  # feeds, of which one is requested in the same turn: it is read as one
                feeds = [f"http://h{host + 1}.test/{number}" for number in range(4)]
                more += "".join(f"<link rel=alternate type=application/rss+xml href={feed}>" for feed in feeds)
            bodies[f"http://h{host}.test/{page}"] = f"<!DOCTYPE html><html><p>{text} {more}".encode()
            bodies[f"http://h{host}.test/a/{text.replace(' ', '-')}"] = f"<html><form><p>{text * page}</form>".encode()
    settings, stored = scripted.settings(tmp_path, scope="web", forms=1, probe=True), []
    for folder in ("together", "alone"):
        fetcher = TurnFetcher(bodies)
        with monkeypatch.context() as patched:
            patched.setattr(crawler, "open_fetcher", lambda *values, fetcher=fetcher: fetcher)
            if folder == "alone":
                patched.setattr(FetchProcessor, "_parse_ahead", lambda self, batch: {})
            crawler.Crawler(tmp_path / folder, settings, ["http://h0.test/"]).run()
        assert max(fetcher.turns) >= 10
        records = read_stored(tmp_path / folder, settings)
        stored.append([msgspec.structs.replace(one, when=0.0, warc="", warc_offset=0) for one in records])
    together, alone = stored
    assert together == alone
    assert len(together) > 60
    assert sum(bool(record.duplicate_of) for record in together) > 5
    assert sum(bool(record.near_duplicate_of) for record in together) > 5
    assert sum(record.page is None and record.status == 200 for record in together) > 3


def test_pages_wait_only_if_nothing_else_of_their_turn_depends_on_them(scripted, tmp_path) -> None:
    fetcher = TurnFetcher({"http://a.test/": b"<!DOCTYPE html><html><p>home"})
    settings = scripted.settings(tmp_path, scope="web")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(crawler, "open_fetcher", lambda *values: fetcher)
        with crawler.Crawler(tmp_path / "data", settings, ["http://a.test/"]) as crawl:
            processor = crawl._requests
            record = make_page_record(html(1), ParseSettings(), DuplicateTable())
            processor._together = frozenset({"a.test", "b.test"})
            assert processor._can_wait(record, "a.test")
            assert not processor._can_wait(record, "other.test")
            assert not processor._can_wait(msgspec.structs.replace(record, duplicate_of="http://b.test/"), "a.test")
            assert not processor._can_wait(msgspec.structs.replace(record, page=None), "a.test")
            for feed, expected in (("http://a.test/feed", False), ("http://b.test/feed", True), ("mailto:x", False)):
                page = msgspec.structs.replace(record.page, feeds=(feed,))
                assert processor._may_change_a_list(msgspec.structs.replace(record, page=page)) == expected
            assert not processor._may_change_a_list(record)
            processor._state.outlinks.hooks._on_link.append(("hook", lambda url, base: None))
            assert not processor._can_wait(record, "a.test")
