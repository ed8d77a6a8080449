"""The file `own_fields.arrays` of a segment: own fields of documents as they were sent, and columns of those declared.

    source_start   i64   where the JSON object of each document begins
    source         u8    these objects, without title, text and address
    content        u64   fingerprint of each document as it was sent, 0 for pages that were not
    NAME:value     f64   number, date (seconds since 1970) or boolean of each document, NaN where it has none
    NAME:start     i64   where the keywords of each document begin in NAME:word
    NAME:word      u32   numbers of keywords
    NAME:text_start i64, NAME:text u8   the keywords, sorted

A segment without such documents has no such file. A column that is missing, because the field was declared later, is
made from the objects when it is first needed.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.index.index_manifest import SEGMENT_FORMAT
from periplus.index.kernels import string_table
from periplus.index.own_fields.field_schema import Schema
from periplus.index.own_fields.field_values import convert_value
from periplus.settings import FieldSettings

__all__ = ["FieldColumn", "Sources", "column_arrays", "make_column", "merge_columns", "write_own_fields"]

PART: Final = "own_fields"
_NO_WORDS: Final = np.zeros(0, np.uint32)

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class Sources(NamedTuple):
    """The JSON objects of documents: where each begins, and their bytes."""

    start: Numbers
    data: Bytes

    def decode(self, document: int) -> dict[str, Any]:
        """Return the object of a document; an empty one if it has none."""
        raw = self.data[self.start[document] : self.start[document + 1]].tobytes()
        value = msgspec.json.decode(raw) if raw else {}
        return value if isinstance(value, dict) else {}


class FieldColumn(NamedTuple):
    """The values of one field: a number for each document, or keywords."""

    values: npt.NDArray[np.float64] | None
    start: Numbers
    words: npt.NDArray[np.uint32]
    text_start: Numbers
    text: Bytes

    def word(self, number: int) -> str:
        """Return a keyword by its number."""
        return self.text[self.text_start[number] : self.text_start[number + 1]].tobytes().decode("utf-8", "replace")

    @property
    def word_count(self) -> int:
        """How many keywords there are."""
        return len(self.text_start) - 1

    def find_word(self, word: bytes) -> int:
        """Return the number of a keyword, -1 if no document has it."""
        low, high = 0, self.word_count
        while low < high:
            middle = (low + high) // 2
            if self.text[self.text_start[middle] : self.text_start[middle + 1]].tobytes() < word:
                low = middle + 1
            else:
                high = middle
        found = low < self.word_count
        return low if found and self.text[self.text_start[low] : self.text_start[low + 1]].tobytes() == word else -1


def make_column(field: FieldSettings, values: Iterable[Any], documents: int) -> FieldColumn:
    """Return the column of a field from values of JSON; one that does not fit counts as missing."""
    if field.type == "keyword":
        return _keyword_column(field, values, documents)
    numbers = np.full(documents, np.nan)
    for document, value in enumerate(values):
        if value is not None and isinstance(converted := _convert(field, value), float):
            numbers[document] = converted
    numbers.flags.writeable = False  # as mapped ones are: kernels are compiled for these
    return FieldColumn(numbers, *_no_words(documents))


def _convert(field: FieldSettings, value: Any) -> float | tuple[str, ...] | None:
    try:
        return convert_value(field, value)
    except ValueError:
        return None


def _no_words(documents: int) -> tuple[Numbers, npt.NDArray[np.uint32], Numbers, Bytes]:
    return np.zeros(documents + 1, np.int64), _NO_WORDS, np.zeros(1, np.int64), np.zeros(0, np.uint8)


def _keyword_column(field: FieldSettings, values: Iterable[Any], documents: int) -> FieldColumn:
    numbers: dict[bytes, int] = {}
    words: list[int] = []
    start = np.zeros(documents + 1, np.int64)
    for document, value in enumerate(values):
        converted = _convert(field, value) if value is not None else None
        own = converted if isinstance(converted, tuple) else ()
        words += [numbers.setdefault(word.encode("utf-8", "replace"), len(numbers)) for word in own]
        start[document + 1] = len(words)
    ranks = np.zeros(len(numbers), np.uint32)
    in_order = sorted(numbers)
    ranks[[numbers[word] for word in in_order]] = np.arange(len(in_order), dtype=np.uint32)
    text_start = np.zeros(len(in_order) + 1, np.int64)
    np.cumsum([len(word) for word in in_order], out=text_start[1:])
    text = np.frombuffer(b"".join(in_order), np.uint8)
    all_words = ranks[np.array(words, np.int64)]
    start.flags.writeable = all_words.flags.writeable = False
    return FieldColumn(None, start, all_words, text_start, text)


def column_arrays(name: str, column: FieldColumn) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a column as they are stored."""
    if column.values is not None:
        return {f"{name}:value": column.values}
    parts: dict[str, npt.NDArray[Any]]
    parts = {"start": column.start, "word": column.words, "text_start": column.text_start, "text": column.text}
    return {f"{name}:{part}": array for part, array in parts.items()}


def write_own_fields(
    folder: Path,
    sources: Sources,
    content: npt.NDArray[np.uint64],
    schema: Schema,
    columns: dict[str, FieldColumn] | None = None,
) -> None:
    """Write the file of a segment; none if no document has own fields. columns: where they are known already."""
    if not len(sources.data):
        return
    if columns is None:
        objects = [sources.decode(document) for document in range(len(content))]
        columns = {
            name: make_column(field, (one.get(name) for one in objects), len(content))
            for name, field in schema.items()
            if field.has_column
        }
    arrays: dict[str, npt.NDArray[Any]] = {"source_start": sources.start, "source": sources.data, "content": content}
    for name, column in columns.items():
        arrays |= column_arrays(name, column)
    notes = {"types": {name: schema[name].type for name in columns}}
    write_arrays(folder / f"{PART}.arrays", PART, arrays, notes, format=SEGMENT_FORMAT)


def merge_columns(columns: Sequence[FieldColumn], maps: Sequence[Numbers], documents: int) -> FieldColumn:
    """Return the column of a merged segment; `maps` has the new number of each document, -1 if deleted."""
    if all(column.values is not None for column in columns):
        merged = np.full(documents, np.nan)
        for column, new in zip(columns, maps, strict=True):
            assert column.values is not None
            kept = np.flatnonzero(new[: len(column.values)] >= 0)
            merged[new[kept]] = column.values[kept]
        return FieldColumn(merged, *_no_words(documents))
    text, text_start, numbers = _merge_words(columns)
    sizes = np.zeros(documents, np.int64)
    for column, new in zip(columns, maps, strict=True):
        own = np.diff(column.start)
        kept = np.flatnonzero(new[: len(own)] >= 0)
        sizes[new[kept]] = own[kept]
    start = np.zeros(documents + 1, np.int64)
    np.cumsum(sizes, out=start[1:])
    words = np.zeros(int(start[-1]), np.uint32)
    for column, new, own_numbers in zip(columns, maps, numbers, strict=True):
        own = np.diff(column.start)
        kept = np.flatnonzero(new[: len(own)] >= 0)
        counts = own[kept]
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        there = np.repeat(start[new[kept]], counts) + within
        words[there] = own_numbers[column.words[np.repeat(column.start[kept], counts) + within]]
    return FieldColumn(None, start, words, text_start, text)


def _merge_words(columns: Sequence[FieldColumn]) -> tuple[Bytes, Numbers, list[npt.NDArray[np.uint32]]]:
    """Return the keywords of all columns, sorted, where each begins, and the new numbers of those of each column."""
    tables = np.cumsum([0, *(column.word_count for column in columns)], dtype=np.int64)
    offsets = np.cumsum([0, *(len(column.text) for column in columns)], dtype=np.int64).tolist()
    blob = np.concatenate([np.zeros(0, np.uint8), *(column.text for column in columns)])
    starts = [column.text_start + offset for column, offset in zip(columns, offsets, strict=False)]
    begin = np.concatenate([np.zeros(0, np.int64), *(start[:-1] for start in starts)])
    end = np.concatenate([np.zeros(0, np.int64), *(start[1:] for start in starts)])
    numbers, owners = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
    count = string_table.merge_sorted(blob, begin, end, tables, numbers, owners)
    text, text_start = string_table.reorder_strings(blob, begin, end, owners[:count])
    spans = zip(tables[:-1].tolist(), tables[1:].tolist(), strict=True)
    return text, text_start, [numbers[a:b].astype(np.uint32) for a, b in spans]
