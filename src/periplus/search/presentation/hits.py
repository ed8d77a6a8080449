"""Candidates to hits: title, breadcrumbs, snippet, date, missing words; and the fields that selection needs."""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.hashing import fingerprint
from periplus.index import Index, Segment
from periplus.publish import PUBLISHED_HOST
from periplus.query import QueryPlan
from periplus.records import Hit, PageFlag
from periplus.search.column_reader import read_columns
from periplus.search.presentation.result_selection import (
    MIN_SIMHASH_BYTES,
    CandidateFields,
    ContentSignature,
)
from periplus.search.presentation.snippets import Answer, Snippet, cut_snippets, limit_snippet
from periplus.search.presentation.stored_fields import DocumentCache, StoredFields, read_stored_fields
from periplus.search.rerank import RerankedCandidates
from periplus.text.kernels import simhash

__all__ = ["HitBuilder"]

_SNIPPET_LIMIT: Final = int(PageFlag.SNIPPET_LIMIT)  # Flags of an enumeration take longer to compare.
_MAX_SIMHASH_BYTES: Final = 16_384
"""Bytes of a text that its simhash is made of."""

_SELECTION_COLUMNS: Final = (("flags", np.int64), ("host", np.int64))

Reasons = tuple[tuple[str, float], ...]


class HitBuilder:
    """Reads what one answer needs of its candidates, each thing at most once."""

    def __init__(
        self, index: Index, plan: QueryPlan | None, candidates: RerankedCandidates, cache: DocumentCache
    ) -> None:
        """Open candidates of an index; plan: of the query, which hits need, and selection does not."""
        self._index = index
        self._plan = plan
        self._segments: list[int] = candidates.segments.tolist()
        self._documents: list[int] = candidates.documents.tolist()
        self._candidates = candidates
        self._cache = cache
        cache.trim()
        self._texts: dict[int, bytes] = {}
        segments, documents = candidates.segments, candidates.documents
        self._flags, hosts = read_columns(index, segments, documents, _SELECTION_COLUMNS)
        self._hosts = self._host_ids(hosts.tolist())

    def flags(self) -> npt.NDArray[np.int64]:
        """Return the flags of all candidates."""
        return self._flags

    def fields(self) -> CandidateFields:
        """Return the fields that selection needs."""
        return CandidateFields(self._hosts.__getitem__, self.signature)

    def _host_ids(self, numbers: list[int]) -> list[Hashable]:
        """Return the host of each candidate, given its number: itself in the only segment, or else its name.

        Documents without an address on the web have no host in common: each has one of its own.
        """
        if len(self._index.segments) == 1 and not self._index.segments[0].own_fields.exists:
            return list(numbers)
        names: dict[tuple[int, int], str] = {}
        for host in zip(self._segments, numbers, strict=True):
            if host not in names:
                names[host] = self._index.segments[host[0]].string("hosts", host[1])
        hosts: list[Hashable] = [names[host] for host in zip(self._segments, numbers, strict=True)]
        return [row if host == PUBLISHED_HOST else host for row, host in enumerate(hosts)]

    def _locate(self, row: int) -> tuple[Segment, int]:
        return self._index.segments[self._segments[row]], self._documents[row]

    def _text(self, row: int) -> bytes:
        text = self._texts.get(row)
        if text is None:
            segment, document = self._locate(row)
            text = self._texts[row] = segment.text(document)
        return text

    def _read_texts(self, number: int, rows: Sequence[int]) -> list[bytes]:
        """Return the texts of rows of one segment, in the order of its documents."""
        texts = self._texts
        if missing := [row for row in rows if row not in texts]:
            read = self._index.segments[number].texts([self._documents[row] for row in missing])
            texts.update(zip(missing, read, strict=True))
        return [texts[row] for row in rows]

    def signature(self, row: int) -> ContentSignature:
        """Return what near-duplicates of a row are recognised by."""
        segment, document = self._locate(row)
        signature = self._cache.signatures.get((segment.name, document))
        if signature is None:
            signature = self._cache.signatures[segment.name, document] = self._make_signature(row, segment, document)
        return signature

    def _make_signature(self, row: int, segment: Segment, document: int) -> ContentSignature:
        """Return the simhash that a crawl stored of a document's main content, or one of its text."""
        stored = int(segment.simhashes[document])
        if stored and (length := segment.stored_texts.length(document)) >= MIN_SIMHASH_BYTES:
            return ContentSignature(stored, length, 0)
        text = self._text(row)
        data = np.frombuffer(text[:_MAX_SIMHASH_BYTES], np.uint8)
        own = int(simhash.simhashes(data, np.array([0, len(data)], np.int64))[0])
        return ContentSignature(own, len(text), fingerprint(text))

    def hits(self, rows: Sequence[int], chars: int, reasons: Sequence[Reasons]) -> list[Hit]:
        """Return the hits of some selected rows, each by itself.

        chars: length of a snippet; reasons: the parts of each row's score, where the query asks to explain them.
        """
        assert self._plan is not None
        snippets, missing = self._snippets(self._plan, rows, chars)
        words, stored = [word.word for word in self._plan.words], self._stored_fields(rows)
        scores = self._candidates.scores.tolist()
        alternatives = self._plan.alternatives
        hits = []
        for row, parts in zip(rows, reasons, strict=True):
            fields = stored[row]
            snippet, answer = snippets[row]
            if fields.flags & _SNIPPET_LIMIT:
                snippet, answer = limit_snippet(snippet, answer, fields.flags)
            hits.append(
                Hit(
                    url=fields.url,
                    title=fields.title,
                    snippet=snippet,
                    breadcrumbs=fields.breadcrumbs,
                    score=scores[row],
                    key=fields.key,
                    language=fields.language,
                    fetched=fields.fetched,
                    kind=fields.kind,
                    missing=tuple([words[n] for n in missing[row] if words[n] not in alternatives]),
                    reasons=parts,
                    day=fields.day,
                    flags=fields.flags,
                    answer=answer,
                    own_fields=fields.own_fields,
                )
            )
        return hits

    def _snippets(
        self, plan: QueryPlan, rows: Sequence[int], chars: int
    ) -> tuple[dict[int, tuple[Snippet, Answer]], dict[int, Sequence[int]]]:
        """Return the snippet of each row and the numbers of the words that it lacks: one call for each segment."""
        snippets: dict[int, tuple[Snippet, Answer]] = {}
        missing: dict[int, Sequence[int]] = {}
        for number in {self._segments[row] for row in rows}:
            these = sorted([row for row in rows if self._segments[row] == number], key=self._documents.__getitem__)
            documents, texts = [self._documents[row] for row in these], self._read_texts(number, these)
            cut, has = cut_snippets(self._index.segments[number], plan, documents, texts, chars)
            for row, snippet, present in zip(these, cut, has.tolist(), strict=True):
                snippets[row] = snippet
                missing[row] = () if all(present) else [word for word, has_it in enumerate(present) if not has_it]
        return snippets, missing

    def _stored_fields(self, rows: Sequence[int]) -> dict[int, StoredFields]:
        """Return the stored fields of each row; those of a segment that are not cached are read at once."""
        cached, stored = self._cache.fields, dict[int, StoredFields]()
        missing: dict[int, list[int]] = {}
        for row in rows:
            segment, document = self._locate(row)
            fields = cached.get((segment.name, document))
            if fields is None:
                missing.setdefault(self._segments[row], []).append(row)
            else:
                stored[row] = fields
        for number, these in missing.items():
            segment, documents = self._index.segments[number], [self._documents[row] for row in these]
            for row, document, fields in zip(these, documents, read_stored_fields(segment, documents), strict=True):
                stored[row] = cached[segment.name, document] = fields
        return stored

    def titles(self, rows: Sequence[int]) -> list[tuple[str, str]]:
        """Return the titles and URLs of some rows."""
        places = [self._locate(row) for row in rows]
        return [(segment.string("title", document), segment.string("url", document)) for segment, document in places]
