"""The file `extras.arrays` of a segment: which documents are news, and the images, sounds and films of each.

    news             u32   numbers of documents that are news, rising
    media_document   u32   numbers of documents that show media, rising
    media_start      u64   where each pack begins: a pack is compressed, and has the media of 32 of those documents
    media            u8    the packs

A segment of which no document has any of it has no such file.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index.segment import Segment
from periplus.records import Media, Page
from periplus.store import compress, decompress

__all__ = ["EXTRAS", "documents_having", "is_news", "merge_extras", "pick_media", "read_media", "write_extras"]

EXTRAS: Final = ("media", "news")
"""What a document may have beside its text."""
_MOST: Final = 8
"""Media of one document that are kept, the first on the page."""
_LONGEST_URL: Final = 500
_LONGEST_TEXT: Final = 160
_KINDS: Final = frozenset({"image", "audio", "video"})
_PACK: Final = 32
_LARGEST_PACK: Final = _PACK * _MOST * 4 * (_LONGEST_URL + _LONGEST_TEXT + 32)
_NONE: Final = np.zeros(0, np.int64)

T = TypeVar("T")
Shown = tuple[Media, ...]
Numbers = npt.NDArray[np.int64]


def pick_media(page: Page) -> Shown:
    """Choose what is kept of a page's media: those with words beside them, as only words can be searched."""
    return tuple(
        Media(one.url, one.kind, one.text[:_LONGEST_TEXT])
        for one in page.media[: 8 * _MOST]
        if one.kind in _KINDS and one.text.strip() and 0 < len(one.url) <= _LONGEST_URL
    )[:_MOST]


def is_news(page: Page) -> bool:
    """Say whether a page is news: it says when it was published, and its site has a feed for those who follow it."""
    return bool(page.published and page.feeds)


def write_extras(folder: Path, media: Iterable[Shown], news: Iterable[bool]) -> None:
    """Write the file of a segment, given what each document has, in order; none if none has anything."""
    numbers, packs, waiting = list[int](), list[bytes](), list[Shown]()
    for number, shown in enumerate(media):
        if shown:
            numbers.append(number)
            waiting.append(shown)
            if len(waiting) == _PACK:
                packs.append(compress(msgspec.msgpack.encode(waiting)))
                waiting.clear()
    packs += [compress(msgspec.msgpack.encode(waiting))] if waiting else []
    flagged = np.flatnonzero(np.fromiter(news, np.bool_)).astype(np.uint32)
    if not numbers and not len(flagged):
        return
    starts = np.zeros(len(packs) + 1, np.uint64)
    np.cumsum([len(pack) for pack in packs], out=starts[1:])
    arrays: dict[str, npt.NDArray[Any]] = {
        "news": flagged,
        "media_document": np.array(numbers, np.uint32),
        "media_start": starts,
        "media": np.frombuffer(b"".join(packs), np.uint8),
    }
    write_arrays(folder / "extras.arrays", "extras", arrays)


def merge_extras(folder: Path, segments: Sequence[Segment], maps: Sequence[Numbers]) -> None:
    """Write the file of a segment made of others; `maps` says where the documents of each went (-1: nowhere)."""
    count = 1 + max((int(new.max()) for new in maps if len(new)), default=-1)
    news = np.zeros(count, np.bool_)
    media: list[Shown] = [()] * count
    for segment, new in zip(segments, maps, strict=True):
        where = new[documents_having(segment, "news")]
        news[where[where >= 0]] = True
        for document, shown in _all_media(segment):
            if new[document] >= 0:
                media[int(new[document])] = shown
    write_extras(folder, media, news)


def documents_having(segment: Segment, what: str) -> Numbers:
    """Give the numbers of documents that have something: one of `EXTRAS`."""
    file = segment.files.get("extras")
    name = "news" if what == "news" else "media_document"
    known = _checked(file, name, segment.documents) if file is not None else _NONE
    return np.union1d(known, segment.late_news) if what == "news" and len(segment.late_news) else known


def read_media(segment: Segment, document: int) -> Shown:
    """Give the media of a document."""
    file = segment.files.get("extras")
    if file is None:
        return ()
    documents = file["media_document"]
    place = int(np.searchsorted(documents, document))
    if place >= len(documents) or int(documents[place]) != document:
        return ()
    return _unpack(file, place // _PACK)[place % _PACK]


def _all_media(segment: Segment) -> Iterator[tuple[int, Shown]]:
    documents, file = documents_having(segment, "media").tolist(), segment.files.get("extras")
    for number, part in enumerate(_parts(documents)):
        assert file is not None
        yield from zip(part, _unpack(file, number), strict=False)


def _parts(values: list[T]) -> Iterator[list[T]]:
    for begin in range(0, len(values), _PACK):
        yield values[begin : begin + _PACK]


def _unpack(file: ArrayFile, number: int) -> list[Shown]:
    begin, end = file["media_start"][number : number + 2].tolist()
    try:
        return msgspec.msgpack.decode(decompress(file["media"][begin:end].tobytes(), _LARGEST_PACK), type=list[Shown])
    except Exception as error:
        raise CorruptFile(f"{file.path} is damaged in pack {number}: {error}.") from error


def _checked(file: ArrayFile, name: str, documents: int) -> Numbers:
    numbers: npt.NDArray[Any] = file[name].astype(np.int64)
    if numbers.ndim != 1 or (len(numbers) and not 0 <= int(numbers[-1]) < documents):
        raise CorruptFile(f"{file.path} has an impossible array '{name}'.")
    return numbers
