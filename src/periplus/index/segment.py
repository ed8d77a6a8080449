"""One segment, opened for reading: term dictionary, postings, columns and stored text, all memory-mapped."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.accel import pointers
from periplus.arrays import check_files
from periplus.errors import CorruptFile
from periplus.index.document_order import first_tier, read_order
from periplus.index.kernels import (
    document_sets,
    frequent_terms,
    inversion,
    positions,
    postings_reader,
    postings_scan,
    term_dictionary,
    term_packing,
)
from periplus.index.kernels.postings_format import SIZED, UNSIZED
from periplus.index.kernels.postings_scan import LOOKUP_FIELDS
from periplus.index.kernels.term_dictionary import TermEntry
from periplus.index.language_sets import MAX_LANGUAGE_SETS, LanguageSets
from periplus.index.own_fields.own_fields import OwnFields
from periplus.index.plain_impacts import read_plain_impacts
from periplus.index.segment_file import PACKED_FORMAT, SIZED_FORMAT, SegmentFile
from periplus.index.skip_entries.skip_columns import SKIP_COLUMNS, read_skip_entries
from periplus.index.stored_texts import StoredTexts
from periplus.index.term_rows import TermRowCache
from periplus.index.validation.kernels import term_checks
from periplus.index.validation.segment_checks import check_segment_files, damaged_array

__all__ = ["PARTS", "Segment", "TermEntry"]

PARTS: Final = ("lexicon", "postings", "documents", "text")
OPTIONAL_PARTS: Final = ("words", "extras", "static_vectors", "names", "own_fields", "word_pairs")
"""Parts that a segment may lack."""
_READ_BY_PARTS: Final = ("documents", "text")
"""Parts with texts and titles, of which an answer reads a few: from the file, not from the mapping."""
_DEFAULTS: Final = {"analysis": np.zeros(1, np.uint8)}
"""Columns that segments of earlier versions lack, and the value that they stand for."""
_READ_AHEAD: Final = 8
"""Bytes behind the postings that kernels may read: words of eight are loaded where fewer bytes are used."""
_MAX_PHRASES: Final = 1_024
"""Phrases whose documents are kept for further queries."""
_MAX_PHRASE_DOCUMENTS: Final = 1 << 16
"""Documents of the rarest term of a phrase that are searched for it."""
_MAX_POSITIONS: Final = 1 << 14
"""Positions of one term in one document that are read; further ones are left out."""


class Segment:
    """An immutable set of documents that can be searched."""

    def __init__(self, folder: Path, deleted: npt.NDArray[np.int64] | None = None, *, verify: bool = True) -> None:
        self.name = folder.name
        # Segments of earlier versions have no words: they offer no completions or corrections.
        parts = (*PARTS, *(part for part in OPTIONAL_PARTS if (folder / f"{part}.arrays").exists()))
        self.files = {
            part: SegmentFile(folder / f"{part}.arrays", part, parts=part in _READ_BY_PARTS) for part in parts
        }
        if verify:
            check_files(list(self.files.values()))
        # Fingerprints say that bytes are those that were written, not that whoever wrote them can be trusted.
        self.documents = check_segment_files(self.files)
        self._dictionary_file, self._columns, self._text = (
            self.files[part] for part in ("lexicon", "documents", "text")
        )
        self.order = read_order(self._columns)
        """The name of the order of its documents."""
        self.packed_terms = term_dictionary.TermDictionary(
            *(self._dictionary_file[name] for name in term_dictionary.TermDictionary._fields)
        )
        self.term_count = int(self._dictionary_file["terms"][0])
        postings = self.files["postings"]
        self._postings_arrays = term_checks.SegmentArrays(
            postings.padded("stream", _READ_AHEAD),
            len(postings["positions"]),
            self._groups,
            postings["wide"],
            self.documents,
            int(postings.format >= PACKED_FORMAT),
            SIZED if postings.format >= SIZED_FORMAT else UNSIZED,
            np.zeros(len(self.packed_terms.pages) // 8 + 1, np.uint8),
        )
        self._term_rows = TermRowCache(self.packed_terms, self._postings_arrays)
        self.mark_deleted(deleted)
        self.stored_texts = StoredTexts(self._text)
        self._titles = self._columns.part_reader("title_blob")
        self._expanded: dict[str, npt.NDArray[Any]] = {}
        self._language_lists: dict[frozenset[int], npt.NDArray[np.int32]] = {}
        self._phrases: dict[tuple[tuple[bytes, ...], int], npt.NDArray[np.int32]] = {}
        self.late_news: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """Documents that became news after the segment was written, ascending."""
        if verify:  # what was checked is mapped again where a query reads it
            for file in self.files.values():
                file.let_go()

    def set_late_news(self, documents: npt.NDArray[np.int64], days: npt.NDArray[np.int32]) -> None:
        """Set which documents became news after the segment was written, each of its day."""
        self._expanded = {name: values for name, values in self._expanded.items() if name != "day"}
        if len(documents):
            dated = self.column("day").astype(np.int32)
            dated[documents] = days
            self._expanded["day"] = dated
        self.late_news = documents

    def mark_deleted(self, deleted: npt.NDArray[np.int64] | None) -> None:
        """Set which documents are deleted."""
        blocks = -(-self.documents // inversion.BLOCK)
        alive = np.zeros(blocks * inversion.BLOCK, np.uint8)
        alive[: self.documents] = 1
        if deleted is not None:
            alive[deleted] = 0
        self.is_live = alive[: self.documents].view(np.bool_)
        self.live: npt.NDArray[np.uint64] = np.packbits(alive, bitorder="little").view(np.uint64)
        file, arrays = self.files["postings"], self._postings_arrays
        self.postings = postings_reader.PostingsReader(
            *(arrays.stream, file["positions"], self._groups, self._plain_impacts),
            *(*self._static_ranks, self.live, self._bitsets),
            is_packed=arrays.is_packed,
            sized=arrays.sized,
        )
        self.pinned_postings = pointers.pin(self.postings)

    @functools.cached_property
    def _static_ranks(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Static ranks by document, and the highest of each block; both empty where all are 0."""
        static, highest = self._columns["static"], self._columns["block_static"]
        if len(static) == 1:
            is_nonzero = int(static[0] != 0)
            static = np.full(is_nonzero * self.documents, static[0], np.float32)
            highest = np.full(is_nonzero * -(-self.documents // inversion.BLOCK), static[:1], np.float32)
        elif len(highest) == 1:
            highest = np.full(-(-self.documents // inversion.BLOCK), highest[0], np.float32)
        static.flags.writeable = highest.flags.writeable = False  # As the mapped ones are.
        return static, highest

    @functools.cached_property
    def _groups(self) -> npt.NDArray[np.uint32]:
        """Skip entries, in memory unless they are stored as they are, as up to format 2."""
        file = self.files["postings"]
        rows = read_skip_entries(file)
        if rows is None:
            raise self.damaged("postings", "skips" if "skips" in file else SKIP_COLUMNS[0])
        rows.flags.writeable = False  # As what is mapped.
        return rows

    @functools.cached_property
    def _plain_impacts(self) -> npt.NDArray[np.uint8]:
        """Impacts of plain postings, by block, occurrences and offset."""
        return read_plain_impacts(self.files["postings"])

    @functools.cached_property
    def first_tier(self) -> int:
        """How many blocks the documents with the highest static ranks take; 0 where there are no tiers."""
        return first_tier(self.order, self._static_ranks[0], self.documents)

    @functools.cached_property
    def _bitsets(self) -> npt.NDArray[np.uint64]:
        """The documents of each term that is encoded as a bitset, by block."""
        postings = self.files["postings"]
        wide, stream = postings["wide"], self._postings_arrays.stream
        blocks = -(-self.documents // inversion.BLOCK)
        sets: npt.NDArray[np.uint64] = document_sets.build_bitsets(stream, self._postings_arrays.sized, wide, blocks)
        if len(sets) != len(wide):
            raise self.damaged("postings", "wide")
        return sets

    def damaged(self, part: str, array: str) -> CorruptFile:
        """Return the error that an array of a part is damaged."""
        return damaged_array(self.files[part], array)

    def find_term(self, term: bytes) -> TermEntry | None:
        """Return the entry of a term, None if no document has it."""
        try:
            entry = TermEntry(*self._term_rows.row(term))
        except CorruptFile as error:
            raise self.damaged("postings", "stream") from error
        return entry if entry.frequency else None

    def find_terms(self, terms: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """Look many terms up by one call; return a row for each, with the columns of `TermEntry`."""
        try:
            return self._term_rows.rows(terms)
        except CorruptFile as error:
            raise self.damaged("postings", "stream") from error

    def terms(self) -> term_dictionary.TermTable:
        """Return the whole term dictionary, unpacked; its entries may not be used before `valid_terms` returned."""
        unpacked: term_dictionary.TermTable = term_packing.unpack_terms(self.packed_terms, self.term_count)
        if len(unpacked.frequency) != self.term_count:
            raise self.damaged("lexicon", "pages")
        return unpacked

    def valid_terms(self) -> term_dictionary.TermTable:
        """Return the whole term dictionary, unpacked, after reading the postings of every term."""
        terms = self.terms()
        if term_checks.validate_terms(self._postings_arrays, terms) >= 0:
            raise self.damaged("postings", "stream")
        return terms

    def frequent_terms(self, prefix: bytes, most: int) -> tuple[list[tuple[bytes, int]], int]:
        """Return the `most` most frequent terms with a prefix, each with its frequency, and how many have it in all."""
        try:
            return frequent_terms.select_prefix(self.packed_terms, prefix, most)
        except CorruptFile as error:
            raise self.damaged("lexicon", "pages") from error

    def frequent_numbers(self, low: int, high: int, most: int) -> tuple[list[tuple[bytes, int]], int]:
        """Return the same of terms that are integers from `low` to `high`."""
        try:
            return frequent_terms.select_numbers(self.packed_terms, low, high, most)
        except CorruptFile as error:
            raise self.damaged("lexicon", "pages") from error

    def terms_with_character(self, character: bytes) -> list[tuple[bytes, int]]:
        """Return the terms that begin or end with a character of a script without spaces, each with its frequency."""
        blob, start, frequency = self._unspaced_terms
        begins, ends = (np.diff(start) >= len(character) for _ in range(2))
        for number, byte in enumerate(character):
            begins &= blob[start[:-1] + number] == byte
            ends &= blob[start[1:] - len(character) + number] == byte
        return [
            (blob[start[term] : start[term + 1]].tobytes(), int(frequency[term]))
            for term in np.flatnonzero(begins | ends).tolist()
        ]

    @functools.cached_property
    def _unspaced_terms(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Terms that begin with a character of three or four bytes: a blob, their offsets and frequencies."""
        terms = self.terms()
        rows = np.flatnonzero(terms.blob[np.minimum(terms.start[:-1], max(0, len(terms.blob) - 1))] >= 0xE0)
        sizes = terms.start[rows + 1] - terms.start[rows]
        start = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        blob = terms.blob[np.repeat(terms.start[rows] - start[:-1], sizes) + np.arange(start[-1])]
        # A term may be shorter than the character that it is compared with.
        return np.append(blob, np.zeros(4, np.uint8)), start, terms.frequency[rows].astype(np.int64)

    def documents_with_terms(self, terms: Sequence[bytes], most: int) -> tuple[npt.NDArray[np.uint64], int]:
        """Return the documents that have any of some terms, as a set by block, and the work units that it took.

        most: work units after which no further term is read.
        """
        sets = np.zeros(len(self.live), np.uint64)
        _, work = document_sets.mark_terms(self.postings, self.find_terms(terms), sets, most)
        return sets, work

    def documents_of_site(self, host: bytes, path: bytes) -> tuple[npt.NDArray[np.uint64], int]:
        """Return the pages of a host and its subdomains below a path, as a set by block, and the work units it took."""
        sets = np.zeros(len(self.live), np.uint64)
        hosts = self._columns["host"].astype(np.int64)
        names = (np.frombuffer(name, np.uint8) for name in (host, path))
        return sets, document_sets.mark_site(*self.table("hosts"), hosts, *self.table("url"), *names, sets)

    def documents_with_phrase(self, terms: tuple[bytes, ...], fields: int) -> npt.NDArray[np.int32]:
        """Return the documents in which terms stand one after the other, in one of some fields; of very many, some."""
        documents = self._phrases.get((terms, fields))
        if documents is None:
            documents = document_sets.find_phrase_documents(
                self.postings, self.find_terms(terms), fields, _MAX_PHRASE_DOCUMENTS
            )
            if len(self._phrases) >= _MAX_PHRASES:
                self._phrases = {}
            self._phrases[terms, fields] = documents
        return documents

    def positions(self, term: TermEntry, document: int) -> tuple[npt.NDArray[np.int64], int, int]:
        """Return a term's positions in a document, its impact (0 if it does not occur) and its mask of fields."""
        mask, impact, code, offset = postings_scan.look_up_documents(
            self.postings, term, np.array([document], np.int32)
        )[0].tolist()
        if not mask:
            return np.zeros(0, np.int64), 0, 0
        out = np.empty(_MAX_POSITIONS, np.int64)
        count = positions.read_positions(self.postings, offset, code, mask, out)
        return out[:count].copy(), impact, mask

    def impact(self, term: TermEntry, document: npt.NDArray[np.int32]) -> int:
        """Return the impact of a term in the only document of an array, 0 if it does not occur."""
        return int(postings_scan.look_up_documents(self.postings, term, document)[0, 1])

    def fields(self, terms: Sequence[TermEntry | None], documents: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        """Return the masks of fields in which `terms` occur, by document and term."""
        masks = np.zeros((len(documents), len(terms)), np.uint8)
        order = np.argsort(documents)
        ascending = documents[order]
        for number, term in enumerate(terms):
            if term:
                masks[order, number] = postings_scan.look_up_documents(self.postings, term, ascending)[:, LOOKUP_FIELDS]
        return masks

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column: key, static, host, kind, language, day, flags, fetched, title_key or analysis."""
        values = self._expanded.get(name)
        if values is None:
            values = _DEFAULTS[name] if name in _DEFAULTS and name not in self._columns else self._columns[name]
            if len(values) == 1:
                values = np.broadcast_to(values, self.documents)
            self._expanded[name] = values
        return values

    def in_languages(self, numbers: frozenset[int]) -> npt.NDArray[np.bool_]:
        """Return which documents are in one of some languages, given by number."""
        bits = np.unpackbits(self.language_blocks(numbers).view(np.uint8), bitorder="little")
        return bits[: self.documents].view(np.bool_)

    def are_in_languages(self, numbers: frozenset[int], documents: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Return which of some documents are in one of some languages."""
        words = self.language_blocks(numbers)[documents >> 6]
        chosen: npt.NDArray[np.bool_] = (words >> (documents & 63).astype(np.uint64) & np.uint64(1)).astype(np.bool_)
        return chosen

    def documents_in_languages(self, numbers: frozenset[int]) -> npt.NDArray[np.int32]:
        """Return the documents in one of some languages, ascending."""
        listing = self._language_lists.get(numbers)
        if listing is None:
            listing = np.flatnonzero(self.in_languages(numbers)).astype(np.int32)
            if len(self._language_lists) >= MAX_LANGUAGE_SETS:
                self._language_lists.clear()
            self._language_lists[numbers] = listing
        return listing

    def language_blocks(self, numbers: frozenset[int]) -> npt.NDArray[np.uint64]:
        """Return the documents in one of some languages as sets: one 64-bit word for each block."""
        table, rows = self.language_sets.rows([numbers])
        blocks: npt.NDArray[np.uint64] = table[rows[0]]
        return blocks

    @functools.cached_property
    def language_sets(self) -> LanguageSets:
        """The documents by their languages."""
        second = self.column("second_language") if "second_language" in self.columns else None
        return LanguageSets(len(self.live), self.column("language"), second)

    def string(self, name: str, number: int) -> str:
        """Return entry `number` of a table of strings: url, title, hosts or kinds."""
        start = self._columns[f"{name}_start"]
        return self._read_string(name, int(start[number]), int(start[number + 1]))

    def strings_of(self, name: str, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return some entries of a table of strings."""
        start = self._columns[f"{name}_start"]
        spans = zip(start[numbers].tolist(), start[numbers + 1].tolist(), strict=True)
        return [self._read_string(name, begin, end) for begin, end in spans]

    def _read_string(self, name: str, begin: int, end: int) -> str:
        """Return a part of a table of strings. URLs of candidates are read by features, so that they are mapped."""
        if name == "title":
            raw = self._titles.read(begin, end)
        else:
            raw = self._columns[f"{name}_blob"][begin:end].tobytes()
        return raw.decode("utf-8", "replace")

    def strings(self, name: str) -> list[str]:
        """Return all entries of a table of strings."""
        return [self.string(name, number) for number in range(len(self._columns[f"{name}_start"]) - 1)]

    @functools.cached_property
    def columns(self) -> frozenset[str]:
        """The names of all columns with a number for each document."""
        tables = {name.removesuffix("_start") for name in self._columns.sizes() if name.endswith("_start")}
        strings = {f"{name}_{part}" for name in tables for part in ("start", "blob")}
        return frozenset(self._columns.sizes()) - strings - {"block_static", "length"}

    def table(self, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return a table of strings as arrays: where each begins, and all of them."""
        return self._columns[f"{name}_start"], self._columns[f"{name}_blob"]

    @functools.cached_property
    def simhashes(self) -> npt.NDArray[np.uint64]:
        """The simhash of each document's main content, 0 where unknown."""
        if "simhash" in self._text:
            return self._text["simhash"]
        return np.broadcast_to(np.zeros(1, np.uint64), self.documents)

    def text(self, document: int) -> bytes:
        """Return the body of a document, as UTF-8."""
        return self.stored_texts.text(document)

    def texts(self, documents: Sequence[int]) -> list[bytes]:
        """Return the bodies of some documents, ascending: their blocks of text are found by one lookup."""
        return self.stored_texts.texts(documents)

    @functools.cached_property
    def own_fields(self) -> OwnFields:
        """The own fields of documents that were sent."""
        return OwnFields(self.files.get("own_fields"), self.documents)

    def sizes(self) -> dict[str, int]:
        """Return the bytes that each array takes, by 'part.array'."""
        return {f"{part}.{name}": n for part, file in self.files.items() for name, n in file.sizes().items()}
