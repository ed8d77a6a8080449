"""What the store knows of pages seen before: how often they were looked at and had changed, and what is due again."""

from typing import Final

import msgspec
import numpy as np

from periplus.errors import BadUrl
from periplus.frontier import best_frequencies, change_rates
from periplus.records import LIST_KIND, Due, Outcome, Visit
from periplus.store import PageStore
from periplus.url import address

__all__ = ["History", "Seen", "read_history", "seen_once"]

_PRIOR: Final = 1 / (30 * 86_400.0)
"""Changes a second of a page that was seen once: one a month."""
_DAY: Final = 86_400.0


class Seen(msgspec.Struct):
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

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Give the headers that ask for the page only if it has changed."""
        pairs = (("If-None-Match", self.etag), ("If-Modified-Since", self.modified))
        return tuple(pair for pair in pairs if pair[1])


class History:
    """The past of every page that is still there."""

    def __init__(self) -> None:
        self.pages: dict[int, Seen] = {}

    def learn(self, visit: Visit) -> None:
        """Take note of a visit; a page that is gone is forgotten."""
        known = self.pages.get(visit.key)
        if visit.outcome is Outcome.GONE:
            self.pages.pop(visit.key, None)
        elif visit.outcome is Outcome.NOT_MODIFIED and known is not None:
            self._look(known, visit.when, changed=False)
        elif visit.outcome is Outcome.OK and visit.page is not None and visit.page.kind != LIST_KIND:
            if known is None:
                self.pages[visit.key] = known = Seen(visit.url, visit.when, visit.content, visit.depth)
            else:
                self._look(known, visit.when, changed=visit.content != known.content)
            known.content, known.etag, known.modified = visit.content, visit.etag, visit.modified

    def _look(self, known: Seen, when: float, changed: bool) -> None:
        known.visits += 1
        known.changes += changed
        known.seconds += max(0.0, when - known.when)
        known.when = max(known.when, when)

    def due(self, now: float, per_day: int) -> list[Due]:
        """Give the pages whose turn it is, the longest overdue first, when `per_day` looks are to be shared out."""
        pages = list(self.pages.values())
        table = np.array([(p.visits, p.changes, p.seconds, p.when, p.depth) for p in pages], np.float64).reshape(-1, 5)
        rates = change_rates(table[:, 0], table[:, 1], table[:, 2], _PRIOR)
        # Pages near the seeds are the ones that people look at.
        frequencies = best_frequencies(rates, 1.0 / (1.0 + table[:, 4]), per_day / _DAY)
        late = (now - table[:, 3]) * frequencies - 1.0
        order = np.argsort(-late, kind="stable")
        found = []
        for place in order[: min(per_day, int((late >= 0).sum()))].tolist():
            try:
                found.append(Due(address(pages[place].url), pages[place].depth, float(late[place])))
            except BadUrl:
                continue
        return found


def seen_once(visit: Visit) -> Seen:
    """Give a page as one visit knows it."""
    return Seen(visit.url, visit.when, visit.content, visit.depth, visit.etag, visit.modified)


def read_history(store: PageStore) -> History:
    """Read the past of all pages out of the store."""
    history = History()
    for visit in store.visits():
        history.learn(visit)
    return history
