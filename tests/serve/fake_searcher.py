"""A deterministic searcher for tests of pages: results from a fictional coast."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from periplus.errors import BadInput, BadUrl
from periplus.hashing import fingerprint_text
from periplus.parse import TextBlock
from periplus.records import Hit, Query, ResultPage, SearchLimits
from periplus.search import Passage

PLACES = (
    ("Salt harbour", "harbour", "the salt pans dry in the sun and boats carry the grain to the outer islands"),
    ("The lighthouse of Pharos", "lighthouse", "mirrors of bronze threw the light of its fire far over the sea"),
    (
        "Monsoon winds for sailors",
        "winds",
        "set out in July when the wind turns and come back before the winter storms",
    ),
    (
        "Tide tables, north shore",
        "tides",
        "high water at the mole comes an hour after the moon has passed the meridian",
    ),
    (
        "Anchorages along the reef",
        "anchorages",
        "five fathoms over sand, sheltered from the north, with fresh water near",
    ),
)


class FakeCachedPage(msgspec.Struct, frozen=True):
    url: str
    when: float
    title: str
    text: str


class FakeStatistics(msgspec.Struct, frozen=True):
    documents: int
    hosts: int
    newest: float
    bytes: int
    languages: tuple[str, ...] = ("en", "de", "ja")
    kinds: frozenset[str] = frozenset({"text/html", "application/pdf", "application/wsdl+xml"})


class FakePageStatus(msgspec.Struct, frozen=True):
    url: str
    key: int
    reason: str
    other: str
    when: float

    @property
    def indexed(self) -> bool:
        return self.reason == "indexed"


class FakeWeight(msgspec.Struct, frozen=True):
    name: str
    value: float
    help: str


class FakeIndexParts(msgspec.Struct, frozen=True):
    generation: int
    documents: int
    segments: tuple[tuple[str, int, int, int], ...]
    parts: dict[str, int]
    languages: dict[str, int]
    hosts: tuple[tuple[str, int], ...] = (("coast.example", 4),)


def hit(number: int, query: Query) -> Hit:
    title, path, text = PLACES[number % len(PLACES)]
    words = [word.strip('"+').casefold() for word in query.words.split()]
    first = words[0] if words else "sea"
    url = f"https://coast{number % 7}.example/guide/{path}/{number}"
    reasons = (("words in the title", 4.2), ("words in the text", 2.5), ("links to it", 1.1), ("length", -0.4))
    return Hit(
        url=url,
        title=f"{title}, chapter {number + 1}",
        snippet=(
            ("Pilots who know the ", False),
            (first, True),
            (f" will tell you that {text}; ", False),
            *_tail(words),
        ),
        breadcrumbs=(f"coast{number % 7}.example", "guide", path, f"chapter {number + 1}"),
        score=7.4 - number / 100,
        key=fingerprint_text(url),
        language="fr" if number == 2 else "en",
        fetched=time.time() - 3600.0 * (number + 1) ** 2,
        kind="application/pdf" if number == 3 else "text/html",
        missing=tuple(words[1:2]) if number == 1 else (),
        reasons=reasons if query.explain else (),
    )


def _tail(words: list[str]) -> tuple[tuple[str, bool], ...]:
    if len(words) < 2:
        return (("and nothing else is worth the journey at this season of the year.", False),)
    return (("no chart marks the ", False), (words[1], True), (" as clearly as a pilot can.", False))


class FakeSearcher:
    """Finds `total` results for everything but 'nothing', and anything you like through `answer`."""

    def __init__(
        self, total: int = 87, documents: int = 1_204_331, answer: Callable[[Query], ResultPage] | None = None
    ) -> None:
        self.total = total
        self.documents = documents
        self.answer = answer
        self.asked: list[Query] = []
        self.counted: list[tuple[str, str]] = []
        self.refreshes = 0
        self.blocks: tuple[TextBlock, ...] = ()
        self._lock = threading.Lock()

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        with self._lock:
            self.asked.append(query)
        if self.answer:
            return self.answer(query)
        total = 0 if "nothing" in query.words else self.total
        hits = tuple(hit(number, query) for number in range(query.start, min(query.start + query.size, total)))
        return ResultPage(query, hits, total, total < 1000, "partial" in query.words, 0.00312, self.documents)

    def passages(
        self, query: Query, tokens: int, limits: SearchLimits | None = None
    ) -> tuple[ResultPage, tuple[Passage, ...]]:
        page = self.search(query, limits)
        found = [
            Passage(one.url, one.title, "".join(t for t, _ in one.snippet), 0.5, one.key, 3, 90, "ab" * 32, ("Top",))
            for one in page.hits[: max(1, tokens // 100)]
        ]
        return page, tuple(found)

    def cached_page(self, key: int) -> FakeCachedPage | None:
        known = hit(0, Query("salt"))
        if key != known.key:
            return None
        text = "First paragraph.\n\n<script>alert(1)</script>\nThe salt pans dry in the sun. " + "Grain and oil. " * 60
        return FakeCachedPage(known.url, 1_700_000_000.0, "Salt harbour <b>", text)

    def cached_blocks(self, key: int) -> tuple[TextBlock, ...]:
        return self.blocks

    def statistics(self) -> FakeStatistics:
        return FakeStatistics(self.documents, 8_412 if self.documents else 0, time.time() - 40.5, 5_321_000_000)

    def refresh(self) -> bool:
        self.refreshes += 1
        return False

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Count queries."""
        self.counted += queries

    def suggest(self, words: str, size: int) -> tuple[tuple[str, float], ...]:
        found = [title for title, _, _ in PLACES if title.casefold().startswith(words.casefold())]
        return tuple((title, 1.0 - n / 10) for n, title in enumerate(found[:size]))

    def page_status(self, url: str) -> FakePageStatus:
        if "." not in url:
            raise BadUrl("not a URL")
        indexed = "coast" in url
        return FakePageStatus(
            url, fingerprint_text(url), "indexed" if indexed else "unknown", "", 1_700_000_000.0 * indexed
        )

    def index_parts(self) -> FakeIndexParts:
        return FakeIndexParts(
            7, self.documents, (("seg-000001-0000", 5, 4, 1000),), {"postings": 600, "text": 400}, {"en": 4}
        )

    def weights(self) -> tuple[FakeWeight, ...]:
        return (
            FakeWeight("static_weight", 0.5, "What the best static rank adds"),
            FakeWeight("rerank", 100, "How many"),
        )

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        if set(weights) - {"static_weight", "rerank"}:
            raise BadInput("Unknown weight.")
        page = self.search(query)
        return msgspec.structs.replace(page, hits=page.hits[::-1] if weights.get("static_weight") != 0.5 else page.hits)
