"""The file `static_vectors.arrays` of a segment: vectors of passages by the static model.

    start   u32 (documents + 1)         the first row of each document in `signs`, and the end of the last
    signs   u8  (passages, width / 8)   the signs of each passage's vector, eight to a byte

The note `recipe` names the model and how passages are cut: vectors of another recipe are not used, and a merge computes
them again.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.index.segment import Segment
from periplus.index.segment_file import write_segment_file
from periplus.static_embeddings import PassageRows, StaticModel, load_static_model
from periplus.text import LANGUAGES

__all__ = [
    "STATIC_VECTORS",
    "embed_segment",
    "merge_static_vectors",
    "select_passages",
    "stored_vectors",
    "write_static_vectors",
]

STATIC_VECTORS: Final = "static_vectors"
_CHUNK: Final = 1_024
"""Documents that are embedded at a time, at most."""
_CHUNK_BYTES: Final = 8_000_000
"""Text of theirs that is in memory at a time, unless one document has more."""

Numbers = npt.NDArray[np.int64]


def write_static_vectors(folder: Path, passages: PassageRows) -> None:
    """Write the file of a segment, given the vectors of its documents in order."""
    arrays: dict[str, npt.NDArray[Any]] = {"start": _starts(passages.rows).astype(np.uint32), "signs": passages.signs}
    write_segment_file(folder, STATIC_VECTORS, arrays, {"recipe": load_static_model().recipe}, packed=("start",))


def select_passages(passages: PassageRows, documents: Numbers) -> PassageRows:
    """Return the vectors of some documents, in their order."""
    rows = passages.rows[documents]
    begin = _starts(passages.rows)[:-1][documents]
    within = np.arange(int(rows.sum()), dtype=np.int64) - np.repeat(_starts(rows)[:-1], rows)
    return PassageRows(passages.signs[np.repeat(begin, rows) + within], rows)


def stored_vectors(segment: Segment, model: StaticModel) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint32]] | None:
    """Return signs and offsets of a segment's vectors; None if it has none of the model's recipe and width."""
    file = segment.files.get(STATIC_VECTORS)
    if file is None or file.notes.get("recipe") != model.recipe or file["signs"].shape[1] != model.width // 8:
        return None
    return file["signs"], file["start"]


def merge_static_vectors(
    folder: Path, segments: Sequence[Segment], owners: npt.NDArray[np.int32], numbers: Numbers
) -> None:
    """Write the file of a merged segment; document n comes from the segment `owners[n]`, where it is `numbers[n]`."""
    parts = [_read_or_embed(segment) for segment in segments]
    width = load_static_model().width // 8
    signs = np.concatenate([np.zeros((0, width), np.uint8), *(part.signs for part in parts)])
    rows = np.concatenate([np.zeros(0, np.int32), *(part.rows for part in parts)])
    first = np.cumsum([0, *(segment.documents for segment in segments)])
    write_static_vectors(folder, select_passages(PassageRows(signs, rows), first[owners] + numbers))


def _read_or_embed(segment: Segment) -> PassageRows:
    model = load_static_model()
    if (stored := stored_vectors(segment, model)) is None:
        return embed_segment(segment, model)
    return PassageRows(stored[0], np.diff(stored[1].astype(np.int64)).astype(np.int32))


def embed_segment(segment: Segment, model: StaticModel) -> PassageRows:
    """Return the vectors of all documents of a segment, computed from what it stores."""
    parts = list(_embed_chunks(segment, model))
    signs = np.concatenate([np.zeros((0, model.width // 8), np.uint8), *(part.signs for part in parts)])
    return PassageRows(signs, np.concatenate([np.zeros(0, np.int32), *(part.rows for part in parts)]))


def _embed_chunks(segment: Segment, model: StaticModel) -> Iterator[PassageRows]:
    title_start, title_blob = segment.table("title")
    languages = segment.column("language")
    for documents in _split_documents(segment):
        first = documents.start
        texts = [segment.text(document) for document in documents]
        begin = int(title_start[first])
        heads = title_blob[begin : int(title_start[documents.stop])].tobytes()
        titles = _spans(title_start[first : documents.stop + 1].astype(np.int64) - begin)
        bodies = _spans(len(heads) + _starts(np.array([len(text) for text in texts], np.int64)))
        data = np.frombuffer(heads + b"".join(texts), np.uint8)
        codes = [LANGUAGES[number] for number in languages[first : documents.stop].tolist()]
        yield model.embed_documents(data, titles, bodies, codes)


def _split_documents(segment: Segment) -> Iterator[range]:
    """Split the documents of a segment into runs that are embedded at a time."""
    first = size = 0
    for document in range(segment.documents):
        length = segment.stored_texts.length(document)
        if document > first and (document - first == _CHUNK or size + length > _CHUNK_BYTES):
            yield range(first, document)
            first, size = document, 0
        size += length
    if segment.documents > first:
        yield range(first, segment.documents)


def _starts(sizes: npt.NDArray[Any]) -> Numbers:
    """Return where items of these sizes begin, and the end of the last."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _spans(starts: Numbers) -> Numbers:
    return np.stack((starts[:-1], starts[1:]), axis=1)
