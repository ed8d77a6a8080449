"""Validates the files of a segment when it is opened: types, lengths, offsets, numbers of documents.

Kernels read these arrays without checking where they are. What is validated here takes time in proportion to the
offsets and columns, not to all bytes: postings are validated when a term is first looked up, by `kernels.term_checks`,
and positions while they are read. None of this depends on fingerprints, which a file with any contents can have.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile
from periplus.index.kernels import inversion, postings_format, postings_reader, term_dictionary
from periplus.index.own_fields.own_fields import check_own_fields
from periplus.index.plain_impacts import are_plain_impacts
from periplus.index.segment_file import SegmentFile
from periplus.index.skip_entries.skip_columns import SKIP_COLUMNS
from periplus.index.validation.kernels import offsets
from periplus.index.vocabulary.name_file import find_damage
from periplus.text import LANGUAGES

__all__ = ["check_segment_files", "damaged_array", "open_documents"]

_INTEGERS: Final = "|u1 <u2 <u4 <u8 |i1 <i2 <i4 <i8"
_TYPES: Final[dict[str, dict[str, str]]] = {
    "lexicon": {"pages": "|u1", "page_start": "<i8", "page_stream": "<i8", "page_position": "<i8", "terms": "<i8"},
    "postings": {"stream": "|u1", "positions": "|u1", "wide": "<i8", **dict.fromkeys(SKIP_COLUMNS, "<u4")},
    "text": {"first": "<u4", "start": "<u8", "end": "<u4", "text": "|u1"},
    "documents": {
        **{f"{table}_start": "<i8" for table in ("url", "title", "hosts", "kinds")},
        **{f"{table}_blob": "|u1" for table in ("url", "title", "hosts", "kinds")},
        **dict.fromkeys(("key", "title_key"), "<u8 |u1 <u2 <u4"),
        **dict.fromkeys(("static", "block_static"), "<f4"),
        **dict.fromkeys(("host", "kind", "day", "flags", "length"), _INTEGERS),
        **{"language": "|u1", "fetched": "<f8"},
    },
    "words": {
        **{"words": "|u1", "pair_key": "<u4", "pair_count": "<u2", "numbers": "<i8"},
        **{"complete_text": "|u1", "complete_start": "<u4", "complete_source": "<i4", "complete_worth": "|u1"},
        **{"complete_order": "<u4", "complete_rank": "|u1", "complete_peak": "|u1"},
        **{"site_key": "<u8", "site_document": "<i4"},
    },
    "static_vectors": {"start": "<u4", "signs": "|u1"},
    "names": {"mentions": "<i4"},
    "word_pairs": {"pair_key": "<u4", "list_start": "<i8", "lists": "|u1"},
    "own_fields": {"source": "|u1", "source_start": "<i8", "content": "<u8"},
    "extras": {"news": "<u4", "media_document": "<u4", "media_start": "<u8", "media": "|u1"},
}
"""The types that the arrays of each part may have."""
_EARLIER_SKIPS: Final = {"groups": "<u4", "skips": "|u1"}
"""What postings have in place of these columns up to format 2, and up to format 4."""
_TABLE_ARRAYS: Final = ("groups", "wide", "signs")
"""Arrays of two dimensions."""
_TABLES: Final = {"url": "", "title": "", "hosts": "host", "kinds": "kind"}
"""Tables of strings, and the column of their numbers; without one, they have a string for each document."""
_LINK_TEXT: Final = 1 << 30
"""Set in the source of a completion that is an anchor text."""
_MAX_SIGN_BYTES: Final = 128
"""Bytes of the signs of a vector."""
_MEDIA_PACK: Final = 32
"""Documents with media in a pack."""
_COLUMN_BLOCK: Final = 64
"""Completions that share a maximum."""
_HINT: Final = "Run: periplus index check, then periplus index repair."


def damaged_array(file: ArrayFile, name: str) -> CorruptFile:
    """Return the error that an array of a segment does not have the contents of one."""
    return CorruptFile(f"{file.path} is damaged in '{name}'.", _HINT)


def check_segment_files(files: Mapping[str, SegmentFile]) -> int:
    """Raise `CorruptFile` unless the arrays of a segment fit together; return how many documents it has."""
    for part, file in files.items():
        types = _TYPES[part]
        for name in _EARLIER_SKIPS if part == "postings" else ():
            if name in file:
                types = {**types, **dict.fromkeys(SKIP_COLUMNS, ""), name: _EARLIER_SKIPS[name]}
        _check_types(file, types)
    documents = len(files["documents"]["key"])
    for part, check in _CHECKS.items():
        if part in files:
            check(files[part], documents)
    _check_dictionary_offsets(files["lexicon"], files["postings"])
    if "words" in files:
        _check_sources(files["words"], documents, len(files["documents"]["hosts_start"]) - 1)
    return documents


def open_documents(folder: Path) -> SegmentFile:
    """Open the columns of a segment; raise `CorruptFile` unless they fit together."""
    file = SegmentFile(folder / "documents.arrays", "documents")
    _check_types(file, _TYPES["documents"])
    _check_documents(file, len(file["key"]))
    return file


def _check_types(file: ArrayFile, types: Mapping[str, str]) -> None:
    for name, allowed in types.items():
        if not allowed:
            continue
        if name not in file:
            raise CorruptFile(
                f"{file.path} has no array '{name}'.",
                "If an earlier version of Periplus wrote it, build the index again: periplus index build.",
            )
        array = file[name]
        if array.dtype.str not in allowed.split() or array.ndim != 1 + (name in _TABLE_ARRAYS):
            raise damaged_array(file, name)


def _require(file: ArrayFile, name: str, valid: bool) -> None:
    if not valid:
        raise damaged_array(file, name)


def _is_below(numbers: npt.NDArray[Any], end: int) -> bool:
    """Return whether all numbers are from 0 up to, not including, `end`."""
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < end)


def _check_string_table(file: ArrayFile, name: str, count: int | None = None) -> None:
    """Raise `CorruptFile` unless a table of strings is one, of `count` strings if that is given."""
    start = file[f"{name}_start"]
    valid = offsets.are_offsets(start, len(file[f"{name}_blob"]), False) and (count is None or len(start) == count + 1)
    _require(file, f"{name}_start", valid)


def _check_documents(file: ArrayFile, documents: int) -> None:
    tables = {name.removesuffix("_start") for name in file.sizes() if name.endswith("_start")}
    for name in sorted(tables):
        _check_string_table(file, name, documents if _TABLES.get(name, "-") == "" else None)
    blocks = -(-documents // inversion.BLOCK)
    strings = {f"{name}_{part}" for name in tables for part in ("start", "blob")}
    for name in file.sizes():
        if name in strings or name == "length":
            continue
        lengths = (1, blocks) if name == "block_static" else (1, documents)
        _require(file, name, file[name].ndim == 1 and len(file[name]) in lengths)
    for table, column in _TABLES.items():
        if column:
            _require(file, column, _is_below(file[column], len(file[f"{table}_start"]) - 1))
    _require(file, "length", file["length"].ndim == 1 and len(file["length"]) <= inversion.FIELDS)
    for name in ("language", "second_language"):
        if name in file:
            _require(file, name, file[name].dtype == np.uint8 and _is_below(file[name], len(LANGUAGES)))
    for name in ("quality", "analysis"):
        if name in file:
            _require(file, name, file[name].dtype == np.uint8)
    _require(file, "static", len(file["static"]) == 1 or len(file["block_static"]) in (1, blocks))


def _check_postings(file: SegmentFile, documents: int) -> None:
    blocks = -(-documents // inversion.BLOCK)
    if "groups" in file:
        _require(file, "groups", file["groups"].shape[1] == len(_GROUP_COLUMNS))
    # Each has two bits for every document that has it: fewer would be encoded otherwise.
    least = max(postings_format.BLOCKED_MIN_DOCUMENTS, documents // postings_format.BITSET_DENSITY) // 4
    _require(file, "wide", file["wide"].shape[1] == 2 and len(file["wide"]) * least <= len(file["stream"]))
    _require(file, "plain_impact", are_plain_impacts(file, blocks))


_GROUP_COLUMNS: Final = (
    postings_reader.GROUP_BLOCK,
    postings_reader.GROUP_POSTINGS,
    postings_reader.GROUP_POSITIONS,
)


def _check_lexicon(file: ArrayFile, documents: int) -> None:
    pages, start = file["pages"], file["page_start"]
    _require(file, "terms", len(file["terms"]) == 1)
    count = int(file["terms"][0])
    _require(file, "terms", 0 <= count * term_dictionary.MIN_ENTRY <= len(pages))
    _require(file, "page_start", len(start) == -(-count // term_dictionary.PAGE) + 1)
    _require(file, "page_start", offsets.are_offsets(start, len(pages), True))


def _check_dictionary_offsets(lexicon: ArrayFile, postings: ArrayFile) -> None:
    pages = len(lexicon["page_start"]) - 1
    for name, part in (("page_stream", "stream"), ("page_position", "positions")):
        begins = lexicon[name]
        _require(lexicon, name, len(begins) == pages and _is_below(begins, len(postings[part]) + 1))


def _check_text(file: ArrayFile, documents: int) -> None:
    first, ends = file["first"], file["end"]
    _require(file, "first", offsets.are_offsets(first, documents, False))
    _require(file, "start", len(file["start"]) == len(first))
    _require(file, "start", offsets.are_offsets(file["start"], len(file["text"]), False))
    _require(file, "end", len(ends) == documents and offsets.are_spans_in_groups(first, ends))
    if "simhash" in file:
        simhash = file["simhash"]
        _require(file, "simhash", simhash.dtype == np.uint64 and simhash.shape == (documents,))


def _check_words(file: ArrayFile, documents: int) -> None:
    text, start, order = file["complete_text"], file["complete_start"], file["complete_order"]
    _require(file, "complete_start", offsets.are_offsets(start, len(text), False))
    _require(file, "complete_order", _is_below(order, len(text)))
    _require(file, "complete_rank", len(file["complete_rank"]) == len(order))
    _require(file, "complete_peak", len(file["complete_peak"]) == -(-len(order) // _COLUMN_BLOCK))
    for name in ("complete_source", "complete_worth"):
        _require(file, name, len(file[name]) == len(start) - 1)
    _require(file, "pair_count", len(file["pair_count"]) == len(file["pair_key"]))
    _require(file, "numbers", len(file["numbers"]) == 2 and _is_below(file["numbers"], 1 << 31))
    _require(file, "numbers", int(file["numbers"][0]) <= len(file["words"]))
    _require(file, "site_document", len(file["site_document"]) == len(file["site_key"]))
    _require(file, "site_document", _is_below(file["site_document"], documents))


def _check_sources(file: ArrayFile, documents: int, hosts: int) -> None:
    source = file["complete_source"]
    linked = np.where(source >= _LINK_TEXT, source ^ _LINK_TEXT, source)
    _require(file, "complete_source", bool(((linked < documents) & (linked > -2 - hosts)).all()))
    _require(file, "complete_source", not bool((linked == -1).any()))


def _check_extras(file: ArrayFile, documents: int) -> None:
    for name in ("news", "media_document"):
        numbers = file[name]
        _require(file, name, _is_below(numbers, documents) and bool((numbers[1:] > numbers[:-1]).all()))
    packs = -(-len(file["media_document"]) // _MEDIA_PACK)
    _require(file, "media_start", len(file["media_start"]) == packs + 1)
    _require(file, "media_start", offsets.are_offsets(file["media_start"], len(file["media"]), False))


def _check_static_vectors(file: ArrayFile, documents: int) -> None:
    start, signs = file["start"], file["signs"]
    _require(file, "start", len(start) == documents + 1 and offsets.are_offsets(start, len(signs), False))
    _require(file, "signs", 0 < signs.shape[1] <= _MAX_SIGN_BYTES)


def _check_names(file: SegmentFile, documents: int) -> None:
    damaged = find_damage(file, documents)
    _require(file, damaged, not damaged)


def _check_word_pairs(file: ArrayFile, documents: int) -> None:
    keys, start, lists = file["pair_key"], file["list_start"], file["lists"]
    _require(file, "pair_key", bool((keys[1:] > keys[:-1]).all()))
    _require(file, "list_start", len(start) == len(keys) + 1 and offsets.are_offsets(start, len(lists), False))


_CHECKS: Final[dict[str, Callable[[SegmentFile, int], None]]] = {
    "documents": _check_documents,
    "postings": _check_postings,
    "lexicon": _check_lexicon,
    "text": _check_text,
    "words": _check_words,
    "extras": _check_extras,
    "static_vectors": _check_static_vectors,
    "names": _check_names,
    "word_pairs": _check_word_pairs,
    "own_fields": lambda file, documents: check_own_fields(file, documents, functools.partial(damaged_array, file)),
}
