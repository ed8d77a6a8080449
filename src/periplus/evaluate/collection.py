"""Judged collections: documents, queries, and which documents are right for which query."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from periplus.errors import BadFile
from periplus.evaluate.trec_files import read_qrels
from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord, Outcome, Page
from periplus.store import read_lines
from periplus.typed_decoding import parse_json

__all__ = ["Collection", "read_collection", "read_documents"]

_T = TypeVar("_T")
_ENDINGS: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")


class _DocumentLine(msgspec.Struct):
    id: str | int
    title: str = ""
    text: str = ""
    url: str = ""


class _QueryLine(msgspec.Struct):
    id: str | int
    text: str


class Collection(NamedTuple):
    """A collection, its documents still on disk."""

    documents: Path
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def read_collection(folder: Path) -> Collection:
    """Read queries and judgements of a collection folder; `BadFile` says what is missing."""
    documents = _find(folder, "docs")
    questions = [_decode(line, _QueryLine, folder / "queries", n) for n, line in _lines(_find(folder, "queries"))]
    return Collection(documents, {str(q.id): q.text for q in questions}, read_qrels(folder / "qrels.tsv"))


def read_documents(documents: Path, ids: list[str]) -> Iterator[FetchRecord]:
    """Read the documents as if they had been crawled; `ids` gets the collection's name of each, by key order."""
    for number, line in _lines(documents):
        document = _decode(line, _DocumentLine, documents, number)
        # A made-up address must not carry words of the collection's own ids into the index.
        url = document.url or f"https://collection.invalid/{len(ids)}"
        page = Page(url=url, title=document.title, text=document.text, kind="text/plain")
        ids.append(str(document.id))
        yield FetchRecord(url, fingerprint_text(f"{len(ids) - 1}"), Outcome.OK, 0.0, 200, page=page)


def _find(folder: Path, stem: str) -> Path:
    for ending in _ENDINGS:
        if (folder / f"{stem}{ending}").is_file():
            return folder / f"{stem}{ending}"
    raise BadFile(f"{folder} has no {stem}.jsonl.", "A collection has docs.jsonl, queries.jsonl and qrels.tsv.")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield number, line


def _decode(line: bytes, kind: type[_T], path: Path, number: int) -> _T:
    try:
        return parse_json(line, kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadFile(f"{path} line {number} is not what it should be: {error}.") from None
