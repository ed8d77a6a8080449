"""The import of WARC files and JSON lines into the page store."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from periplus.crawl.fetch_records import DuplicateTable, make_page_record
from periplus.errors import BadFile, BadUrl
from periplus.hashing import fingerprint
from periplus.parse import ParsedDocument, ParseJob, ParserPool, needs_process
from periplus.records import Address, FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import Settings
from periplus.store import PageStore, read_lines, read_warc
from periplus.typed_decoding import json_decoder
from periplus.url import parse_address

__all__ = ["ImportCount", "import_jsonl", "import_warc"]

Progress = Callable[[str, int, int], None]

_STEP: Final = 2_000
_COMMIT: Final = 50_000
_AHEAD: Final = 32
"""Responses that are read before the record of the first of them is complete."""
_WAIT: Final = 1.0


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
    with ParserPool(settings.parse) as pool:
        results = (result for path in paths for result in _read_responses(path, settings))
        return _append(store, _ImportParser(settings, pool).records(results), progress)


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


def _read_responses(path: Path, settings: Settings) -> Iterator[FetchResult | None]:
    """Return the successful responses of a WARC file, and None for each other one."""
    for response in read_warc(path):
        try:
            request = FetchRequest(parse_address(response.url))
        except BadUrl:
            yield None
            continue
        if not 200 <= response.status < 300 or not response.body:
            yield None
            continue
        body = response.body[: settings.fetch.max_bytes]
        yield FetchResult(request, Outcome.OK, response.when, response.status, tuple(response.headers), body)


class _ImportParser:
    """Parses responses: documents ahead in other processes, all others when it is their turn."""

    def __init__(self, settings: Settings, pool: ParserPool) -> None:
        self._settings = settings.parse
        self._pool = pool
        self._duplicates = DuplicateTable()
        self._waiting: deque[tuple[FetchResult | None, int]] = deque()
        """Responses in the order of the files, with the number of their document, or 0."""
        self._parsed: dict[int, ParsedDocument] = {}

    def records(self, results: Iterator[FetchResult | None]) -> Iterator[tuple[FetchRecord | None, FetchResult | None]]:
        """Return the records of the responses, in their order."""
        for result in results:
            self._waiting.append((result, self._submit(result)))
            self._poll(0.0)
            while self._waiting and (len(self._waiting) > _AHEAD or self._is_ready()):
                yield self._next_record()
        while self._waiting:
            yield self._next_record()

    def _submit(self, result: FetchResult | None) -> int:
        if result is None or not needs_process(result):
            return 0
        if self._duplicates.find_duplicate(fingerprint(result.body), result.request.address.url):
            return 0
        return self._pool.submit(ParseJob(result, self._settings))

    def _poll(self, timeout: float) -> None:
        self._parsed.update((parsed.number, parsed) for parsed in self._pool.poll(timeout))

    def _is_ready(self) -> bool:
        number = self._waiting[0][1]
        return not number or number in self._parsed

    def _next_record(self) -> tuple[FetchRecord | None, FetchResult | None]:
        while not self._is_ready():
            self._poll(_WAIT)
        result, number = self._waiting.popleft()
        if result is None:
            return None, None
        parsed = self._parsed.pop(number, None)
        record = make_page_record(result, self._settings, self._duplicates, parsed=parsed)
        self._duplicates.learn(record)
        return record, result if record.page is not None else None


def _read_lines(path: Path) -> Iterator[FetchRecord | None]:
    decoder = json_decoder(_Document)
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
