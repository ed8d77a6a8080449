"""What the store knows of pages seen before: how often they were looked at and had changed, and what is due again.

Sitemaps and feeds that give dates pull a page forward: one that its site says was changed since we looked is due now.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from periplus.errors import BadUrl
from periplus.frontier import best_frequencies, change_rates
from periplus.records import LIST_KIND, FetchRecord, FetchRequest, Outcome, Page
from periplus.url import parse_address

__all__ = ["CrawlHistory", "PageHistory", "history_of_record", "read_history"]

_PRIOR: Final = 1 / (30 * 86_400.0)
"""Changes a second of a page that was seen once: one a month."""
_DAY: Final = 86_400.0
_SLACK: Final = 0.7
"""Looks that are left over today go to pages that far from their time: whoever comes once a day would waste them."""
_LIST_AGE: Final = 3_600.0
"""Sitemaps and feeds are looked at again after this long."""
_HINTED: Final = 1_000.0
"""Crawl rank of what a site says has changed; lists, which say so, come before."""
_TRUST: Final = 0.8
_AGAIN: Final = 100.0
"""Crawl rank of other second looks: there are only so many a day, and new pages never end."""
_STAMPED: Final = 20
"""A list that gives so many pages the same date, and most of them, tells when it was made itself."""


class PageHistory(msgspec.Struct):
    """One page and its past."""

    url: str
    when: float
    """The last look at it."""
    content: int
    depth: int = 0
    etag: str = ""
    modified: str = ""
    visits: int = 0
    """Looks after the first."""
    changes: int = 0
    seconds: float = 0.0
    is_list: bool = False
    """Whether it is a sitemap or a feed."""
    hinted: float = 0.0
    """When its site says that it was changed last."""
    vouched: float = 0.0
    """When its site said last that it has not changed since we looked."""
    betrayed: bool = False
    """Whether it had changed all the same, once."""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Give the headers that ask for the page only if it has changed."""
        pairs = (("If-None-Match", self.etag), ("If-Modified-Since", self.modified))
        return tuple(pair for pair in pairs if pair[1])


class CrawlHistory:
    """The past of every page that is still there."""

    def __init__(self) -> None:
        self.pages: dict[int, PageHistory] = {}

    def learn(self, visit: FetchRecord) -> None:
        """Take note of a visit; a page that is gone is forgotten."""
        known = self.pages.get(visit.key)
        if visit.outcome is Outcome.GONE:
            self.pages.pop(visit.key, None)
        elif visit.outcome is Outcome.NOT_MODIFIED and known is not None:
            self._look(known, visit.when, changed=False)
        elif visit.outcome is Outcome.OK and visit.page is not None:
            if known is None:
                self.pages[visit.key] = known = PageHistory(visit.url, visit.when, visit.content, visit.depth)
            else:
                self._look(known, visit.when, changed=visit.content != known.content)
            known.content, known.etag, known.modified = visit.content, visit.etag, visit.modified
            known.is_list = visit.page.kind == LIST_KIND
            self.read_dates(visit.page, visit.when)

    def read_dates(self, page: Page, now: float) -> list[FetchRequest]:
        """Take note of the dates that a list gave at `now`; give the pages that were changed since we looked."""
        dates = [when for when in page.changed if when] if page.kind == LIST_KIND else []
        most = max(Counter(dates).values(), default=0)
        if most >= _STAMPED and most * 2 > len(dates):
            return []
        found = []
        for link, when in zip(page.links, page.changed, strict=False):
            known = self._known(link.url, page.url) if when else None
            if known is not None:
                # A date to come says no more than that it was changed by now.
                known.hinted = max(known.hinted, min(when, now))
                known.vouched = now if known.hinted <= known.when and not known.betrayed else 0.0
                found.append(known)
        return [due for due in map(_hinted_due, found) if due is not None]

    def _known(self, url: str, base: str) -> PageHistory | None:
        try:
            known = self.pages.get(parse_address(url, base).key)
        except BadUrl:
            return None
        return known if known is not None and not known.is_list else None

    def _look(self, known: PageHistory, when: float, changed: bool) -> None:
        known.betrayed |= changed and known.hinted <= known.when < known.vouched
        known.visits += 1
        known.changes += changed
        known.seconds += max(0.0, when - known.when)
        known.when = max(known.when, when)

    def select_due(self, now: float, per_day: int) -> list[FetchRequest]:
        """Give what to look at again, when `per_day` looks are to be shared out: lists, then pages, the latest first.

        Pages whose site says that they have changed go before those that only may have.
        """
        lists = [known for known in self.pages.values() if known.is_list and now - known.when >= _LIST_AGE]
        pages = [known for known in self.pages.values() if not known.is_list]
        asked = [_due(known, 2 * _HINTED) for known in lists]
        asked += [_due(pages[place], rank) for place, rank in _worth(pages, now, per_day)]
        return [due for due in asked if due is not None]


def _worth(pages: list[PageHistory], now: float, per_day: int) -> list[tuple[int, float]]:
    """Give the places of pages that are worth a look now, the most worth first, each with its rank."""
    rows = [(p.visits, p.changes, p.seconds, p.when, p.depth, p.hinted, p.vouched) for p in pages]
    visits, changes, seconds, when, depth, hinted, vouched = np.array(rows, np.float64).reshape(-1, 7).T
    rates = change_rates(visits, changes, seconds, _PRIOR)
    # Pages near the seeds are the ones that people look at.
    weights = 1.0 / (1.0 + depth)
    frequencies = best_frequencies(rates, weights, per_day / _DAY)
    # Time for which its site vouches for a page counts for little.
    age = np.maximum(now - when, 0.0) - _TRUST * np.clip(vouched - when, 0.0, np.maximum(now - when, 0.0))
    late = age * frequencies - 1.0
    known = hinted > when
    # What a look gives: the time that the page will then be fresh, times the chance that it is not.
    since = rates * age
    worth = weights / np.maximum(rates, 1e-12) * np.where(known, 1.0, 1.0 - (1.0 + since) * np.exp(-since))
    due = np.flatnonzero(known | (late >= -_SLACK))
    had = int(((visits > 0) & (when > now - _DAY)).sum())
    best = due[np.argsort(-worth[due], kind="stable")][: max(0, per_day - had)]
    ranks = np.where(known, _HINTED, _AGAIN + np.clip(late, -1.0, 100.0))
    return [(place, float(ranks[place])) for place in best.tolist()]


def _due(known: PageHistory, rank: float) -> FetchRequest | None:
    try:
        return FetchRequest(parse_address(known.url), known.depth, rank)
    except BadUrl:
        return None


def _hinted_due(known: PageHistory) -> FetchRequest | None:
    """Give a page that was changed since we looked, by its site's own word."""
    return _due(known, _HINTED) if known.hinted > known.when else None


def history_of_record(visit: FetchRecord) -> PageHistory:
    """Give a page as one visit knows it."""
    return PageHistory(visit.url, visit.when, visit.content, visit.depth, visit.etag, visit.modified)


def read_history(visits: Iterable[FetchRecord]) -> CrawlHistory:
    """Read the past of all pages out of their visits."""
    history = CrawlHistory()
    for visit in visits:
        history.learn(visit)
    return history
