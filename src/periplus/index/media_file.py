"""The file `extras.arrays` of a segment: which documents are news, and the images, sounds and films of each.

    news             u32   numbers of documents that are news, ascending
    media_document   u32   numbers of documents with media, ascending
    media_start      u64   where each pack begins: the media of 32 of those documents, compressed
    media            u8    the packs

A segment without news and media has no such file.
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
from periplus.typed_decoding import parse_msgpack

__all__ = ["EXTRAS", "documents_with", "is_news", "merge_extras", "read_media", "select_media", "write_extras"]

EXTRAS: Final = ("media", "news")
"""What a document may have besides its text."""
_MAX_MEDIA: Final = 8
"""Media of one document that are stored, the first on the page."""
_MAX_URL_LENGTH: Final = 500
_MAX_TEXT_LENGTH: Final = 160
_KINDS: Final = frozenset({"image", "audio", "video"})
_PACK_DOCUMENTS: Final = 32
_MAX_PACK_BYTES: Final = _PACK_DOCUMENTS * _MAX_MEDIA * 4 * (_MAX_URL_LENGTH + _MAX_TEXT_LENGTH + 32)
_NONE: Final = np.zeros(0, np.int64)

T = TypeVar("T")
MediaTuple = tuple[Media, ...]
Numbers = npt.NDArray[np.int64]


def select_media(page: Page) -> MediaTuple:
    """Return the media of a page that are stored: those with a text, as only text can be searched."""
    return tuple(
        Media(item.url, item.kind, item.text[:_MAX_TEXT_LENGTH])
        for item in page.media[: 8 * _MAX_MEDIA]
        if item.kind in _KINDS and item.text.strip() and 0 < len(item.url) <= _MAX_URL_LENGTH
    )[:_MAX_MEDIA]


def is_news(page: Page) -> bool:
    """Return whether a page is news: it states when it was published, and links to a feed."""
    return bool(page.published and page.feeds)


def write_extras(folder: Path, media: Iterable[MediaTuple], news: Iterable[bool]) -> None:
    """Write the file of a segment, given the media of each document and whether it is news; none if it were empty."""
    numbers, packs, pack_documents = list[int](), list[bytes](), list[MediaTuple]()
    for number, media_of_document in enumerate(media):
        if media_of_document:
            numbers.append(number)
            pack_documents.append(media_of_document)
            if len(pack_documents) == _PACK_DOCUMENTS:
                packs.append(compress(msgspec.msgpack.encode(pack_documents)))
                pack_documents.clear()
    packs += [compress(msgspec.msgpack.encode(pack_documents))] if pack_documents else []
    news_documents = np.flatnonzero(np.fromiter(news, np.bool_)).astype(np.uint32)
    if not numbers and not len(news_documents):
        return
    starts = np.zeros(len(packs) + 1, np.uint64)
    np.cumsum([len(pack) for pack in packs], out=starts[1:])
    arrays: dict[str, npt.NDArray[Any]] = {
        "news": news_documents,
        "media_document": np.array(numbers, np.uint32),
        "media_start": starts,
        "media": np.frombuffer(b"".join(packs), np.uint8),
    }
    write_arrays(folder / "extras.arrays", "extras", arrays)


def merge_extras(folder: Path, segments: Sequence[Segment], maps: Sequence[Numbers]) -> None:
    """Write the file of a merged segment; `maps` has the new numbers of the documents of each (-1: deleted)."""
    count = 1 + max((int(new.max()) for new in maps if len(new)), default=-1)
    news = np.zeros(count, np.bool_)
    media: list[MediaTuple] = [()] * count
    for segment, new in zip(segments, maps, strict=True):
        new_numbers = new[documents_with(segment, "news")]
        news[new_numbers[new_numbers >= 0]] = True
        for document, media_of_document in _all_media(segment):
            if new[document] >= 0:
                media[int(new[document])] = media_of_document
    write_extras(folder, media, news)


def documents_with(segment: Segment, kind: str) -> Numbers:
    """Return the numbers of documents that have one of `EXTRAS`, ascending."""
    file = segment.files.get("extras")
    name = "news" if kind == "news" else "media_document"
    stored = _read_documents(file, name, segment.documents) if file is not None else _NONE
    return np.union1d(stored, segment.late_news) if kind == "news" and len(segment.late_news) else stored


def read_media(segment: Segment, document: int) -> MediaTuple:
    """Return the media of a document."""
    file = segment.files.get("extras")
    if file is None:
        return ()
    documents = file["media_document"]
    row = int(np.searchsorted(documents, document))
    if row >= len(documents) or int(documents[row]) != document:
        return ()
    return _unpack(file, row // _PACK_DOCUMENTS)[row % _PACK_DOCUMENTS]


def _all_media(segment: Segment) -> Iterator[tuple[int, MediaTuple]]:
    documents, file = documents_with(segment, "media").tolist(), segment.files.get("extras")
    for number, part in enumerate(_chunks(documents)):
        assert file is not None
        yield from zip(part, _unpack(file, number), strict=False)


def _chunks(values: list[T]) -> Iterator[list[T]]:
    for begin in range(0, len(values), _PACK_DOCUMENTS):
        yield values[begin : begin + _PACK_DOCUMENTS]


def _unpack(file: ArrayFile, number: int) -> list[MediaTuple]:
    begin, end = file["media_start"][number : number + 2].tolist()
    try:
        return parse_msgpack(decompress(file["media"][begin:end].tobytes(), _MAX_PACK_BYTES), list[MediaTuple])
    except Exception as error:
        raise CorruptFile(f"{file.path} is damaged in pack {number}: {error}.") from error


def _read_documents(file: ArrayFile, name: str, documents: int) -> Numbers:
    numbers: npt.NDArray[Any] = file[name].astype(np.int64)
    if numbers.ndim != 1 or (len(numbers) and not 0 <= int(numbers[-1]) < documents):
        raise CorruptFile(f"{file.path} has an invalid array '{name}'.")
    return numbers
