"""What is fuzzed: every parser of what strangers send, and every reader of what is on disk.

A target is a function of bytes. It returns a value that says roughly what became of them, by which inputs that lead to
something new are recognised and kept. `PeriplusError` and what is named in `errors` are answers; any other exception, a
signal, too much time or too much memory is a fault.
"""

import contextlib
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from fuzz_seeds import CORPUS, TOKENS, array_seeds, office_seeds, pdf_seeds, record_seeds, warc_seeds

from periplus.errors import PeriplusError
from periplus.records import FetchRequest, FetchResult, Outcome, Query
from periplus.settings import ParseSettings, Settings
from periplus.url import parse_address

__all__ = ["TARGETS", "Target", "run_target", "saved_inputs"]

_URL = "https://example.test/a/page.html"


class Target(NamedTuple):
    """One parser or reader."""

    name: str
    run: Callable[[bytes], Any]
    tokens: tuple[bytes, ...] = ()
    """Pieces of its grammar."""
    seeds: Callable[[], list[bytes]] = list
    """Inputs that are made, besides those that are saved in the corpus."""
    errors: tuple[type[Exception], ...] = ()
    """Exceptions, besides `PeriplusError`, that its callers expect."""
    corpus: str = ""
    """The folder of its saved inputs, if that has another name."""


def run_target(target: Target, data: bytes) -> str:
    """Run a target on one input; return what became of it, in a few words."""
    try:
        return str(target.run(data))[:80]
    except (PeriplusError, *target.errors) as error:
        return type(error).__name__


def saved_inputs(target: Target) -> list[bytes]:
    """Return the inputs of a target that are saved or made."""
    folder = CORPUS / (target.corpus or target.name)
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [*(path.read_bytes() for path in files), *target.seeds()] or [b""]


def _result(data: bytes, kind: str, url: str = _URL) -> FetchResult:
    headers = (("content-type", kind),) if kind else ()
    return FetchResult(FetchRequest(parse_address(url)), Outcome.OK, 0.0, 200, headers, data)


def _size(value: int) -> int:
    return value.bit_length()


def _parse_as(kind: str, url: str = _URL) -> Callable[[bytes], Any]:
    def run(data: bytes) -> Any:
        from periplus.parse import parse

        page = parse(_result(data, kind, url), ParseSettings())
        if page is None:
            return None
        msgspec.msgpack.encode(page)
        return _size(len(page.text)), _size(len(page.links)), bool(page.title), page.language, page.kind

    return run


def _html(data: bytes) -> Any:
    from periplus.parse import extract_forms, structure_html, write_markdown

    result = _result(data, "text/html")
    blocks = structure_html(result, ParseSettings())
    return _parse_as("text/html")(data), len(extract_forms(result)), _size(len(write_markdown(blocks)))


def _url(data: bytes) -> Any:
    from periplus.url import make_breadcrumbs, parse_url, registered_domain

    text = data.decode("utf-8", "surrogateescape")
    head, _, base = text.partition("\n")
    parts = parse_url(head, base or None)
    address = parse_address(head, base or None)
    again = parse_address(address.url)
    assert again.url == address.url, "a canonical URL is canonical"
    make_breadcrumbs(address.url)
    registered_domain(address.host)
    return address.scheme, _size(len(address.url)), parts is None


def _robots(data: bytes) -> Any:
    from periplus.robots import parse_robots

    rules = parse_robots(data, "periplus")
    allowed = [rules.allows(path) for path in ("/", "/a/b.html?x=1", "/" + "a" * 200, "/%F0%9F%98%80")]
    return allowed, _size(len(data))


def _sitemap(data: bytes) -> Any:
    from periplus.discovery import parse_sitemap

    sitemap = parse_sitemap(data)
    return tuple(_size(len(part)) for part in sitemap if hasattr(part, "__len__")) if isinstance(sitemap, tuple) else 1


def _feed(data: bytes) -> Any:
    from periplus.discovery import parse_feed

    feed = parse_feed(data)
    return feed is not None and _size(len(feed.entries))


def _sniff(data: bytes) -> Any:
    from periplus.parse.charset.decoding import decode, decode_to_utf8
    from periplus.parse.mime_sniffing import detect_content_type

    kind, _, body = data.partition(b"\n")
    declared = kind.decode("latin-1")
    decode(body, declared)
    return detect_content_type(body, declared, "/a.html"), decode_to_utf8(body, declared)[1]


@functools.cache
def _searcher() -> Any:
    """Return a searcher of a small index, which lives as long as the process."""
    import atexit
    import random
    import shutil

    from index.made_pages import random_visits
    from periplus.index import build_index
    from periplus.search import Searcher

    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build_index(random_visits(random.Random(3).randrange(99), 200), folder / "index", Settings().index)
    return Searcher.open(folder, Settings(folder=str(folder)))


def _query(data: bytes) -> Any:
    from periplus.query import parse_query

    text = data.decode("utf-8", "replace")
    parsed = parse_query(text)
    return type(parsed.tree).__name__, len(parsed.notes)


def _search(data: bytes) -> Any:
    text = data[:4096].decode("utf-8", "replace")
    page = _searcher().search(Query(text, explain=bool(len(data) & 1), as_you_type=bool(len(data) & 2)))
    _searcher().suggest(text)
    return _size(page.total), len(page.hits), len(page.notes), bool(page.corrections)


def _request(data: bytes) -> Any:
    from periplus.serve.search_request import parse_api_request, parse_page_request, parse_parameters

    parameters = parse_parameters(data)
    parse_page_request(parameters)
    return tuple(sorted(parameters))[:4], parse_api_request(parameters).query.size


def _in_file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    def run(data: bytes) -> Any:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            return read(path)

    return run


def _warc(path: Path) -> Any:
    from periplus.store import read_warc

    return _size(sum(1 for _ in read_warc(path)))


def _jsonl(path: Path) -> Any:
    from periplus.crawl import import_jsonl
    from periplus.settings import StoreSettings
    from periplus.store import PageStore

    with PageStore.open(path.parent / "store", StoreSettings(), write=True) as store:
        return import_jsonl(store, [path], Settings(), lambda *progress: None).pages


def _proxy_log(path: Path) -> Any:
    from periplus.signals.proxy_logs import read_proxy_log

    return _size(sum(1 for _ in read_proxy_log(path)))


def _settings(path: Path) -> Any:
    from periplus.settings import load

    return bool(load(path, {}, (), lambda message: None))


def _records(data: bytes) -> Any:
    from periplus.search import RetrievedCandidates, decode_record
    from periplus.store.log_frames import Frame, decode_records

    with contextlib.suppress(msgspec.MsgspecError, PeriplusError):
        decode_record(data, RetrievedCandidates)
    with contextlib.suppress(PeriplusError):
        decode_records(Frame(0, len(data), 1, 1, 0, 0, data))
    return None


def _text(data: bytes) -> Any:
    from periplus.text import detect_language, split_text, terms_of, token_spans

    text = data.decode("utf-8", "replace")
    words = split_text(text)
    terms_of(words[:1000], "en")
    token_spans(data)
    return _size(len(words)), str(detect_language(text))[:20]


def _snippet(data: bytes) -> Any:
    from periplus.search import make_snippet

    head, _, text = data.partition(b"\n")
    # Positions as a damaged segment may have them: any number of 29 bits.
    numbers = np.frombuffer(head[: len(head) // 4 * 4], "<u4").astype(np.int64) & ((1 << 29) - 1)
    places = [np.sort(numbers[::2]), np.arange(len(head), dtype=np.int64)]
    return len(make_snippet(text.decode("utf-8", "replace").encode(), places, [1.0, 0.5], 20 + len(head) % 300))


def _arrays(path: Path) -> Any:
    from periplus.arrays import ArrayFile

    file = ArrayFile(path, "some")
    for name in file.sizes():
        np.asarray(file[name]).sum()
    file.check()
    return tuple(file.sizes())


TARGETS: tuple[Target, ...] = (
    Target("html", _html, TOKENS["html"]),
    Target("url", _url, TOKENS["url"]),
    Target("robots", _robots, TOKENS["robots"]),
    Target("sitemap", _sitemap, TOKENS["xml"]),
    Target("feed", _feed, TOKENS["xml"]),
    Target("feed_page", _parse_as("application/rss+xml"), TOKENS["xml"], corpus="feed"),
    Target("xml", _parse_as("application/xml"), TOKENS["xml"], corpus="sitemap"),
    Target("markdown", _parse_as("text/markdown", "https://example.test/a.md"), TOKENS["markdown"]),
    Target("openapi_json", _parse_as("application/json"), TOKENS["json"]),
    Target("openapi_yaml", _parse_as("application/yaml"), TOKENS["yaml"]),
    Target("office", _parse_as("", "https://example.test/a.docx"), seeds=office_seeds),
    Target("epub", _parse_as("application/epub+zip", "https://example.test/a.epub"), seeds=office_seeds),
    Target("pdf", _parse_as("application/pdf"), TOKENS["pdf"], seeds=pdf_seeds),
    Target("sniffing", _sniff, TOKENS["sniffing"]),
    Target("query_parser", _query, TOKENS["query"], corpus="query"),
    Target("search", _search, TOKENS["query"], corpus="query"),
    Target("parameters", _request, TOKENS["parameters"]),
    Target("warc", _in_file("a.warc", _warc), TOKENS["warc"], seeds=warc_seeds),
    Target("jsonl", _in_file("a.jsonl", _jsonl), TOKENS["json"]),
    Target("proxy_log", _in_file("a.log", _proxy_log), TOKENS["proxy_log"]),
    Target("settings", _in_file("periplus.toml", _settings), TOKENS["toml"]),
    Target("records", _records, seeds=record_seeds),
    Target("text", _text, TOKENS["text"], corpus="query"),
    Target("snippets", _snippet, TOKENS["text"], corpus="query"),
    Target("arrays", _in_file("some.arrays", _arrays), seeds=array_seeds),
)
