"""Candidates to hits: title, trail, snippet, date, missing words; and what folding needs to know of them."""

from typing import Final, NamedTuple

import numpy as np

from periplus.fingerprint import fingerprint
from periplus.index import Field, Index, Segment, Term
from periplus.kernels import invert, simhash
from periplus.query import Prepared
from periplus.records import Candidates, Hit
from periplus.search.arrange import Arranged, Look, Resemblance
from periplus.search.snippets import make_snippet
from periplus.text import LANGUAGES
from periplus.url import trail

__all__ = ["Dresser"]

_BODY: Final = int(Field.BODY) << invert.FIELD_SHIFT
_NOWHERE: Final = np.zeros(0, np.int64)
_MOST_TEXT: Final = 16_384
"""Bytes of a text that near-duplicates are told by."""
_MOST_KNOWN: Final = 50_000
_LINKS: Final = 4
_LOOK_FOR_LINKS: Final = 60


class Face(NamedTuple):
    """What a document looks like, whatever was asked."""

    url: str
    title: str
    trail: tuple[str, ...]
    key: int
    language: str
    fetched: float
    kind: str
    day: int
    flags: int


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

    def __init__(self, index: Index, prepared: Prepared, found: Candidates, known: Known) -> None:
        self._index = index
        self._prepared = prepared
        self._found = found
        self._known = known
        known.bound()
        self._texts: dict[int, bytes] = {}
        self._places: dict[int, list[list[Term]]] = {}

    def flags(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Give the flags of all candidates."""
        out = np.zeros(len(self._found.documents), np.int64)
        for number in np.unique(self._found.segments).tolist():
            rows = self._found.segments == number
            out[rows] = self._index.segments[number].column("flags")[self._found.documents[rows]]
        return out

    def look(self) -> Look:
        """Give how candidates are looked at."""
        return Look(self._host, self._resemblance)

    def _place(self, row: int) -> tuple[int, Segment, int]:
        number = int(self._found.segments[row])
        return number, self._index.segments[number], int(self._found.documents[row])

    def _host(self, row: int) -> str:
        _, segment, document = self._place(row)
        return segment.string("hosts", int(segment.column("host")[document]))

    def _text(self, row: int) -> bytes:
        if row not in self._texts:
            _, segment, document = self._place(row)
            self._texts[row] = segment.text(document)
        return self._texts[row]

    def _resemblance(self, row: int) -> Resemblance:
        _, segment, document = self._place(row)
        found = self._known.resemblances.get((segment.name, document))
        if found is None:
            text = self._text(row)
            data = np.frombuffer(text[:_MOST_TEXT], np.uint8)
            mark = int(simhash.simhashes(data, np.array([0, len(data)], np.int64))[0])
            found = Resemblance(mark, len(text), fingerprint(text))
            self._known.resemblances[segment.name, document] = found
        return found

    def hit(self, row: int, arranged: Arranged, chars: int, reasons: tuple[tuple[str, float], ...]) -> Hit:
        """Give one result as a person sees it."""
        number, segment, document = self._place(row)
        face = self._face(segment, document)
        places, missing = [], []
        for word, terms in zip(self._prepared.words, self._terms(number), strict=True):
            at = [segment.positions(term, document)[0] for term in terms]
            joined = at[0] if len(at) == 1 else np.concatenate([_NOWHERE, *at])
            if len(joined) == 0:
                missing.append(word.word)
            # Positions are in order of fields, and the body is the last of them.
            places.append(joined[joined >= _BODY] - _BODY)
        weights = [max(word.weight, 0.01) for word in self._prepared.words]
        return Hit(
            url=face.url,
            title=face.title,
            snippet=make_snippet(self._text(row), places, weights, chars),
            trail=face.trail,
            score=float(self._found.scores[row]),
            key=face.key,
            language=face.language,
            fetched=face.fetched,
            kind=face.kind,
            missing=tuple(missing),
            reasons=reasons,
            day=face.day,
            flags=face.flags,
            similar=tuple(self._url(other) for other in arranged.similar.get(row, ())),
            links=self._links(row, face.url) if arranged.rows and row == arranged.rows[0] else (),
        )

    def _face(self, segment: Segment, document: int) -> Face:
        """Give what a document looks like."""
        found = self._known.faces.get((segment.name, document))
        if found is None:
            url = segment.string("url", document)
            found = self._known.faces[segment.name, document] = Face(
                url,
                segment.string("title", document),
                trail(url),
                int(segment.column("key")[document]),
                LANGUAGES[int(segment.column("language")[document])],
                float(segment.column("fetched")[document]),
                segment.string("kinds", int(segment.column("kind")[document])),
                int(segment.column("day")[document]),
                int(segment.column("flags")[document]),
            )
        return found

    def _terms(self, number: int) -> list[list[Term]]:
        """Look the query's words up in a segment, once."""
        if number not in self._places:
            segment = self._index.segments[number]
            words = self._prepared.words
            self._places[number] = [[place for term in word.terms if (place := segment.find(term))] for word in words]
        return self._places[number]

    def _url(self, row: int) -> str:
        _, segment, document = self._place(row)
        return segment.string("url", document)

    def _links(self, row: int, url: str) -> tuple[tuple[str, str], ...]:
        """Give other results of the site whose home page this is."""
        if url.partition("://")[2].partition("/")[2]:
            return ()
        host = self._host(row)
        others = [n for n in range(min(_LOOK_FOR_LINKS, len(self._found.documents))) if n != row]
        same = [n for n in others if self._host(n) == host][:_LINKS]
        links = []
        for other in same:
            _, segment, document = self._place(other)
            links.append((segment.string("title", document), segment.string("url", document)))
        return tuple(links)
