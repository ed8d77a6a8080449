"""The searcher of a site in a federation: the answers of one index over all sites, asking as few of them as it can."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from periplus.query import Synonyms
from periplus.rank import RerankModel
from periplus.records import Query, ResultPage, SearchLimits
from periplus.search import Passage, ShardedBackend, ShardedCollection, ShardedSearcher, passages_of_snippets
from periplus.settings import Settings
from periplus.sites.forwarding.federation import Federation
from periplus.sites.forwarding.federation_record import FederationRecord
from periplus.sites.forwarding.forwarding_backend import ForwardingBackend
from periplus.sites.forwarding.site_group import SiteGroup

__all__ = ["FederatedSearcher"]


class FederatedSearcher(ShardedSearcher):
    """Answers queries at one site of a federation, from many threads.

    The statistics of all sites that it plans by are those of when it was opened or refreshed. Sites that are asked and
    do not answer are missing in a result: it is partial, and a note names them.
    """

    answers_whole = False

    def __init__(
        self,
        group: SiteGroup,
        federation: Federation,
        settings: Settings,
        folder: Path | None = None,
        synonyms: Synonyms | None = None,
        observe: Callable[[list[tuple[int, int, bool]]], None] | None = None,
    ) -> None:
        """Open the sites of a group.

        observe: called with the results of other sites of each query: site, key of the page, whether it was a copy.
        """
        self.federation = federation
        self._local = threading.local()
        self.observe = observe
        super().__init__(group, settings, folder, synonyms)
        self._site_group = group
        self.refresh_bounds()

    def refresh(self) -> bool:
        """Learn what the sites have now; return whether that has changed."""
        changed = super().refresh()
        self.refresh_bounds()
        return changed

    def refresh_bounds(self) -> None:
        """Use the bounds of sites that hold for what they have: they say which terms a site does not have at all."""
        now, replicas, valid = time.monotonic(), self.federation.replicas, {}
        for number, description in self._collection.descriptions.items():
            if number != self.federation.own:
                version = replicas[number].version if number in replicas else 0
                bounds, _ = self.federation.sites[number].valid_bounds(description.generation, version, now)
                if bounds is not None:
                    valid[number] = bounds
        self._site_group.bounds = valid

    def _backend(
        self, collection: ShardedCollection, settings: Settings, model: RerankModel, query: Query
    ) -> ShardedBackend:
        backend = ForwardingBackend(
            self.federation, self._site_group, collection, settings, model, self._synonyms, query, self._rules
        )
        self._local.backend = backend
        return backend

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Return the answer to a query; see `ShardedSearcher.search`."""
        return self.search_recorded(query, limits)[0]

    def passages(
        self, query: Query, tokens: int, limits: SearchLimits | None = None
    ) -> tuple[ResultPage, tuple[Passage, ...]]:
        """Return the snippets of the best results as passages: texts of other sites lie there."""
        page = self.search(query, limits)
        return page, passages_of_snippets(page, tokens)

    def search_recorded(self, query: Query, limits: SearchLimits | None = None) -> tuple[ResultPage, FederationRecord]:
        """Return the answer to a query, and what it did at all sites."""
        page = super().search(query, limits)
        backend: ForwardingBackend = self._local.backend
        record = backend.record()
        if self.observe is not None and backend.remote_results:
            self.observe(backend.remote_results)
        if backend.missing:
            names = ", ".join(self.federation.names[number] for number in sorted(backend.missing))
            notes = tuple(note for note in page.notes if not note.endswith("shards did not answer."))
            page = msgspec.structs.replace(page, notes=(*notes, f"Without an answer from: {names}."))
        return page, record
