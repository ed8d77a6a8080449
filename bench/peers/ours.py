"""Our own engine: the only file of the benchmarks that knows our inner doors.

`kernel` times the match calls over all segments with plans made beforehand, count off: what a peer's search call does.
`find_candidates` times all of it from the prepared query: plans, matching, merging.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from corpus import Asked, Passage
from figures import folder_bytes
from peers import Built, Engine
from periplus.hashing import fingerprint
from periplus.index import Index, build_index
from periplus.query import (
    And,
    BagOfWords,
    Node,
    Phrase,
    QueryPlan,
    Scoring,
    ScratchPool,
    Word,
    find_candidates,
    plan_query,
    plan_segment,
)
from periplus.query.kernels import match
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import IndexSettings

PLAIN_BM25 = IndexSettings(
    title_weight=0,
    heading_weight=0,
    url_weight=0,
    anchor_weight=0,
    emphasis_weight=0,
    body_weight=1,
    k1=1.2,
    body_b=0.75,
    k1_length_exponent=0.0,
    thin_page_weight=1.0,
)
"""Body only, as the peers score."""
_NO_LANGUAGE = "zxx"
"""The texts are stems already: no stemming, no stop words."""
_STORED = ("text.", "documents.url_", "documents.title_blob", "documents.title_start", "words.")
"""Arrays that only keep what is shown: the text, the URL and the title, which a peer has in its store of fields; and
what spelling and completions read, of which a peer has nothing."""
_LEARNED = ("static_vectors.", "names.")
"""Arrays of the index that a peer has nothing like, either: they count, and are stated."""
_URL = "https://tokenbench/-"
"""Of every page of tokens: a term that all have, and no home page, of which a site has one."""
_SCRATCH = ScratchPool()


def token_visits(texts: Iterable[str]) -> Iterator[FetchRecord]:
    """Make pages whose key is their number and whose body is the text; all else is the least that a page can have."""
    for number, text in enumerate(texts):
        page = Page(_URL, text=text, language=_NO_LANGUAGE)
        yield FetchRecord(_URL, number + 1, Outcome.OK, 0.0, status=200, page=page)


def page_visits(passages: Iterable[Passage]) -> Iterator[FetchRecord]:
    """Make pages as a crawl would, with title, URL and language."""
    for url, title, text in passages:
        page = Page(url, title=title, text=text, language="en")
        yield FetchRecord(url, fingerprint(url.encode()), Outcome.OK, 1.0, status=200, page=page)


def build(visits: Iterable[FetchRecord], folder: Path, settings: IndexSettings) -> Built:
    """Build an index and say what it took."""
    began, before = time.perf_counter(), time.process_time()
    build_index(visits, folder, settings, workers=1)
    seconds, cpu = time.perf_counter() - began, time.process_time() - before
    parts = Index.open(folder).statistics().parts
    stored, learned = (
        sum(size for name, size in parts.items() if name.startswith(names)) for names in (_STORED, _LEARNED)
    )
    return Built(seconds, folder_bytes(folder) - stored, stored, cpu, learned)


class Ours(Engine):
    """Our index, searched by plans made beforehand."""

    name = "periplus"

    def __init__(self, memory_mb: int = 1 << 14) -> None:
        self._settings = msgspec.structs.replace(PLAIN_BM25, memory_mb=memory_mb)

    def build(self, texts: Sequence[str], folder: Path) -> Built:
        return build(token_visits(texts), folder, self._settings)

    def open(self, folder: Path) -> None:
        self.index = Index.open(folder)

    def prepare(self, asked: Asked, k: int) -> Any:
        self.k = k
        prepared = plan_query(self.index, tree(asked), Scoring())
        plans = [(segment, plan_segment(segment, prepared)) for segment in self.index.segments]
        return [(segment.pinned_postings, plan, _SCRATCH.get(len(segment.live), plan, k), k) for segment, plan in plans]

    def search(self, prepared: Any) -> Any:
        return [match.match(lists, plan, scratch, k, 0) for lists, plan, scratch, k in prepared]

    def hits(self, answer: Any) -> list[int]:
        best = sorted(
            (-float(score), int(self.index.segments[number].column("key")[document]) - 1)
            for number, found in enumerate(answer)
            for score, document in zip(found.scores, found.documents, strict=True)
        )
        return [document for _, document in best[: self.k]]


class OursWhole(Ours):
    """The same index, searched through `find_candidates`."""

    name = "periplus run"

    def prepare(self, asked: Asked, k: int) -> tuple[QueryPlan, int]:
        return plan_query(self.index, tree(asked), Scoring()), k

    def search(self, prepared: tuple[QueryPlan, int]) -> Any:
        return find_candidates(self.index, *prepared)

    def hits(self, answer: Any) -> list[int]:
        keys = [self.index.segments[s].column("key")[d] for s, d in zip(answer.segments, answer.documents, strict=True)]
        return (np.array(keys, np.int64) - 1).tolist()


def tree(asked: Asked) -> Node:
    """Return the query's tree; the words are terms already."""
    if asked.kind == "intersection":
        return And(tuple(Word(term) for term in asked.terms))
    if asked.kind == "phrase":
        return Phrase(asked.terms)
    return BagOfWords(asked.terms)
