"""Which site indexes a page, by what the people of all sites are interested in."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.sites.site_metrics import SiteRecorder
from periplus.errors import PeriplusError

if TYPE_CHECKING:
    from periplus.records import FetchRecord
    from periplus.sites import HostLocator, MasterIndexer, SiteFolder, SitePlace

__all__ = ["MasterChooser", "site_places"]

_INTEREST_SECONDS: Final = 10.0


def site_places(site: "SiteFolder") -> "list[SitePlace]":
    """Return the sites that have not left, with their places."""
    from periplus.sites import SitePlace

    return [SitePlace(record.name, record.place) for record in site.topology().sites if not record.left]


class MasterChooser:
    """Chooses the masters of pages by the interests of all sites that are known now."""

    def __init__(self, site: "SiteFolder", folder: Path, locator: "HostLocator | None" = None) -> None:
        """locator: finds out where the hosts of crawled pages are."""
        from periplus.sites import DataStore

        self._site, self._folder, self._locator = site, folder, locator
        self._data = DataStore(site.path)
        self._read = -_INTEREST_SECONDS
        self._indexer: MasterIndexer | None = None
        self._own = site.config().name
        self._recorder: SiteRecorder | None = None

    def choose(self, records: "Sequence[FetchRecord]") -> list[str]:
        """Return the site that indexes each page."""
        from periplus.sites import LocatedHost, PlacedPage
        from periplus.url import parse_address

        pages, places = [], []
        for record in records:
            host = parse_address(record.url).host
            where = (self._locator.find(host) if self._locator is not None else None) or LocatedHost()
            assert record.page is not None
            places.append(where)
            pages.append(PlacedPage(record.page, host, where.place, where.country))
        choices = self._current().choose(pages)
        self._log().record_pages(records, places, choices)
        return [choice.site for choice in choices]

    def rank_published(self, record: "FetchRecord") -> tuple[str, ...]:
        """Return the sites that would index a page that was published here, best first; () if all are alike."""
        from periplus.sites import PlacedPage
        from periplus.url import parse_address

        assert record.page is not None
        place = self._site.topology().site(self._own).place
        host = parse_address(record.url).host
        (choice,) = self._current().choose([PlacedPage(record.page, host, place)])
        return choice.ranking

    def _log(self) -> SiteRecorder:
        if self._recorder is None:
            self._recorder = SiteRecorder(self._folder, self._own, self._site.topology().site(self._own).place)
        return self._recorder

    def _current(self) -> "MasterIndexer":
        from periplus.sites import MasterIndexer, decode_interests, read_interests

        if self._indexer is None or time.monotonic() - self._read >= _INTEREST_SECONDS:
            self._read = time.monotonic()
            topology = self._site.topology()
            interests = {self._own: read_interests(self._folder, self._own)}
            for record in topology.others(self._own):
                body = self._data.of_site(record.name, "interests")
                if body is not None:
                    with contextlib.suppress(PeriplusError):
                        interests[record.name] = decode_interests(body, record.name)
            declared = {record.name: record.languages for record in topology.sites if not record.left}
            self._indexer = MasterIndexer(site_places(self._site), interests, declared)
        return self._indexer
