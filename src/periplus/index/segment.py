"""One segment, opened for reading: lexicon, postings, columns and stored text, all memory-mapped."""

import bisect
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.accel import pointers
from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile
from periplus.index.kernels import inversion, positions, postings_reader, term_dictionary, term_lookup
from periplus.index.kernels.term_dictionary import TermEntry
from periplus.store import decompress

__all__ = ["PARTS", "Segment", "TermEntry"]

PARTS: Final = ("lexicon", "postings", "documents", "text")
EXTRAS: Final = ("words", "extras")
"""Parts that a segment may do without."""
_MOST_TEXT: Final = 1 << 28
_MOST_DIGITS: Final = 18
_MOST_POSITIONS: Final = 1 << 14
"""More positions of one term in one document than this are not given."""


class Segment:
    """An immutable set of documents that can be searched."""

    def __init__(self, folder: Path, dead: npt.NDArray[np.int64] | None = None, *, verify: bool = True) -> None:
        self.name = folder.name
        # Segments of earlier versions have no words: they complete and correct nothing.
        parts = (*PARTS, *(part for part in EXTRAS if (folder / f"{part}.arrays").exists()))
        self.files = {part: ArrayFile(folder / f"{part}.arrays", part) for part in parts}
        if verify:
            for file in self.files.values():
                file.check()
        self._lexicon, self._columns, self._text = (self.files[part] for part in ("lexicon", "documents", "text"))
        self.documents = len(self._columns["key"])
        self.lexicon = term_dictionary.TermDictionary(
            *(self._lexicon[name] for name in term_dictionary.TermDictionary._fields)
        )
        self.term_count = int(self._lexicon["terms"][0])
        if missing := [
            name for name in postings_reader.PostingsReader._fields[:4] if name not in self.files["postings"]
        ]:
            raise CorruptFile(
                f"{self.files['postings'].path} has no array '{missing[0]}'.",
                "If an earlier version of Periplus wrote it, build the index again: periplus index build.",
            )
        self.bury(dead)
        self._held: tuple[int, bytes] = (-1, b"")
        self._spread: dict[str, npt.NDArray[Any]] = {}
        self.late_news: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """Documents that became news after this was written, rising."""

    def name_news(self, documents: npt.NDArray[np.int64], days: npt.NDArray[np.int32]) -> None:
        """Set which documents became news later, each of its day."""
        self._spread = {name: values for name, values in self._spread.items() if name != "day"}
        if len(documents):
            dated = self.column("day").astype(np.int32)
            dated[documents] = days
            self._spread["day"] = dated
        self.late_news = documents

    def bury(self, dead: npt.NDArray[np.int64] | None) -> None:
        """Set which documents are dead."""
        blocks = -(-self.documents // inversion.BLOCK)
        alive = np.zeros(blocks * inversion.BLOCK, np.uint8)
        alive[: self.documents] = 1
        if dead is not None:
            alive[dead] = 0
        self.alive = alive[: self.documents].view(np.bool_)
        self.live: npt.NDArray[np.uint64] = np.packbits(alive, bitorder="little").view(np.uint64)
        postings = self.files["postings"]
        columns = {name: postings[name] for name in postings_reader.PostingsReader._fields[:4]}
        static, highest = self._static_ranks
        self.postings = postings_reader.PostingsReader(
            **columns, static=static, block_static=highest, live=self.live, bitsets=self._bitsets
        )
        self.pinned_postings = pointers.pin(self.postings)

    @functools.cached_property
    def _static_ranks(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Static ranks by document, and the highest of each block; both empty where all are 0."""
        static, highest = self._columns["static"], self._columns["block_static"]
        if len(static) == 1:
            alike = int(static[0] != 0)
            static = np.full(alike * self.documents, static[0], np.float32)
            highest = np.full(alike * -(-self.documents // inversion.BLOCK), static[:1], np.float32)
        elif len(highest) == 1:
            highest = np.full(-(-self.documents // inversion.BLOCK), highest[0], np.float32)
        static.flags.writeable = highest.flags.writeable = False  # As the mapped ones are.
        return static, highest

    @functools.cached_property
    def _bitsets(self) -> npt.NDArray[np.uint64]:
        """The documents of each wide term, by block."""
        postings = self.files["postings"]
        blocks = -(-self.documents // inversion.BLOCK)
        sets: npt.NDArray[np.uint64] = postings_reader.build_bitsets(postings["stream"], postings["wide"], blocks)
        return sets

    def find(self, term: bytes) -> TermEntry | None:
        """Look a term up in the lexicon."""
        if not term:
            return None
        entry: TermEntry = term_dictionary.find_term(self.lexicon, np.frombuffer(term, np.uint8))
        return entry if entry.frequency else None

    def find_all(self, terms: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """Look many terms up by one call; return a row for each, with the columns of `TermEntry`."""
        starts = np.zeros(len(terms) + 1, np.int64)
        np.cumsum([len(term) for term in terms], out=starts[1:])
        return term_lookup.find_terms(self.lexicon, np.frombuffer(b"".join(terms) or b"\0", np.uint8), starts)

    def terms(self) -> term_dictionary.TermTable:
        """Unpack the whole lexicon."""
        unpacked: term_dictionary.TermTable = term_dictionary.unpack_terms(self.lexicon, self.term_count)
        return unpacked

    @functools.cached_property
    def unpacked(self) -> term_dictionary.TermTable:
        """The whole lexicon, kept: for prefixes, ranges and corrections."""
        return self.terms()

    def term(self, number: int) -> bytes:
        """Give a term by its number in the unpacked lexicon."""
        start = self.unpacked.start
        return self.unpacked.blob[start[number] : start[number + 1]].tobytes()

    def terms_with_prefix(self, beginning: bytes) -> npt.NDArray[np.int64]:
        """Give the numbers of all terms that begin so."""
        return self.terms_between(beginning, beginning + b"\xff" * 8)

    def terms_of_numbers(self, low: int, high: int) -> npt.NDArray[np.int64]:
        """Give the numbers of all terms that are whole numbers from `low` to `high`."""
        values, numbers = self._numbers
        return numbers[(values >= low) & (values <= high)]

    @functools.cached_property
    def _numbers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """All terms of up to 18 digits, by value, and their numbers."""
        found = [
            (int(term), number)
            for number in self.terms_between(b"0", b":").tolist()
            if (term := self.term(number)).isdigit() and len(term) <= _MOST_DIGITS
        ]
        values, numbers = zip(*found, strict=True) if found else ((), ())
        return np.array(values, np.int64), np.array(numbers, np.int64)

    def terms_between(self, first: bytes, last: bytes) -> npt.NDArray[np.int64]:
        """Give the numbers of all terms from `first` up to, not including, `last`."""
        low = bisect.bisect_left(range(self.term_count), first, key=self.term)
        return np.arange(low, bisect.bisect_left(range(self.term_count), last, lo=low, key=self.term))

    def documents_of(self, number: int) -> npt.NDArray[np.int32]:
        """Give the documents that have the term with this number."""
        entry = postings_reader.term_entry(self.unpacked, number)
        documents: npt.NDArray[np.int32] = postings_reader.read_documents(self.postings, entry)
        return documents

    def positions(self, term: TermEntry, document: int) -> tuple[npt.NDArray[np.int64], int, int]:
        """Give a term's positions in a document, its impact there (0 if it is not there) and its fields."""
        mask, impact, code, place = postings_reader.look_up_documents(
            self.postings, term, np.array([document], np.int32)
        )[0].tolist()
        if not mask:
            return np.zeros(0, np.int64), 0, 0
        out = np.empty(_MOST_POSITIONS, np.int64)
        count = positions.read_positions(self.postings.positions, place, code, mask, out)
        return out[:count].copy(), impact, mask

    def fields(self, terms: Sequence[TermEntry | None], documents: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        """Give the fields in which `documents` have `terms`, as masks by document and term."""
        masks = np.zeros((len(documents), len(terms)), np.uint8)
        order = np.argsort(documents)
        ascending = documents[order]
        for number, term in enumerate(terms):
            if term:
                masks[order, number] = postings_reader.look_up_documents(self.postings, term, ascending)[:, 0]
        return masks

    def column(self, name: str) -> npt.NDArray[Any]:
        """Give a column: key, static, host, kind, language, day, flags, fetched or title_key."""
        values = self._spread.get(name)
        if values is None:
            values = self._columns[name]
            if len(values) == 1:
                values = np.broadcast_to(values, self.documents)
            self._spread[name] = values
        return values

    def string(self, name: str, number: int) -> str:
        """Give entry `number` of a table of strings: url, title, hosts or kinds."""
        start = self._columns[f"{name}_start"]
        raw = self._columns[f"{name}_blob"][start[number] : start[number + 1]].tobytes()
        return raw.decode("utf-8", "replace")

    def strings_of(self, name: str, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Give some entries of a table of strings."""
        start, blob = self.table(name)
        spans = zip(start[numbers].tolist(), start[numbers + 1].tolist(), strict=True)
        return [blob[begin:end].tobytes().decode("utf-8", "replace") for begin, end in spans]

    def strings(self, name: str) -> list[str]:
        """Give a whole table of strings."""
        return [self.string(name, number) for number in range(len(self._columns[f"{name}_start"]) - 1)]

    @functools.cached_property
    def columns(self) -> frozenset[str]:
        """The names of all columns with a number for each document."""
        tables = {name.removesuffix("_start") for name in self._columns.sizes() if name.endswith("_start")}
        strings = {f"{name}_{part}" for name in tables for part in ("start", "blob")}
        return frozenset(self._columns.sizes()) - strings - {"block_static", "length"}

    def table(self, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Give a whole table of strings: where each begins, and all of them."""
        return self._columns[f"{name}_start"], self._columns[f"{name}_blob"]

    @functools.cached_property
    def simhashes(self) -> npt.NDArray[np.uint64]:
        """The simhash of each document's main content, 0 where it is not known."""
        if "simhash" in self._text:
            return self._text["simhash"]
        return np.broadcast_to(np.zeros(1, np.uint64), self.documents)

    def _span(self, document: int) -> tuple[int, int, int]:
        """Give the block of text that a body is in, and where in it."""
        first, ends = self._text["first"], self._text["end"]
        # A number of another type would have the whole array converted first.
        block = int(first.searchsorted(first.dtype.type(document), side="right")) - 1
        begin = int(ends[document - 1]) if document > int(first[block]) else 0
        return block, begin, int(ends[document])

    def text(self, document: int) -> bytes:
        """Give the body of a document, as UTF-8."""
        block, begin, end = self._span(document)
        number, raw = self._held
        if number != block:
            raw = self.text_block(block)
            self._held = (block, raw)
        return raw[begin:end]

    def text_length(self, document: int) -> int:
        """Give the length of a body, in bytes."""
        _, begin, end = self._span(document)
        return end - begin

    def text_spans(self, documents: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Give where bodies are: rows of the block of text, and begin and end in it."""
        first, ends = self._text["first"], self._text["end"].astype(np.int64)
        blocks = np.searchsorted(first, documents, side="right") - 1
        begins = np.where(documents > first[blocks], ends[documents - 1], 0)
        return np.stack([blocks, begins, ends[documents]], axis=1)

    def text_block(self, block: int) -> bytes:
        """Unpack a block of text."""
        start = self._text["start"]
        packed = self._text["text"][start[block] : start[block + 1]].data
        try:
            return decompress(packed, _MOST_TEXT)
        except Exception as error:
            raise CorruptFile(f"{self._text.path} is damaged in block {block}: {error}.") from error

    def sizes(self) -> dict[str, int]:
        """Give the bytes that each array takes, by 'part.array'."""
        return {f"{part}.{name}": n for part, file in self.files.items() for name, n in file.sizes().items()}
