"""Judgements of results and clicks on them, as JSON lines in the data folder.

    judgements.jsonl   {"query", "url", "grade", "when"}               one key pressed on a result; the last one counts
    clicks.jsonl       {"query", "url", "position", "shown", "when", "source"}   what was opened, of what was shown

Any process may append: a line has a checksum and is written by one call. Readers leave out damaged lines, and one that
a crash cut short; see `json_lines`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from periplus.json_lines import append_json_line, read_json_lines
from periplus.typed_decoding import json_decoder, parse_json

__all__ = ["CLICKS_FILE", "Click", "Judgement", "read_clicks", "read_judgements", "write_click", "write_judgement"]

JUDGEMENTS_FILE: Final = "judgements.jsonl"
CLICKS_FILE: Final = "clicks.jsonl"
_FORMAT: Final = 2
"""Version of the line format; raised with every change to it. Since 2, lines have checksums."""
_LARGEST: Final = 256 << 20
"""Bytes after which a file takes no more lines."""
_LONGEST_LINE: Final = 1 << 19
_QueryText = Annotated[str, Meta(min_length=1, max_length=2_000)]
_UrlText = Annotated[str, Meta(min_length=1, max_length=4_000)]
_T = TypeVar("_T")


class Judgement(msgspec.Struct, frozen=True):
    """How well one page answers one query: 0 is not at all, 4 is perfectly."""

    query: _QueryText
    url: _UrlText
    grade: Annotated[int, Meta(ge=0, le=4)]
    when: float = 0.0


class Click(msgspec.Struct, frozen=True, omit_defaults=True):
    """A result that somebody opened."""

    query: _QueryText
    url: _UrlText
    position: Annotated[int, Meta(ge=1, le=1_000)]
    """Where it stood: 1 is the first."""
    shown: Annotated[tuple[_UrlText, ...], Meta(max_length=100)] = ()
    """All results that stood there, best first."""
    when: float = 0.0
    source: int = 0
    """1 to 63: pseudonym of the reader, different for every query and page; 0 is unknown."""


def write_judgement(folder: Path, judgement: Judgement) -> bool:
    """Append a judgement to a data folder; return False if it is invalid or the file is full."""
    return _append(folder / JUDGEMENTS_FILE, judgement)


def write_click(folder: Path, click: Click) -> bool:
    """Append a click to a data folder; return False if it is invalid or the file is full."""
    return _append(folder / CLICKS_FILE, click)


def read_judgements(folder: Path) -> list[Judgement]:
    """Return the judgements of a data folder; of those on the same query and page, the last."""
    last = {(judgement.query, judgement.url): judgement for judgement in _read(folder / JUDGEMENTS_FILE, Judgement)}
    return list(last.values())


def read_clicks(folder: Path) -> Iterator[Click]:
    """Return the clicks of a data folder, oldest first."""
    return _read(folder / CLICKS_FILE, Click)


def _append(path: Path, record: Judgement | Click) -> bool:
    """Append one line if it is valid and the file is not full; return whether it was appended."""
    line = msgspec.json.encode(record)
    try:
        parse_json(line, type(record))
    except msgspec.MsgspecError:
        return False
    return len(line) <= _LONGEST_LINE and append_json_line(path, line, _FORMAT, _LARGEST)


def _read(path: Path, kind: type[_T]) -> Iterator[_T]:
    """Yield the records of a file; lines that cannot be decoded are skipped."""
    decoder = json_decoder(kind)
    for line in read_json_lines(path, _FORMAT, checksum_since=2):
        try:
            yield decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
