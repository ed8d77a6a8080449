"""Pages that people publish at one site, and that another site indexes.

    site/submissions.bin     the site that indexes each page that was published here, as `site/masters.bin`

A page is acknowledged to its publisher once it is in the inbox of this site or in the outbox for its master, which
stores it in its own inbox before it acknowledges the batch. A page stays with its first master, so that a new version
replaces the old one and a withdrawal finds it: one that cannot be sent there is refused. That master is this site for
pages that were published or indexed here before it had joined others.
"""

import contextlib
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from periplus.errors import BadInput, Overloaded
from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord, Outcome
from periplus.sites.exchange.master_log import MasterLog
from periplus.sites.exchange.received_pages import decode_pages, encode_page
from periplus.sites.messaging.batches import Batch
from periplus.sites.messaging.outbox import Outbox

__all__ = ["ReceivedSubmissions", "SubmissionRouter"]


class SubmissionRouter:
    """Sends what is published at a site to the sites that index it; any thread may call `submit`."""

    def __init__(
        self,
        folder: Path,
        outbox: Outbox,
        site: str,
        sites: Callable[[], Collection[str]],
        alive: Callable[[], Collection[str]],
        rank: Callable[[FetchRecord], Sequence[str]],
        placed: Callable[[int], int | None] = lambda key: None,
        is_here: Callable[[int], bool] = lambda key: False,
    ) -> None:
        """Open the log in the folder of a site.

        sites: names of all that have not left; alive: of the other sites that are alive; rank: the sites that would
        index a page, best first; placed: the fingerprint of the site that indexes a page which was fetched here;
        is_here: whether this site has a page.
        """
        self._outbox, self._site, self._sites, self._alive, self._rank = outbox, site, sites, alive, rank
        self._placed, self._is_here = placed, is_here
        self._log = MasterLog(folder / "submissions.bin")
        self._lock = threading.Lock()

    def submit(self, record: FetchRecord) -> FetchRecord | None:
        """Send a page to its master; return it if that is this site. The withdrawal of a page goes where the page is.

        A new page that cannot be sent is indexed here, and so is one whose master is silent: it is to be found now.
        Raise `Overloaded` if there is no room to send a new version, or a withdrawal, to the master of a page.
        """
        # It was not fetched by the crawl of this site, and is not to be placed again as if it were.
        own = msgspec.structs.replace(record, forwarded=True) if record.page is not None else record
        with self._lock:
            names = {fingerprint_text(name): name for name in self._sites()}
            logged = names.get(self._log.master(record.key) or 0)
            known = logged or names.get(self._placed(record.key) or 0)
            if known is None and self._is_here(record.key):
                known = self._site
            master = known or (self._choose(record) if record.outcome is Outcome.OK else self._site)
            if master != self._site and not self._outbox.append(master, "submissions", [encode_page(record)]):
                if known is not None:
                    message = f"Site {master} has the page, and too much waits to be sent there."
                    raise Overloaded(message, "Try again later.")
                master = self._site
            if record.outcome is Outcome.OK and master != logged:
                self._log.add([(record.key, master)])
        return own if master == self._site else None

    def _choose(self, record: FetchRecord) -> str:
        available = {*self._alive(), self._site}
        return next((name for name in self._rank(record) if name in available), self._site)


class ReceivedSubmissions:
    """Publishes what was submitted at other sites; `apply` is the handler of the sink."""

    def __init__(self, publish: Callable[[FetchRecord], None]) -> None:
        """publish: puts a page into the inbox, durably; raises `BadInput` for one that was deleted for good."""
        self._publish = publish

    def apply(self, batch: Batch) -> None:
        """Put pages into the inbox; a page that comes again replaces itself.

        One that was deleted here for good is left out. Raise `Overloaded` if the inbox is full: the batch comes again.
        """
        for record, _ in decode_pages(batch.items):
            with contextlib.suppress(BadInput):
                self._publish(msgspec.structs.replace(record, forwarded=True))
