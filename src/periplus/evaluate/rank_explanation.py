"""Why a page is where it is for some words, or why it is not there.

In order: is it in the index, and then where in the results and by what; does it match, was it folded or filtered. If it
is not in the index, what became of its fetch; if it was never fetched, where the crawl is with it.
"""

from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from periplus.crawl import UrlStatus, url_status
from periplus.errors import NothingHere
from periplus.index import Index
from periplus.query import QueryWord, parse_query, select_allowed
from periplus.rank import Ranker
from periplus.records import FetchRecord, Hit, Outcome, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["BetterResult", "Explanation", "compare_scores", "explain", "explain_fetch"]


_OUTCOMES: Final = {
    Outcome.ROBOTS: "robots.txt of its host disallows it, so it was not requested",
    Outcome.GONE: "its host reports that it does not exist (404 or 410)",
    Outcome.CLIENT_ERROR: "its host refused the request",
    Outcome.BUSY: "its host was overloaded and asked to retry later",
    Outcome.SERVER_ERROR: "its host reported an internal error",
    Outcome.DNS: "the name of its host was not found",
    Outcome.CONNECT: "its host could not be reached",
    Outcome.TLS: "the certificate of its host is not trusted",
    Outcome.TIMEOUT: "its host timed out",
    Outcome.TOO_LARGE: "it is larger than fetch.max_bytes",
    Outcome.BAD_RESPONSE: "the response of its host was malformed",
    Outcome.WRONG_TYPE: "its content type is not supported",
    Outcome.PARSE_FAILED: "it exceeded a limit of the parser, or made it fail",
    Outcome.FORBIDDEN_ADDRESS: "its host has a private address, which is not fetched unless fetch.allow names it",
}
_STATES: Final = {
    "waiting": "it is queued, with {before:,} of {waiting:,} URLs of its host before it",
    "under way": "it was being fetched when the crawl last wrote its snapshot",
    "held": "the crawl holds it back with its region, {region}",
    "seen": "the crawl has seen its URL and dropped it: a trap, or the queue of its host was full",
    "forbidden": "robots.txt of its host disallows it",
    "unwanted": "the crawl does not follow links to it: out of scope, or excluded by a filter",
    "unseen": "no crawl has found a link to it",
    "no crawl": "there has been no crawl in this folder",
}


class BetterResult(msgspec.Struct, frozen=True):
    """The next better result, and what it has more or less of."""

    url: str
    title: str
    score: float
    gaps: tuple[tuple[str, float, float], ...]
    """What scores are made of: name, the page's, the rival's; the largest difference in favour of the rival first."""


class Explanation(msgspec.Struct, frozen=True):
    """Why a page is where it is."""

    url: str
    """In canonical form."""
    words: str
    reason: str
    """'ranked', 'folded', 'safe', 'filtered', 'no match', 'below', 'removed', 'noindex', 'copy', 'canonical', 'empty',
    'not indexed yet', 'redirect', 'failed', 'robots', 'waiting', 'under way', 'held', 'seen', 'unwanted', 'unseen' or
    'no crawl'."""
    summary: str = msgspec.field(name="told")
    """A sentence for people."""
    rank: int = 0
    """Its place among the results, from 1; 0 when it has none."""
    results: int = 0
    score: float = 0.0
    parts: tuple[tuple[str, float], ...] = ()
    """What the score is made of."""
    missing: tuple[str, ...] = ()
    """Words that the page does not have."""
    better: BetterResult | None = msgspec.field(default=None, name="rival")
    other: str = ""
    """The page that stands for it."""


def explain(
    folder: Path,
    settings: Settings,
    url: str,
    words: str,
    *,
    language: str = "",
    safe: int = 0,
) -> Explanation:
    """Return why a page has its rank for these words, or why it is not there. Raise `BadUrl` for an invalid URL."""
    place = parse_address(url)
    query = Query(words, size=settings.search.max_results, language=language, safe=safe)
    try:
        found = _IndexedPage(folder, settings, query, place.key)
    except NothingHere:
        found = None
    if found is not None and found.indexed:
        return _in_index(place.url, found)
    return _elsewhere(place.url, words, found is not None and found.deleted, url_status(folder, settings, place))


class _IndexedPage:
    """The index, and one page in it."""

    def __init__(self, folder: Path, settings: Settings, query: Query, key: int) -> None:
        self.searcher = Searcher.open(folder, settings)
        self.index = Index.open(folder / "index", verify=False)
        self.ranker = Ranker(self.index, settings.rank, settings.embeddings)
        self.query = query
        self.key = key
        self.indexed = self.deleted = False
        self._at = (0, 0)
        for number, segment in enumerate(self.index.segments):
            for document in np.flatnonzero(segment.column("key") == np.uint64(key)).tolist():
                if segment.is_live[document]:
                    self.indexed, self._at = True, (number, document)
                self.deleted = True

    def hits(self, **changes: object) -> tuple[Hit, ...]:
        """Ask for all results there are, with some of the query changed."""
        return self.searcher.search(msgspec.structs.replace(self.query, **changes)).hits

    def place(self, **changes: object) -> int:
        """Return the position of the page among the results, from 0; -1 if it is not there."""
        return next((n for n, hit in enumerate(self.hits(**changes)) if hit.key == self.key), -1)

    def missing(self) -> tuple[str, ...] | None:
        """Name the words of the query that the page does not have; None when there are no words to look for."""
        tree = parse_query(self.query.words).tree
        if tree is None:
            return None
        prepared = self.ranker.plan(tree)
        segment, document = self.index.segments[self._at[0]], self._at[1]

        def has(word: QueryWord) -> bool:
            languages = word.languages or (None,) * len(word.terms)
            terms = [
                segment.find_term(term)
                for term, numbers in zip(word.terms, languages, strict=True)
                if numbers is None or select_allowed(segment, numbers, np.array([document], np.int32))[0]
            ]
            return any(len(segment.positions(term, document)[0]) for term in terms if term)

        return tuple(word.word for word in prepared.words if not has(word))


def _in_index(url: str, asked: _IndexedPage) -> Explanation:
    """Explain a page that is in the index."""
    hits = asked.hits()
    place = next((n for n, hit in enumerate(hits) if hit.key == asked.key), -1)
    if place >= 0:
        return _ranked(url, asked, hits, place)
    summary = Explanation(url, asked.query.words, "", "", results=len(hits), missing=asked.missing() or ())
    reason, sentence, other = _left_out(asked, hits, summary.missing)
    return msgspec.structs.replace(summary, reason=reason, summary=sentence, other=other)


def _ranked(url: str, asked: _IndexedPage, hits: tuple[Hit, ...], place: int) -> Explanation:
    # Results are not in the order of their scores throughout: those of one host stand back after the second.
    above = next((n for n in range(place - 1, -1, -1) if hits[n].score >= hits[place].score), -1)
    begin = above if above >= 0 else place
    shown = asked.hits(start=begin, size=place - begin + 1, explain=True)
    ours = shown[-1]
    better = compare_scores(ours, shown[0]) if above >= 0 else None
    summary = f"It is number {place + 1} of {len(hits):,} results."
    if better is not None:
        summary += f" The next better one has {better.score - ours.score:+.3f}."
    return Explanation(
        url, asked.query.words, "ranked", summary, place + 1, len(hits), ours.score, ours.reasons, ours.missing, better
    )


def compare_scores(ours: Hit, theirs: Hit) -> BetterResult:
    """Put what two scores are made of side by side."""
    own, other = dict(ours.reasons), dict(theirs.reasons)
    names = dict.fromkeys([*own, *other])
    gaps = [(name, own.get(name, 0.0), other.get(name, 0.0)) for name in names]
    gaps.sort(key=lambda gap: gap[1] - gap[2])
    return BetterResult(theirs.url, theirs.title, theirs.score, tuple(gaps))


def _left_out(asked: _IndexedPage, hits: tuple[Hit, ...], missing: tuple[str, ...]) -> tuple[str, str, str]:
    """Return why a page of the index is not among the results, and which page represents it."""
    query = asked.query
    if query.safe and asked.place(safe=0) >= 0:
        return "safe", "Safe search leaves it out.", ""
    unfolded = asked.hits(folded=False)
    mine = next((hit for hit in unfolded if hit.key == asked.key), None)
    if mine is not None:
        twin = next((hit.url for hit in hits if mine.url in hit.similar), "")
        return "folded", "A better result says nearly the same, and it was folded into that one.", twin
    if query.language and asked.place(language="", folded=False, safe=0) >= 0:
        return "filtered", f"It is not in the language that was asked for ({query.language}).", ""
    if missing:
        return "no match", "It does not have " + ", ".join(f"'{word}'" for word in missing) + ".", ""
    if len(unfolded) >= query.size:
        return "below", f"It matches, but is not among the best {query.size:,} results.", ""
    return "no match", "It does not match: an operator of the query leaves it out.", ""


def _elsewhere(url: str, words: str, deleted: bool, where: UrlStatus) -> Explanation:
    """Explain a page that is not in the index."""
    reason, sentence, other = explain_fetch(url, where)
    if deleted and reason == "not indexed yet":
        reason, sentence = "removed", "It was in the index and has been taken out of it."
    return Explanation(url, words, reason, sentence, other=other)


def explain_fetch(url: str, where: UrlStatus) -> tuple[str, str, str]:
    """Return what became of a page that is not in the index: a reason, a sentence, and the page in its stead."""
    if where.record is None or where.state in ("waiting", "under way"):
        reason = "robots" if where.state == "forbidden" else where.state
        sentence = _STATES[where.state].format(before=where.before, waiting=where.waiting, region=where.region)
        return reason, _sentence(sentence), ""
    reason, sentence, other = _of_visit(url, where.record)
    return reason, _sentence(sentence), other


def _of_visit(url: str, visit: FetchRecord) -> tuple[str, str, str]:
    """Return what the last fetch of a page resulted in."""
    page = visit.page
    if visit.outcome is Outcome.REDIRECT:
        return "redirect", f"it leads on to {visit.location}", visit.location
    if visit.outcome is Outcome.ROBOTS:
        return "robots", _OUTCOMES[Outcome.ROBOTS], ""
    if visit.outcome in _OUTCOMES:
        return "failed", f"{_OUTCOMES[visit.outcome]} ({visit.outcome.value})", ""
    if visit.duplicate_of:
        return "copy", f"it has the very content of {visit.duplicate_of}", visit.duplicate_of
    if page is None:
        return "empty", "there was nothing in it to read", ""
    if page.noindex:
        return "noindex", "it asks not to be indexed", ""
    if page.canonical and page.canonical != url:
        return "canonical", f"it names {page.canonical} as its own address", page.canonical
    return "not indexed yet", "it was fetched, and is not in the index yet: run `periplus index build`", ""


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
