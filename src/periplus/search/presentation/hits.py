"""Candidates to hits: title, trail, snippet, date, missing words; and what folding needs to know of them."""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.hashing import fingerprint
from periplus.index import Index, Segment
from periplus.query import QueryPlan
from periplus.records import Candidates, Hit
from periplus.search.presentation.result_selection import ENOUGH, Arranged, Look, Resemblance
from periplus.search.presentation.snippets import Piece, cut_snippets
from periplus.search.presentation.stored_fields import Face, read_faces
from periplus.text.kernels import simhash

__all__ = ["Dresser", "Known"]

_MOST_TEXT: Final = 16_384
"""Bytes of a text that near-duplicates are told by."""
_MOST_KNOWN: Final = 50_000
_LINKS: Final = 4
_LOOK_FOR_LINKS: Final = 60

Reasons = tuple[tuple[str, float], ...]


class Known:
    """What was read of documents before, by segment and number: segments never change. Threads may share it."""

    def __init__(self) -> None:
        self.resemblances: dict[tuple[str, int], Resemblance] = {}
        self.faces: dict[tuple[str, int], Face] = {}

    def bound(self) -> None:
        """Forget everything when it is too much."""
        for table in (self.resemblances, self.faces):
            if len(table) > _MOST_KNOWN:
                table.clear()


class Dresser:
    """Reads what one answer needs of its candidates, each thing at most once."""

    def __init__(self, index: Index, prepared: QueryPlan, found: Candidates, known: Known) -> None:
        self._index = index
        self._prepared = prepared
        self._segments: list[int] = found.segments.tolist()
        self._documents: list[int] = found.documents.tolist()
        self._found = found
        self._known = known
        known.bound()
        self._texts: dict[int, bytes] = {}
        self._hosts: list[Hashable] = []

    def flags(self) -> npt.NDArray[np.int64]:
        """Give the flags of all candidates."""
        return self._column("flags").astype(np.int64)

    def look(self) -> Look:
        """Give how candidates are looked at."""
        self._hosts = self._name_hosts()
        return Look(self._hosts.__getitem__, self._resemblance)

    def _column(self, name: str) -> npt.NDArray[np.generic]:
        """Give a column of numbers for all candidates."""
        segments, documents = self._found.segments, self._found.documents
        if len(self._index.segments) == 1:
            only: npt.NDArray[np.generic] = self._index.segments[0].column(name)[documents]
            return only
        out = np.zeros(len(documents), np.int64)
        for number in set(self._segments):
            rows = segments == number
            out[rows] = self._index.segments[number].column(name)[documents[rows]]
        return out

    def _name_hosts(self) -> list[Hashable]:
        """Tell the hosts of all candidates apart: by their numbers in the only segment, or by their names."""
        numbers: list[int] = self._column("host").tolist()
        if len(self._index.segments) == 1:
            return list(numbers)
        names: dict[tuple[int, int], str] = {}
        for place in zip(self._segments, numbers, strict=True):
            if place not in names:
                names[place] = self._index.segments[place[0]].string("hosts", place[1])
        return [names[place] for place in zip(self._segments, numbers, strict=True)]

    def _place(self, row: int) -> tuple[Segment, int]:
        return self._index.segments[self._segments[row]], self._documents[row]

    def _text(self, row: int) -> bytes:
        text = self._texts.get(row)
        if text is None:
            segment, document = self._place(row)
            text = self._texts[row] = segment.text(document)
        return text

    def _resemblance(self, row: int) -> Resemblance:
        segment, document = self._place(row)
        found = self._known.resemblances.get((segment.name, document))
        if found is None:
            found = self._known.resemblances[segment.name, document] = self._compare(row, segment, document)
        return found

    def _compare(self, row: int, segment: Segment, document: int) -> Resemblance:
        """Read off what a document resembles: by the mark that a crawl left of its main content, or by its text."""
        mark = int(segment.simhashes[document])
        if mark and (length := segment.text_length(document)) >= ENOUGH:
            return Resemblance(mark, length, 0)
        text = self._text(row)
        data = np.frombuffer(text[:_MOST_TEXT], np.uint8)
        mark = int(simhash.simhashes(data, np.array([0, len(data)], np.int64))[0])
        return Resemblance(mark, len(text), fingerprint(text))

    def hits(self, rows: Sequence[int], arranged: Arranged, chars: int, reasons: Sequence[Reasons]) -> list[Hit]:
        """Give results as a person sees them; `reasons` says, for each of `rows`, what its score is made of."""
        snippets, missing = self._snippets(rows, chars)
        words, faces = [word.word for word in self._prepared.words], self._faces(rows)
        hits = []
        for row, why in zip(rows, reasons, strict=True):
            face = faces[row]
            similar, first = arranged.similar.get(row, ()), row == arranged.rows[0]
            hits.append(
                Hit(
                    url=face.url,
                    title=face.title,
                    snippet=snippets[row],
                    trail=face.trail,
                    score=float(self._found.scores[row]),
                    key=face.key,
                    language=face.language,
                    fetched=face.fetched,
                    kind=face.kind,
                    missing=tuple([words[n] for n in missing[row]]),
                    reasons=why,
                    day=face.day,
                    flags=face.flags,
                    similar=tuple([self._url(other) for other in similar]),
                    links=self._links(row, face.url) if first else (),
                )
            )
        return hits

    def _snippets(
        self, rows: Sequence[int], chars: int
    ) -> tuple[dict[int, tuple[Piece, ...]], dict[int, Sequence[int]]]:
        """Cut the snippet of each row, and number the words that it lacks: one call for each segment."""
        snippets: dict[int, tuple[Piece, ...]] = {}
        missing: dict[int, Sequence[int]] = {}
        for number in {self._segments[row] for row in rows}:
            these = sorted((row for row in rows if self._segments[row] == number), key=self._documents.__getitem__)
            documents, texts = [self._documents[row] for row in these], [self._text(row) for row in these]
            cut, has = cut_snippets(self._index.segments[number], self._prepared, documents, texts, chars)
            whole = bool(has.all())
            for row, snippet, present in zip(these, cut, has, strict=True):
                snippets[row] = snippet
                missing[row] = () if whole else np.flatnonzero(~present).tolist()
        return snippets, missing

    def _faces(self, rows: Sequence[int]) -> dict[int, Face]:
        """Give what each row looks like; those not known yet are read at once."""
        known, faces = self._known.faces, dict[int, Face]()
        missing: dict[int, list[int]] = {}
        for row in rows:
            segment, document = self._place(row)
            face = known.get((segment.name, document))
            if face is None:
                missing.setdefault(self._segments[row], []).append(row)
            else:
                faces[row] = face
        for number, these in missing.items():
            segment, documents = self._index.segments[number], [self._documents[row] for row in these]
            for row, document, face in zip(these, documents, read_faces(segment, documents), strict=True):
                faces[row] = known[segment.name, document] = face
        return faces

    def _url(self, row: int) -> str:
        segment, document = self._place(row)
        return segment.string("url", document)

    def _links(self, row: int, url: str) -> tuple[tuple[str, str], ...]:
        """Give other results of the site whose home page this is."""
        if url.partition("://")[2].partition("/")[2]:
            return ()
        hosts = self._hosts[:_LOOK_FOR_LINKS]
        same = [n for n, host in enumerate(hosts) if host == self._hosts[row] and n != row][:_LINKS]
        places = [self._place(other) for other in same]
        return tuple(
            (segment.string("title", document), segment.string("url", document)) for segment, document in places
        )
