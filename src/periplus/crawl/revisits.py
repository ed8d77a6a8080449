"""The history of stored pages: how often they were fetched and had changed, and which ones are due for a revisit.

Dates in sitemaps and feeds take precedence: a page that changed after its last fetch, by its site's dates, is due now.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.frontier import best_frequencies, change_rates
from periplus.records import LIST_KIND, FetchRecord, FetchRequest, Outcome, Page
from periplus.url import parse_address

__all__ = ["CrawlHistory", "PageHistory", "history_of_record", "read_history"]

_PRIOR: Final = 1 / (30 * 86_400.0)
"""Assumed change rate, per second, of a page that was fetched once: once a month."""
_DAY: Final = 86_400.0
_SLACK: Final = 0.7
"""Revisits that remain today go to pages that are due within this share of their interval."""
_LIST_AGE: Final = 3_600.0
"""Seconds after which sitemaps and feeds are fetched again."""
_HINTED: Final = 1_000.0
"""Crawl rank of pages that changed by the dates of their site; lists, which contain the dates, come before."""
_TRUST: Final = 0.8
_REVISIT: Final = 100.0
"""Crawl rank of other revisits, above new pages: revisits per day are limited, and new pages are endless."""
_MAX_SAME_DATE: Final = 20
"""If so many pages of a list, and most of them, have the same date, it is the date of the list itself."""


class PageHistory(msgspec.Struct):
    """The fetch history of a page."""

    url: str
    when: float
    """When it was last fetched."""
    content: int
    depth: int = 0
    etag: str = ""
    modified: str = ""
    visits: int = 0
    """Fetches after the first."""
    changes: int = 0
    seconds: float = 0.0
    is_list: bool = False
    """Whether it is a sitemap or a feed."""
    change_hint: float = 0.0
    """When it last changed, by the dates of its site."""
    unchanged_hint: float = 0.0
    """When its site last stated that it has not changed since it was fetched."""
    hints_wrong: bool = False
    """Whether it was once found changed despite such a statement."""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The request headers for a conditional fetch."""
        pairs = (("If-None-Match", self.etag), ("If-Modified-Since", self.modified))
        return tuple(pair for pair in pairs if pair[1])


class CrawlHistory:
    """The fetch history of all pages that still exist."""

    def __init__(self) -> None:
        self.pages: dict[int, PageHistory] = {}

    def learn(self, record: FetchRecord) -> None:
        """Add a record; a page that is gone is removed."""
        page = self.pages.get(record.key)
        if record.outcome is Outcome.GONE:
            self.pages.pop(record.key, None)
        elif record.outcome is Outcome.NOT_MODIFIED and page is not None:
            self._count_visit(page, record.when, changed=False)
        elif record.outcome is Outcome.OK and record.page is not None:
            if page is None:
                self.pages[record.key] = page = PageHistory(record.url, record.when, record.content, record.depth)
            else:
                self._count_visit(page, record.when, changed=record.content != page.content)
            page.content, page.etag, page.modified = record.content, record.etag, record.modified
            page.is_list = record.page.kind == LIST_KIND
            self.read_dates(record.page, record.when)

    def read_dates(self, list_page: Page, now: float) -> list[FetchRequest]:
        """Apply the dates of a list fetched at `now`; return requests for pages that changed after their last fetch."""
        dates = [when for when in list_page.changed if when] if list_page.kind == LIST_KIND else []
        most = max(Counter(dates).values(), default=0)
        if most >= _MAX_SAME_DATE and most * 2 > len(dates):
            return []
        dated = []
        for link, when in zip(list_page.links, list_page.changed, strict=False):
            page = self._find(link.url, list_page.url) if when else None
            if page is not None:
                # A date in the future means no more than a change until now.
                page.change_hint = max(page.change_hint, min(when, now))
                page.unchanged_hint = now if page.change_hint <= page.when and not page.hints_wrong else 0.0
                dated.append(page)
        return [request for request in map(_hinted_request, dated) if request is not None]

    def _find(self, url: str, base: str) -> PageHistory | None:
        try:
            page = self.pages.get(parse_address(url, base).key)
        except BadUrl:
            return None
        return page if page is not None and not page.is_list else None

    def _count_visit(self, page: PageHistory, when: float, changed: bool) -> None:
        page.hints_wrong |= changed and page.change_hint <= page.when < page.unchanged_hint
        page.visits += 1
        page.changes += changed
        page.seconds += max(0.0, when - page.when)
        page.when = max(page.when, when)

    def select_due(self, now: float, per_day: int) -> list[FetchRequest]:
        """Return requests for all lists that are due, and for up to `per_day` pages in the order of their benefit.

        Pages that changed by the dates of their site come before those that are only likely to have changed.
        """
        lists = [page for page in self.pages.values() if page.is_list and now - page.when >= _LIST_AGE]
        pages = [page for page in self.pages.values() if not page.is_list]
        requests = [_make_request(page, 2 * _HINTED) for page in lists]
        requests += [_make_request(pages[row], rank) for row, rank in _rank_pages(pages, now, per_day)]
        return [request for request in requests if request is not None]

    def explain_none(self, now: float, per_day: int) -> str:
        """Return, as a sentence, why `select_due` returns nothing now."""
        pages = [page for page in self.pages.values() if not page.is_list]
        if not pages:
            return "Nothing is fetched again: no page has been stored yet."
        recent = sum(page.visits > 0 and page.when > now - _DAY for page in pages)
        if recent >= per_day:
            return (
                f"Nothing is fetched again: {recent:,} revisits were made in the last 24 hours, "
                f"and crawl.recrawl_per_day allows {per_day:,}."
            )
        rows = np.array([(p.visits, p.changes, p.seconds, p.when, p.depth) for p in pages], np.float64)
        frequencies = _frequencies(rows, per_day)[2]
        seconds = float(((1.0 - _SLACK) / np.maximum(frequencies, 1e-12) - (now - rows[:, 3])).min())
        return (
            f"Nothing is fetched again yet: of {len(pages):,} stored pages, the first is due "
            f"{_format_wait(max(0.0, seconds))} (crawl.recrawl_per_day = {per_day:,})."
        )


def _format_wait(seconds: float) -> str:
    for unit, length in (("days", _DAY), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"in about {seconds / length:,.0f} {unit}"
    return "in less than two minutes"


def _frequencies(
    rows: npt.NDArray[np.float64], per_day: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return change rates, weights and best frequencies; rows are visits, changes, seconds, time and depth."""
    visits, changes, seconds, _, depth = rows[:, :5].T
    rates = change_rates(visits, changes, seconds, _PRIOR)
    # Pages near the seeds are read most.
    weights = 1.0 / (1.0 + depth)
    return rates, weights, best_frequencies(rates, weights, per_day / _DAY)


def _rank_pages(pages: list[PageHistory], now: float, per_day: int) -> list[tuple[int, float]]:
    """Return the indices of the pages to revisit now, the most beneficial first, each with its crawl rank."""
    rows = np.array(
        [(p.visits, p.changes, p.seconds, p.when, p.depth, p.change_hint, p.unchanged_hint) for p in pages], np.float64
    ).reshape(-1, 7)
    visits, _, _, when, _, change_hint, unchanged_hint = rows.T
    rates, weights, frequencies = _frequencies(rows, per_day)
    # Time during which the site states that a page is unchanged counts little.
    age = np.maximum(now - when, 0.0) - _TRUST * np.clip(unchanged_hint - when, 0.0, np.maximum(now - when, 0.0))
    late = age * frequencies - 1.0
    is_hinted = change_hint > when
    # Benefit of a revisit: how long the page will then be fresh, times the probability that it is stale now.
    expected = rates * age
    benefit = weights / np.maximum(rates, 1e-12) * np.where(is_hinted, 1.0, 1.0 - (1.0 + expected) * np.exp(-expected))
    due = np.flatnonzero(is_hinted | (late >= -_SLACK))
    recent = int(((visits > 0) & (when > now - _DAY)).sum())
    best = due[np.argsort(-benefit[due], kind="stable")][: max(0, per_day - recent)]
    ranks = np.where(is_hinted, _HINTED, _REVISIT + np.clip(late, -1.0, 100.0))
    return [(row, float(ranks[row])) for row in best.tolist()]


def _make_request(page: PageHistory, rank: float) -> FetchRequest | None:
    try:
        return FetchRequest(parse_address(page.url), page.depth, rank)
    except BadUrl:
        return None


def _hinted_request(page: PageHistory) -> FetchRequest | None:
    """Return a request for a page that changed after its last fetch by the dates of its site."""
    return _make_request(page, _HINTED) if page.change_hint > page.when else None


def history_of_record(record: FetchRecord) -> PageHistory:
    """Return the history of a page with a single record."""
    return PageHistory(record.url, record.when, record.content, record.depth, record.etag, record.modified)


def read_history(records: Iterable[FetchRecord]) -> CrawlHistory:
    """Return the history of all pages in `records`."""
    history = CrawlHistory()
    for record in records:
        history.learn(record)
    return history
