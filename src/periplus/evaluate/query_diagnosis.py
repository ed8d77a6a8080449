"""Why a page is not the answer to a query that somebody expected, and what would change that.

The query runs as it always does, and the page is followed through its stages (`Searcher.trace`). If the page is not in
the index, the page store and the crawl are asked what became of it.
"""

from pathlib import Path
from typing import Final, Protocol

import msgspec

from periplus.crawl import url_status
from periplus.evaluate.rank_explanation import BetterResult, compare_scores, explain_fetch
from periplus.records import Query, ResultPage, SearchLimits
from periplus.search import DocumentTrace, PageStatus
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["FirstStage", "QueryDiagnosis", "TracingSearcher", "diagnose"]

_PAGE: Final = 10
"""Results on a page for people."""


class TracingSearcher(Protocol):
    """What follows a page through a query: the searcher of an index, or a broker over shards."""

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Return the answer to a query."""
        ...

    def trace(self, query: Query, key: int) -> tuple[ResultPage, DocumentTrace]:
        """Return the answer to a query with all its results, and what became in it of the page with a key."""
        ...

    def page_status(self, url: str) -> PageStatus:
        """Return whether a URL can be found, and if not, why."""
        ...


class FirstStage(msgspec.Struct, frozen=True):
    """The place of a page among the candidates that the first stage found."""

    score: float
    rank: int = 0
    """From 1; 0 if it was not kept."""
    needed: float = 0.0
    """The score of the last one that was kept, where it was not."""


class QueryDiagnosis(msgspec.Struct, frozen=True):
    """What became of a page in a query."""

    query: str
    url: str
    """In canonical form."""
    reason: str
    """'ranked', 'safe search', 'near-duplicate', 'host', 'first stage', 'below', 'filtered', 'excluded', 'no match';
    of a page that is not in the index, 'deleted', 'noindex', 'copy', 'canonical', 'empty', 'not indexed yet',
    'redirect', 'failed', 'robots', 'waiting', 'under way', 'held', 'seen', 'unwanted', 'unseen' or 'no crawl'; at a
    broker, which does not have the crawl, 'unknown'; 'shards' if it may be on one that did not answer."""
    summary: str
    """A sentence or two for people."""
    advice: tuple[str, ...] = ()
    """What would change it."""
    rank: int = 0
    """Its place among the results, from 1; 0 if it has none."""
    results: int = 0
    score: float = 0.0
    first_stage: FirstStage | None = None
    missing: tuple[str, ...] = ()
    """Words and phrases of the query that the page does not have."""
    filters: tuple[str, ...] = ()
    """Filters that it does not pass."""
    other: str = ""
    """The page that is shown or indexed in its stead."""
    showing_for: str = ""
    """The correction of the query that was searched instead."""
    better: BetterResult | None = None
    """The next better result, and what it has more of."""


def diagnose(
    searcher: TracingSearcher, folder: Path | None, settings: Settings, query: Query, url: str
) -> QueryDiagnosis:
    """Return what became of a page in a query. Raise `BadUrl` for an invalid URL.

    folder: the data folder, None at a broker. This may take long: it reads the store and the snapshot of the crawl if
    the page is not in the index.
    """
    address = parse_address(url)
    page, trace = searcher.trace(query, address.key)
    if not trace.indexed and page.shards[1]:
        return _unanswered(query, address.url, *page.shards)
    if not trace.indexed:
        return _not_indexed(searcher, folder, settings, query, address.url)
    found = QueryDiagnosis(
        query.words,
        address.url,
        "",
        "",
        rank=trace.rank,
        results=trace.results,
        score=trace.score,
        first_stage=FirstStage(trace.first_score, trace.first_rank, trace.needed) if trace.matched else None,
        missing=trace.missing,
        filters=trace.filters,
        showing_for=trace.showing_for,
    )
    if trace.rank:
        return _ranked(searcher, query, page, trace, found)
    reason, summary, advice = _lost(query, settings, trace)
    if trace.showing_for:
        advice = (*advice, f"The query was corrected to '{trace.showing_for}': verbatim=1 searches it as typed.")
    return msgspec.structs.replace(found, reason=reason, summary=summary, advice=advice, other=trace.folded_into)


def _ranked(
    searcher: TracingSearcher, query: Query, page: ResultPage, trace: DocumentTrace, found: QueryDiagnosis
) -> QueryDiagnosis:
    """Complete the diagnosis of a page that is among the results, with the next better one."""
    place, hits = trace.rank - 1, page.hits
    summary = f"It is result {trace.rank:,} of {trace.results:,}, on page {place // _PAGE + 1:,}."
    own = hits[place]
    advice = tuple(f"The page does not have '{word}': leave it out, or use a word of the page." for word in own.missing)
    # Results are not in the order of their scores throughout: those of one host stand back after the second.
    above = next((n for n in range(place - 1, -1, -1) if hits[n].score >= own.score), -1)
    better = None
    if above >= 0:
        asked = msgspec.structs.replace(query, start=above, size=place - above + 1, explain=True)
        shown = searcher.search(asked).hits
        if shown and shown[-1].key == own.key:
            better = compare_scores(shown[-1], shown[0])
            summary += f" The next better one has a score of {better.score:.3f}, this one {own.score:.3f}."
            name, ours, theirs = better.gaps[0] if better.gaps else ("", 0.0, 0.0)
            if theirs > ours:
                advice = (*advice, f"The largest difference to the next better one: {name} ({theirs - ours:.3f} less).")
    return msgspec.structs.replace(
        found, reason="ranked", summary=summary, advice=advice, missing=own.missing, better=better
    )


def _lost(query: Query, settings: Settings, trace: DocumentTrace) -> tuple[str, str, tuple[str, ...]]:
    """Return why a page of the index is not among the results, and what would change it."""
    if trace.hidden:
        return "safe search", "Safe search leaves it out.", ("Turn safe search off (safesearch=0).",)
    if trace.folded_into:
        summary = f"It would be number {trace.reranked:,}, but says nearly the same as a better result."
        return "near-duplicate", summary, ("similar=1 shows near-duplicates too.",)
    most = settings.search.max_results
    if trace.crowded:
        summary = f"It is number {trace.reranked:,} by its score, but behind the last of the {trace.results:,} results"
        if query.folded and trace.reranked <= trace.results:
            return "host", f"{summary}: its host has better ones.", ("similar=1 shows all pages of a host.",)
        return "below", f"{summary}.", ("Use more specific words, or site: with its host.",)
    if trace.matched:
        summary = (
            f"It matches, but its first-stage score of {trace.first_score:.3f} is below {trace.needed:.3f}, that of "
            f"the last of the {trace.candidates:,} candidates."
        )
        return "first stage", summary, ("Use words that few pages have, a phrase, or site: with its host.",)
    if trace.reranked:
        return "below", f"It is behind the first {most:,} results.", ("Use more specific words.",)
    return _not_matched(trace)


def _not_matched(trace: DocumentTrace) -> tuple[str, str, tuple[str, ...]]:
    if trace.filters:
        names = ", ".join(trace.filters)
        more = f" Nor does it have {_quote(trace.missing)}." if trace.missing else ""
        return "filtered", f"It does not pass {names}.{more}", (f"Search without {names}.",)
    if trace.barred:
        names = _quote(trace.barred)
        return "excluded", f"The query excludes it: it has {names}.", (f"Search without excluding {names}.",)
    if trace.missing:
        names = _quote(trace.missing)
        return "no match", f"It does not have {names}.", (f"Search without {names}, or add the words to the page.",)
    summary = "It does not match: it has some words of the query, but not together as the query asks."
    return "no match", summary, ("Search for the plain words.",)


def _quote(parts: tuple[str, ...]) -> str:
    return ", ".join(f"'{part}'" for part in parts[:10])


_ADVICE: Final = {
    "deleted": "The operator can restore it: periplus index restore URL.",
    "noindex": "Its owner can remove noindex from its robots meta tag or header.",
    "copy": "Look for the page that has the same content instead.",
    "canonical": "Look for the address that it names as its own.",
    "redirect": "Look for the address that it leads to.",
    "not indexed yet": "Run `periplus index build`; `periplus up` does it by itself.",
    "robots": "Only its owner can allow it, in robots.txt.",
    "failed": "It is tried again with the next crawl; see the outcome above.",
    "waiting": "Wait, or raise the limits of the crawl (crawl.pages, crawl.depth).",
    "held": "If it is no trap, release its region: periplus crawl --release REGION.",
    "seen": "Raise frontier.max_host_urls, or submit the page (/add).",
    "unwanted": "Add its host to the seeds, or change crawl.scope and the filters of the crawl.",
    "unseen": "Submit it (/add), or add it to the seeds: periplus crawl URL.",
    "no crawl": "Crawl it: periplus crawl URL.",
}


def _unanswered(query: Query, url: str, asked: int, missing: tuple[int, ...]) -> QueryDiagnosis:
    """Return that nothing is known of a page, since shards did not answer."""
    summary = f"{len(missing)} of {asked} shards did not answer, and the page may be on one of them."
    return QueryDiagnosis(query.words, url, "shards", summary, ("Ask again later.",))


_STATUSES: Final = {
    "noindex": "It asks not to be indexed.",
    "copy": "It has the same content as another page.",
    "canonical": "It names another address as its own.",
    "empty": "It has no text.",
    "waiting": "It was fetched, and waits for the next build of the index.",
}


def _not_indexed(
    searcher: TracingSearcher, folder: Path | None, settings: Settings, query: Query, url: str
) -> QueryDiagnosis:
    """Return what became of a page that is not in the index."""
    address, status = parse_address(url), searcher.page_status(url)
    reason, other = status.reason, status.other
    if reason == "deleted":
        summary = "The operator of this search engine deleted it."
    elif folder is None:
        reason = "not indexed yet" if reason == "waiting" else reason
        summary = _STATUSES.get(status.reason, "Brokers do not know what became of it in the crawl.")
    else:
        reason, summary, other = explain_fetch(url, url_status(folder, settings, address))
    advice = (_ADVICE[reason],) if reason in _ADVICE else ()
    return QueryDiagnosis(query.words, url, reason, f"It is not in the index. {summary}", advice, other=other)
