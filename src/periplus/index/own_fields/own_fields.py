"""The own fields of one segment, read: objects, columns, sets of documents, counts and orders."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.index.kernels import string_table
from periplus.index.own_fields import kernels
from periplus.index.own_fields.field_columns import (
    FieldColumn,
    Sources,
    make_column,
    merge_columns,
    write_own_fields,
)
from periplus.index.own_fields.field_schema import Schema
from periplus.settings import FieldSettings

__all__ = ["OwnFields", "check_own_fields", "merge_own_fields"]

_NO_WORDS: Final = (np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(0, np.uint8))

Numbers = npt.NDArray[np.int64]
Sets = npt.NDArray[np.uint64]


class OwnFields:
    """The own fields of a segment; `file` is None where no document has any."""

    def __init__(self, file: ArrayFile | None, documents: int) -> None:
        self._file = file
        self._documents = documents
        self._made: dict[tuple[str, str], FieldColumn] = {}
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether any document has own fields, or was sent."""
        return self._file is not None

    @property
    def sources(self) -> Sources:
        """The objects of all documents."""
        if self._file is None:
            return Sources(np.zeros(self._documents + 1, np.int64), np.zeros(0, np.uint8))
        return Sources(self._file["source_start"], self._file["source"])

    @property
    def content(self) -> npt.NDArray[np.uint64]:
        """The fingerprint of each document as it was sent, 0 for others."""
        return np.zeros(self._documents, np.uint64) if self._file is None else self._file["content"]

    def source(self, document: int) -> bytes:
        """Return the object of a document as JSON, b'' if it has none."""
        if self._file is None:
            return b""
        start, data = self.sources
        return data[start[document] : start[document + 1]].tobytes()

    def column(self, name: str, field: FieldSettings) -> FieldColumn:
        """Return a column; one that is not stored in this type is made of the objects, and kept."""
        file = self._file
        if file is None:
            return make_column(field, (), self._documents)
        types = file.notes.get("types")
        if isinstance(types, dict) and types.get(name) == field.type:
            return self._stored(file, name, field)
        with self._lock:
            if (name, field.type) not in self._made:
                sources = self.sources
                values = (sources.decode(document).get(name) for document in range(self._documents))
                self._made[name, field.type] = make_column(field, values, self._documents)
            return self._made[name, field.type]

    def _stored(self, file: ArrayFile, name: str, field: FieldSettings) -> FieldColumn:
        if field.type == "keyword":
            parts = (file[f"{name}:{part}"] for part in ("start", "word", "text_start", "text"))
            return FieldColumn(None, *parts)
        return FieldColumn(file[f"{name}:value"], np.zeros(self._documents + 1, np.int64), *_NO_WORDS)

    def in_range(self, name: str, field: FieldSettings, low: float, high: float) -> Sets:
        """Return the documents whose value is from `low` to `high`, as a set."""
        sets, values = self._no_documents(), self.column(name, field).values
        if values is not None:
            kernels.mark_range(values, low, high, sets)
        return sets

    def with_words(self, name: str, field: FieldSettings, words: Sequence[str]) -> Sets:
        """Return the documents that have any of some keywords, as a set."""
        sets, column = self._no_documents(), self.column(name, field)
        wanted = np.zeros(max(1, column.word_count), np.bool_)
        numbers = [column.find_word(word.encode("utf-8", "replace")) for word in words]
        wanted[[number for number in numbers if number >= 0]] = True
        if wanted.any():
            kernels.mark_words(column.start, column.words, wanted, sets)
        return sets

    def with_any(self, name: str, field: FieldSettings) -> Sets:
        """Return the documents that have a value, as a set."""
        column = self.column(name, field)
        if column.values is not None:
            return self.in_range(name, field, -np.inf, np.inf)
        chosen = np.zeros(len(self._no_documents()) * 64, np.uint8)
        chosen[: self._documents] = np.diff(column.start) > 0
        packed: Sets = np.packbits(chosen, bitorder="little").view(np.uint64)
        return packed

    def _no_documents(self) -> Sets:
        return np.zeros(-(-self._documents // 64), np.uint64)

    def count_words(self, name: str, field: FieldSettings, sets: Sets) -> tuple[FieldColumn, Numbers]:
        """Return the column of a field of keywords, and how many documents of a set have each of them."""
        column = self.column(name, field)
        counts = np.zeros(column.word_count, np.int64)
        kernels.count_words(column.start, column.words, sets, counts)
        return column, counts

    def gather_values(self, name: str, field: FieldSettings, sets: Sets) -> npt.NDArray[np.float64]:
        """Return the values of the documents of a set that have one."""
        values = self.column(name, field).values
        if values is None:
            return np.zeros(0)
        out = np.empty(len(values))
        return out[: kernels.gather_values(values, sets, out)]

    def sort_keys(self, name: str, field: FieldSettings, documents: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return what documents of this segment are sorted by: their value, or the number of their first keyword."""
        column = self.column(name, field)
        if column.values is not None:
            return np.asarray(column.values[documents])
        keys = np.full(len(documents), np.nan)
        begin, end = column.start[documents], column.start[documents + 1]
        has_word = end > begin
        keys[has_word] = column.words[begin[has_word]]
        return keys


def merge_own_fields(
    folder: Path, fields: Sequence[OwnFields], maps: Sequence[Numbers], order: Numbers, schema: Schema
) -> None:
    """Write the file of a merged segment.

    maps: the new number of each document by segment, -1 if deleted; order: for each new document, its number among the
    documents of all segments one after the other.
    """
    if not any(own.exists for own in fields):
        return
    sources = [own.sources for own in fields]
    data = np.concatenate([np.zeros(0, np.uint8), *(source.data for source in sources)])
    offsets = np.cumsum([0, *(len(source.data) for source in sources)], dtype=np.int64).tolist()
    starts = [source.start + offset for source, offset in zip(sources, offsets, strict=False)]
    begin = np.concatenate([start[:-1] for start in starts])
    end = np.concatenate([start[1:] for start in starts])
    in_order, start = string_table.reorder_strings(data, begin, end, order)
    content = np.concatenate([own.content for own in fields])[order]
    columns = {
        name: merge_columns([own.column(name, field) for own in fields], maps, len(order))
        for name, field in schema.items()
        if field.has_column
    }
    write_own_fields(folder, Sources(start, in_order), content, schema, columns)


def check_own_fields(file: ArrayFile, documents: int, damaged: Any) -> None:
    """Raise what `damaged` returns for the name of an array that does not fit a segment of so many documents."""
    for name in file.sizes():
        array = file[name]
        base, _, part = name.rpartition(":")
        if not base:
            continue
        kind = {"value": "<f8", "start": "<i8", "word": "<u4", "text_start": "<i8", "text": "|u1"}.get(part)
        if kind is None or array.dtype.str != kind or array.ndim != 1:
            raise damaged(name)
        if part == "value" and len(array) != documents:
            raise damaged(name)
        if part == "start" and not (
            len(array) == documents + 1 and f"{base}:word" in file and _are_offsets(array, len(file[f"{base}:word"]))
        ):
            raise damaged(name)
        if part == "text_start" and not (f"{base}:text" in file and _are_offsets(array, len(file[f"{base}:text"]))):
            raise damaged(name)
        if part == "word":
            texts = len(file[f"{base}:text_start"]) - 1 if f"{base}:text_start" in file else 0
            if f"{base}:start" not in file or (len(array) and int(array.max()) >= texts):
                raise damaged(name)
    if not (len(file["content"]) == documents and len(file["source_start"]) == documents + 1):
        raise damaged("content")
    if not _are_offsets(file["source_start"], len(file["source"])):
        raise damaged("source_start")


def _are_offsets(start: npt.NDArray[Any], size: int) -> bool:
    """Return whether offsets rise from 0 to the size."""
    return len(start) > 0 and int(start[0]) == 0 and int(start[-1]) == size and bool((start[1:] >= start[:-1]).all())
