"""What a site records of its work for `periplus evaluate sites`: where it is, pages and their masters, and answers."""

import contextlib
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from periplus.records import FetchRecord, ResultPage, VisitReport
    from periplus.sites import LocatedHost, MasterChoice, Place

__all__ = ["SiteRecorder"]

_RESULTS: Final = 10
_MAX_DISCOVERED: Final = 300_000


class SiteRecorder:
    """Writes the metric log of a site. Nothing that it does can fail what it records."""

    def __init__(self, folder: Path, site: str, place: "Place | None", deferred: bool = False) -> None:
        """deferred: another thread calls `log.flush_old`, so that no answer waits for the disk."""
        from periplus.sites import MetricLog, SiteLocation

        self._site = site
        self.log = MetricLog(folder, deferred=deferred)
        # Numbers of queries are unique as long as a process answers less than a million in a second.
        self._numbers = itertools.count(int(time.time()) * 1_000_000)
        self._discovered: set[int] = set()
        if place is not None:
            self.log.write(SiteLocation(time.time(), site, place.latitude, place.longitude))

    def record_pages(
        self,
        records: "Sequence[FetchRecord]",
        hosts: "Sequence[LocatedHost]",
        choices: "Sequence[MasterChoice]",
    ) -> None:
        """Record pages that were fetched, where their hosts are, and the masters that were chosen for them."""
        from periplus.sites import PageFetch, PagePlacement

        for record, host, choice in zip(records, hosts, choices, strict=True):
            latitude, longitude = host.place or (None, None)
            self.log.write(
                PageFetch(
                    record.when, self._site, record.key, record.bytes, max(record.elapsed, 0.0), latitude, longitude
                )
            )
            self.log.write(
                PagePlacement(record.when, self._site, record.key, choice.site, choice.ordinal, choice.ranking)
            )
        self.log.flush()

    def record_visits(self, reports: "Sequence[VisitReport]") -> None:
        """Record the URLs that the people of this site have come across, each once."""
        from periplus.errors import BadUrl
        from periplus.sites import UrlDiscovery
        from periplus.url import parse_address

        now = time.time()
        for report in reports:
            with contextlib.suppress(BadUrl):
                key = parse_address(report.url).key
                if key not in self._discovered:
                    if len(self._discovered) >= _MAX_DISCOVERED:
                        self._discovered.clear()
                    self._discovered.add(key)
                    when = report.when if 0 < report.when <= now else now
                    self.log.write(UrlDiscovery(when, self._site, key, "people"))

    def record_answer(self, page: "ResultPage") -> None:
        """Record an answer: the sites that were asked, and whether one of them had a result."""
        from periplus.sites import QueryAnswer

        remote = [site for site in page.sites if site[1] not in ("local", "not asked")]
        self.log.write(
            QueryAnswer(
                time.time(),
                self._site,
                next(self._numbers),
                max(page.seconds, 0.0),
                tuple(site[0] for site in remote),
                any(site[3] for site in remote),
                max(len(page.sites), 1),
                tuple(hit.key for hit in page.hits[:_RESULTS]),
            )
        )
