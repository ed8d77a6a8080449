"""A crawl without a network: WARC files and JSON lines become visits in the page store."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from periplus.crawl.fetch_records import DuplicateTable, make_page_record
from periplus.errors import BadFile, BadUrl
from periplus.records import Address, FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import Settings
from periplus.store import PageStore, read_lines, read_warc
from periplus.url import parse_address

__all__ = ["ImportCount", "import_jsonl", "import_warc"]

Progress = Callable[[str, int, int], None]

_STEP: Final = 2_000
_COMMIT: Final = 50_000


class ImportCount(NamedTuple):
    """What an import came to."""

    pages: int
    skipped: int
    """Records that hold no page: copies, failures, types that nobody reads."""


class _Document(msgspec.Struct):
    """One line of a collection."""

    id: str | int = ""
    url: str = ""
    title: str = ""
    text: str = ""


def _quiet(stage: str, done: int, total: int) -> None:
    pass


def import_warc(
    store: PageStore, paths: Iterable[Path], settings: Settings, progress: Progress = _quiet
) -> ImportCount:
    """Read the responses of WARC files as if they had just been fetched."""
    originals = DuplicateTable()

    def visits() -> Iterator[tuple[FetchRecord | None, FetchResult | None]]:
        for path in paths:
            yield from _read_responses(path, settings, originals)

    return _take(store, visits(), progress)


def import_jsonl(
    store: PageStore, paths: Iterable[Path], settings: Settings, progress: Progress = _quiet
) -> ImportCount:
    """Read lines of {id, url, title, text}; a line that cannot be read ends it, and what came before stays."""

    def visits() -> Iterator[tuple[FetchRecord | None, FetchResult | None]]:
        for path in paths:
            for document in _read_lines(path):
                yield document, None

    return _take(store, visits(), progress)


def _take(
    store: PageStore, found: Iterator[tuple[FetchRecord | None, FetchResult | None]], progress: Progress
) -> ImportCount:
    """Append visits, committing now and then; commit also what came before a fault."""
    pages = skipped = 0
    try:
        for visit, fetched in found:
            if visit is not None:
                store.append(visit, fetched)
            if visit is not None and visit.page is not None:
                pages += 1
            else:
                skipped += 1
            done = pages + skipped
            if done % _STEP == 0:
                progress("import", done, 0)
            if done % _COMMIT == 0:
                store.commit()
    except BadFile as error:
        raise BadFile(error.message, f"{error.hint} {_kept(pages)}".strip()) from error
    finally:
        store.commit()
    progress("import", pages + skipped, pages + skipped)
    return ImportCount(pages, skipped)


def _kept(pages: int) -> str:
    """Say what an import that ended early has come to."""
    if not pages:
        return ""
    number = "1 page is" if pages == 1 else f"{pages:,} pages are"
    return f"{number} kept; to search what is there: periplus index build."


def _read_responses(
    path: Path, settings: Settings, originals: DuplicateTable
) -> Iterator[tuple[FetchRecord | None, FetchResult | None]]:
    for record in read_warc(path):
        try:
            due = FetchRequest(parse_address(record.url))
        except BadUrl:
            yield None, None
            continue
        if not 200 <= record.status < 300 or not record.body:
            yield None, None
            continue
        body = record.body[: settings.fetch.max_bytes]
        fetched = FetchResult(due, Outcome.OK, record.when, record.status, tuple(record.headers), body)
        visit = make_page_record(fetched, settings.parse, originals)
        originals.learn(visit)
        yield visit, fetched if visit.page is not None else None


def _read_lines(path: Path) -> Iterator[FetchRecord | None]:
    decoder = msgspec.json.Decoder(_Document)
    now = time.time()
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            document = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadFile(
                f"{path}, line {number}: {error}.", "Each line is one JSON object of id, url, title and text."
            ) from None
        place = _place(document)
        if place is None:
            raise BadFile(f"{path}, line {number}: neither an id nor a usable url.", "Give each line an id or a url.")
        page = Page(url=place.url, title=document.title, text=document.text, kind="text/plain")
        yield FetchRecord(place.url, place.key, Outcome.OK, now, 200, page=page, bytes=len(line))


def _place(document: _Document) -> Address | None:
    """Give the document's own address, or one made from its id in a name space that nobody can own."""
    if document.url:
        try:
            return parse_address(document.url)
        except BadUrl:
            pass
    name = str(document.id)
    if not name:
        return None
    # '.' and '..' are steps in a path and not names, whatever way they are written.
    path = quote(name, safe="") if name.strip(".") else f"dots-{len(name)}"
    return parse_address(f"https://import.invalid/{path}")
