"""The searcher of a site: its own index at once, and the answers of the whole federation as soon as others are known.

Whatever other sites do, a query is answered: if anything but the query itself fails on the way to them, the answer is
that of the local index, with a note.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.app.sites.site_metrics import SiteRecorder
from periplus.errors import BadInput, ExpensiveQuery, PeriplusError
from periplus.records import Query, ResultPage, SearchLimits
from periplus.search import Passage, passages_of_snippets
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.index import Index
    from periplus.search import IndexShard
    from periplus.sites import FederatedSearcher, Federation, Replicator, SiteBounds, SiteNode

__all__ = ["FederatedEngine"]

_LOG: Final = logging.getLogger("periplus.sites")
_BOUNDS: Final = "bounds"
_SIGNALS: Final = "signals"
_POLL_SECONDS: Final = 0.5
_REFRESH_SECONDS: Final = 5.0
_PERIOD_SECONDS: Final = 300.0
"""How often documents that are often results here are copied, and others removed."""


class FederatedEngine:
    """Answers queries at one site; implements `SearcherLike`. `run` keeps it up to date, in a thread."""

    def __init__(self, folder: Path, settings: Settings, node: "SiteNode") -> None:
        from periplus.app.sites.bounds_sender import BoundsSender
        from periplus.search import Searcher
        from periplus.sites import serve_documents, serve_shard

        self._folder, self._settings, self._node = folder, settings, node
        self.local: Searcher = Searcher.open(folder, settings, may_be_empty=True)
        self._shard: IndexShard | None = None
        self._federated: FederatedSearcher | None = None
        self.federation: Federation | None = None
        self._names: tuple[str, ...] = ()
        self._alive: frozenset[str] = frozenset()
        self._refreshed = 0.0
        self._sender = BoundsSender(
            node,
            lambda index: self._make_bounds(index, {}),
            settings.site.threshold_share,
            settings.site.threshold_seconds,
        )
        self._incomparable: tuple[str, ...] = ()
        """Sites that were built with other collection statistics than this one."""
        self._changed = False
        """Whether answers may have changed since `refresh` was called: others came, went, or have new pages."""
        self._lock = threading.Lock()
        self._recorder = SiteRecorder(folder, node.name, node.topology.site(node.name).place, deferred=True)
        self.record_visits: Final = self._recorder.record_visits
        """Called with the visits that people of this site report."""
        self.answers: list[Callable[[ResultPage], None]] = [self._recorder.record_answer]
        """Called with every answer."""
        node.data.listen(self._receive_data)
        serve_shard(node.transport, lambda: self._shard)
        serve_documents(
            node.transport,
            node.name,
            lambda: self._shard.index if self._shard is not None else None,
            self._make_bounds,
            settings.index,
        )
        self.replicator: Replicator | None = None
        self._period_began = time.monotonic()

    def run(self, stopped: threading.Event) -> None:
        """Open new generations, exchange bounds and follow who is alive, until stopped."""
        while not stopped.wait(_POLL_SECONDS):
            try:
                self.update()
            except (PeriplusError, OSError, msgspec.MsgspecError) as error:
                _LOG.warning("What other sites have is not known: %s", error)
            self._recorder.log.flush_old()
        self._recorder.log.flush()

    @property
    def index(self) -> "Index | None":
        """The generation of the local index that other sites are answered from; None while there is none."""
        return self._shard.index if self._shard is not None else None

    def update(self) -> None:
        """Do one turn of `run`."""
        self._changed |= self.local.refresh()
        changed = self._open_shard()
        shard = self._shard
        if shard is None:
            return
        names = self._node.topology.names
        if names != self._names or self.federation is None:
            self._open_federation(names)
            changed = True
        if len(names) > 1:
            self._sender.step(shard, time.monotonic())
        alive = frozenset(self._node.alive())
        due = time.monotonic() - self._refreshed >= _REFRESH_SECONDS
        if len(names) > 1 and (changed or due or alive != self._alive):
            self._changed |= alive != self._alive
            self._alive, self._refreshed = alive, time.monotonic()
            self._refresh()

    def _open_shard(self) -> bool:
        """Open the index, or its newest generation; return whether there was one."""
        from periplus.search import IndexShard

        if self._shard is not None:
            return self._shard.refresh()
        if self.local.statistics().documents:
            self._shard = IndexShard(self._folder, self._settings)
            return True
        return False

    def _open_federation(self, names: tuple[str, ...]) -> None:
        from periplus.sites import Federation, ForwardingSettings

        site = self._settings.site
        own = names.index(self._node.name)
        assert self._shard is not None
        self._shard.number = own  # A site that joins may come before this one.
        forwarding = ForwardingSettings(slack=site.slack, deadline_ms=1000 * site.deadline)
        federation = Federation(names, own, forwarding)
        self._names, self.federation, self._federated = names, federation, None
        for name in names:
            body = self._node.data.of_site(name, _BOUNDS) if name != self._node.name else None
            if body is not None:
                federation.site(name).receive_bounds(body)

    def _receive_data(self, site: str, name: str, body: bytes) -> None:
        federation = self.federation
        if federation is None:
            return
        if name == _SIGNALS:
            federation.known.forget_site(site)  # Its answers of the same generation have other scores now.
        if name == _BOUNDS:
            with contextlib.suppress(BadInput):
                federation.site(site).receive_bounds(body)
                self._refreshed = 0.0

    def _make_bounds(self, index: "Index", copies: Mapping[str, Any]) -> "SiteBounds":
        """Return the bounds of this site, by the signals that its shard scores with, without documents copied."""
        from periplus.rank import uses_encoder
        from periplus.sites import make_site_bounds

        assert self._shard is not None
        encoder = uses_encoder(index.folder, self._settings.embeddings)
        return make_site_bounds(self._node.name, index, self._shard.signals, encoder=encoder, copies=copies)

    def _replicate(self, changed: bool) -> None:
        """Use copies for what other sites have now; from time to time, copy what was often a result."""
        federated, share = self._federated, self._settings.site.replica_share
        if federated is None or self._shard is None or not share:
            return
        if self.replicator is None:
            from periplus.sites import ReplicationSettings, Replicator, TransportSource

            rules = ReplicationSettings(max_documents=int(share * self._shard.index.documents))
            source = TransportSource(self._node.transport)
            folder = self._folder / "copies"
            self.replicator = Replicator(folder, federated.federation, source, self._settings, rules)
            federated.observe = self.replicator.observe
            changed = True
        descriptions = federated.collection.descriptions
        if time.monotonic() - self._period_began >= _PERIOD_SECONDS:
            self._period_began = time.monotonic()
            self.replicator.run_period(descriptions)
        elif changed:
            self.replicator.refresh(descriptions)

    def _refresh(self) -> None:
        from periplus.sites import FederatedSearcher, SiteGroup, TransportSites

        federation, shard = self.federation, self._shard
        assert federation is not None
        assert shard is not None
        if self._federated is None:
            alive = self._node.alive
            remote = TransportSites(self._node.transport, self._names, lambda name: name in alive())
            group = SiteGroup(federation.own, shard, remote, len(self._names))
            self._federated = FederatedSearcher(group, federation, self._settings, self._folder)
            self.replicator, changed = None, True
        else:
            changed = self._federated.refresh()
        self._changed = self._changed or changed
        self._replicate(changed)
        self._compare_epochs(self._federated)
        for status in federation.status():
            if status.trust.state != "trusted":
                self._node.untrusted[status.site] = status.trust.reason
            else:
                self._node.untrusted.pop(status.site, None)

    def _compare_epochs(self, federated: "FederatedSearcher") -> None:
        """Note which sites were built with other collection statistics: their scores cannot be compared exactly."""
        epochs = {self._names[number]: d.epoch for number, d in federated.collection.descriptions.items()}
        own = epochs.get(self._node.name, 0)
        self._node.epochs = epochs
        others = sorted(set(epochs) - {self._node.name})
        self._incomparable = tuple(name for name in others if epochs[name] != own or not own)

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Answer a query over all sites; over the local index where that fails."""
        federated = self._federated
        page = None
        if federated is not None:
            try:
                page = _with_sites(*federated.search_recorded(query, limits), self._incomparable)
            except (ExpensiveQuery, BadInput):
                raise
            except Exception as error:
                _LOG.warning("A query was answered by the local index alone: %s", error, exc_info=error)
                page = self.local.search(query, limits)
                note = "Other sites could not be asked."
                page = msgspec.structs.replace(page, partial=True, notes=(*page.notes, note))
        if page is None:
            page = self.local.search(query, limits)
        for listener in self.answers:
            listener(page)
        return page

    def refresh(self) -> bool:
        """Open the newest commit of the local index; return whether that, or what other sites have, has changed."""
        changed, self._changed = self._changed, False
        return self.local.refresh() or changed

    def statistics(self) -> Any:
        """Return how much there is to search, at all sites that are known."""
        federated = self._federated
        return federated.statistics() if federated is not None else self.local.statistics()

    def suggest(self, words: str, size: int = 8) -> tuple[tuple[str, float], ...]:
        """Return completions, from the local index: they must be there while somebody types."""
        return self.local.suggest(words, size)

    def passages(
        self, query: Query, tokens: int, limits: SearchLimits | None = None
    ) -> tuple[ResultPage, tuple[Passage, ...]]:
        """Return the snippets of the best results as passages, within a budget of tokens."""
        page = self.search(query, limits)
        return page, passages_of_snippets(page, tokens)

    def cached_page(self, key: int) -> Any:
        """Return the cached copy of a page, of any site that has it."""
        page: Any = self.local.cached_page(key)
        if page is None and self._federated is not None:
            page = self._federated.cached_page(key)
        return page

    def cached_blocks(self, key: int) -> Any:
        """Return the blocks of a cached copy, of any site that has it."""
        blocks = self.local.cached_blocks(key)
        if not blocks and self._federated is not None:
            blocks = self._federated.cached_blocks(key)
        return blocks

    def page_status(self, url: str) -> Any:
        """Return whether a URL is in the index of any site."""
        status = self.local.page_status(url)
        if not status.indexed and self._federated is not None:
            status = self._federated.page_status(url)
        return status

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Record queries, for completions and for the interests of this site."""
        self.local.record_queries(queries)

    def index_parts(self) -> Any:
        """Return the composition of the local index."""
        return self.local.index_parts()

    def weights(self) -> Any:
        """Return the weights of ranking."""
        return self.local.weights()

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Answer a query with other weights."""
        federated = self._federated
        return (federated or self.local).preview(query, weights)


def _with_sites(page: ResultPage, record: Any, incomparable: tuple[str, ...]) -> ResultPage:
    """Return a page with what sites did; if their scores are not those of one index, with a note."""
    answers = tuple(
        (site.site, site.outcome, round(site.milliseconds, 3), site.results, site.reason) for site in record.sites
    )
    notes = page.notes
    if incomparable:
        names = ", ".join(incomparable)
        notes = (*notes, f"Not yet built with the collection statistics of this site: {names}.")
    return msgspec.structs.replace(page, sites=answers, notes=notes)
