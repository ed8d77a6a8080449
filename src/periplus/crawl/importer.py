"""The import of WARC files and JSON lines into the page store."""

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
    """The result of an import."""

    pages: int
    skipped: int
    """Records without a page: duplicates, failures, unsupported content types."""


class _Document(msgspec.Struct):
    """One line of a JSON lines file."""

    id: str | int = ""
    url: str = ""
    title: str = ""
    text: str = ""


def _quiet(stage: str, done: int, total: int) -> None:
    pass


def import_warc(
    store: PageStore, paths: Iterable[Path], settings: Settings, progress: Progress = _quiet
) -> ImportCount:
    """Import the responses of WARC files, parsed as if they had just been fetched."""
    duplicates = DuplicateTable()

    def records() -> Iterator[tuple[FetchRecord | None, FetchResult | None]]:
        for path in paths:
            yield from _read_responses(path, settings, duplicates)

    return _append(store, records(), progress)


def import_jsonl(
    store: PageStore, paths: Iterable[Path], settings: Settings, progress: Progress = _quiet
) -> ImportCount:
    """Import lines of {id, url, title, text}; an invalid line ends the import, and the lines before it are stored."""

    def records() -> Iterator[tuple[FetchRecord | None, FetchResult | None]]:
        for path in paths:
            for document in _read_lines(path):
                yield document, None

    return _append(store, records(), progress)


def _append(
    store: PageStore, records: Iterator[tuple[FetchRecord | None, FetchResult | None]], progress: Progress
) -> ImportCount:
    """Append records with a commit at intervals; records before an error are committed too."""
    pages = skipped = 0
    try:
        for record, result in records:
            if record is not None:
                store.append(record, result)
            if record is not None and record.page is not None:
                pages += 1
            else:
                skipped += 1
            done = pages + skipped
            if done % _STEP == 0:
                progress("import", done, 0)
            if done % _COMMIT == 0:
                store.commit()
    except BadFile as error:
        raise BadFile(error.message, f"{error.hint} {_describe_pages(pages)}".strip()) from error
    finally:
        store.commit()
    progress("import", pages + skipped, pages + skipped)
    return ImportCount(pages, skipped)


def _describe_pages(pages: int) -> str:
    """Return a sentence about the pages that were stored before an error."""
    if not pages:
        return ""
    number = "1 page is" if pages == 1 else f"{pages:,} pages are"
    return f"{number} stored; to search them, run: periplus index build."


def _read_responses(
    path: Path, settings: Settings, duplicates: DuplicateTable
) -> Iterator[tuple[FetchRecord | None, FetchResult | None]]:
    for response in read_warc(path):
        try:
            request = FetchRequest(parse_address(response.url))
        except BadUrl:
            yield None, None
            continue
        if not 200 <= response.status < 300 or not response.body:
            yield None, None
            continue
        body = response.body[: settings.fetch.max_bytes]
        result = FetchResult(request, Outcome.OK, response.when, response.status, tuple(response.headers), body)
        record = make_page_record(result, settings.parse, duplicates)
        duplicates.learn(record)
        yield record, result if record.page is not None else None


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
                f"{path}, line {number}: {error}.", "Each line is one JSON object with id, url, title and text."
            ) from None
        address = _document_address(document)
        if address is None:
            raise BadFile(f"{path}, line {number}: neither an id nor a valid url.", "Each line needs an id or a url.")
        page = Page(url=address.url, title=document.title, text=document.text, kind="text/plain")
        yield FetchRecord(address.url, address.key, Outcome.OK, now, 200, page=page, bytes=len(line))


def _document_address(document: _Document) -> Address | None:
    """Return the address of a document, or one derived from its id under a reserved host name."""
    if document.url:
        try:
            return parse_address(document.url)
        except BadUrl:
            pass
    name = str(document.id)
    if not name:
        return None
    # '.' and '..' are path segments with a meaning, even if they are percent-encoded.
    path = quote(name, safe="") if name.strip(".") else f"dots-{len(name)}"
    return parse_address(f"https://import.invalid/{path}")
