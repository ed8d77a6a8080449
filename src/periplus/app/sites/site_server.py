"""`periplus site up`: the NATS server, the crawl, the index and the search page of one site, until stopped."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.app.jobs.crawl_runner import check_seeds
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.app.serving.background_jobs import background_job
from periplus.app.serving.search_process import warm_up
from periplus.app.serving.server_actions import server_actions
from periplus.app.sites.federated_engine import FederatedEngine
from periplus.app.sites.master_chooser import MasterChooser
from periplus.app.sites.shared_content import share_content
from periplus.app.sites.site_jobs import crawl_site, index_site
from periplus.app.sites.site_links import start_nats, write_config
from periplus.errors import BadInput
from periplus.files import lock_folder
from periplus.health import share_health
from periplus.limits import ResourceMonitor, divide_memory, release_memory
from periplus.settings import Settings
from periplus.supervision import start_supervised, supervise_once
from periplus.typed_decoding import parse_json

if TYPE_CHECKING:
    from periplus.records import VisitReport
    from periplus.sites import NatsServer, SiteFolder, SiteTopology

    ReportAction = Callable[[Sequence[VisitReport]], tuple[int, int]]

__all__ = ["run_site"]

_INTEREST_SECONDS: Final = 30.0
_COLLECTION_SECONDS: Final = 1.0
_MAX_RECORD: Final = 64 << 10
_RESTART_SECONDS: Final = 0.5
"""After a site has joined: time for its answer to arrive before the NATS server is restarted for it."""


def run_site(
    folder: Path,
    settings: Settings,
    seeds: Sequence[str],
    on_ready: Callable[[str], None],
    *,
    every: float = 15.0,
    crawling: bool = True,
    observer: Observer = SILENT,
) -> None:
    """Run a site until SIGINT or SIGTERM; `on_ready` is called with the URL of its search page.

    Without seeds, the last crawl is resumed, or URLs of other sites are waited for.
    """
    from periplus.serve import ApiKeys, run
    from periplus.sites import SiteFolder

    check_seeds(seeds, settings)
    site = SiteFolder(folder)
    site.config()
    settings = divide_memory(settings)
    compile_kernels(observer)
    with lock_folder(folder, "site", "running a site"), share_health(folder), contextlib.ExitStack() as stack:
        secret = write_config(site, settings.site).open_secret(time.time())
        server = stack.enter_context(start_nats(site, settings.site))
        running = stack.enter_context(contextlib.closing(_RunningSite(folder, site, settings, server, secret)))
        keys = ApiKeys(folder)
        keys.ensure_file()
        actions = server_actions(folder, running.engine, settings, running.submissions.submit)
        actions = actions._replace(report=_recorded(actions.report, running.engine.record_visits))
        if actions.published is not None:
            find = share_content(actions.published, running.transport, lambda: list(running.node.alive()))
            actions = actions._replace(published=find)

        def ready(url: str) -> None:
            running.url = url
            # The first search loads the compiled kernels: no request should wait for that.
            warm = supervise_once("warm-up", warm_up)
            threading.Thread(target=warm, args=(running.engine.local,), daemon=True).start()
            monitor = ResourceMonitor(folder, settings.limits, observer.message, release_memory)
            stack.enter_context(monitor.running())
            if crawling:
                stack.enter_context(background_job(observer, "crawl", crawl_site, folder, settings, list(seeds)))
            stack.enter_context(background_job(observer, "indexer", index_site, folder, settings, every))
            on_ready(url)

        run(running.engine, settings.serve, ready, actions, keys)


def _recorded(report: "ReportAction | None", record: "Callable[[Sequence[VisitReport]], None]") -> "ReportAction":
    """Return what queues visits, and records the URLs that people have come across."""
    assert report is not None

    def report_visits(reports: "Sequence[VisitReport]") -> tuple[int, int]:
        counts = report(reports)
        record(reports)
        return counts

    return report_visits


class _RunningSite:
    """The parts of a site that exchange messages, within one process."""

    def __init__(
        self, folder: Path, site: "SiteFolder", settings: Settings, server: "NatsServer | None", secret: str
    ) -> None:
        from periplus.publish import Inbox
        from periplus.sites import (
            NatsTransport,
            ReceivedPages,
            ReceivedSubmissions,
            ReceivedUrls,
            ReceivedVisits,
            SiteBuckets,
            SiteNode,
            SubmissionRouter,
            find_master,
        )

        self._folder, self._site, self._settings, self._server = folder, site, settings, server
        config = site.config()
        url = settings.site.nats_url or f"nats://127.0.0.1:{config.client_port}"
        peers = [other.name for other in site.topology().others(config.name)]
        stream_bytes = settings.site.stream_mb << 20
        self.transport = NatsTransport(config.name, url, config.passwords, peers, stream_bytes)
        self._pages = ReceivedPages(folder, settings.store)
        self.url = ""
        self._linking = threading.Lock()
        self._secret = secret
        """Of the token that the NATS server lets in."""
        self._stopped = threading.Event()
        handlers = {
            "urls": ReceivedUrls(site.path).apply,
            "pages": self._pages.apply,
            "submissions": ReceivedSubmissions(Inbox(folder).add_record).apply,
            "visits": ReceivedVisits(folder).apply,
        }
        buckets = SiteBuckets(self.transport, settings.site.liveness_seconds)
        self.node = SiteNode(
            site,
            self.transport,
            settings.site,
            handlers,
            self._describe,
            on_topology=self._follow_topology,
            on_announcement=buckets.put,
        )
        buckets.watch(lambda site, announcement: self.node.resynchronise(announcement))
        self.engine = FederatedEngine(folder, settings, self.node)
        node, chooser = self.node, MasterChooser(site, folder)
        self.submissions = SubmissionRouter(
            site.path,
            node.outbox,
            node.name,
            lambda: node.topology.names,
            node.alive,
            chooser.rank_published,
            lambda key: find_master(site.path / "masters.bin", key),
            lambda key: self.engine.local.cached_page(key) is not None,
        )
        self.transport.serve_join(self._accept_join)
        self._threads = [
            start_supervised(name, work, self._stopped)
            for name, work in (
                ("site", lambda: self.node.run(self._stopped)),
                ("site-search", lambda: self.engine.run(self._stopped)),
                ("site-interests", self._send_interests),
                ("site-collection", self._exchange_collection),
                ("site-token", self._follow_token),
            )
        ]

    def _describe(self) -> dict[str, Any]:
        """Return what is announced to other sites."""
        documents = self.engine.local.statistics().documents if hasattr(self, "engine") else 0
        return {"url": self.url, "documents": documents, "services": {"serve": "running" if self.url else "starting"}}

    def _accept_join(self, body: bytes) -> bytes:
        from periplus.sites import SiteRecord

        if not self._secret or self._site.config().open_secret(time.time()) != self._secret:
            raise BadInput("The token has expired, or was revoked.", "Ask for a new one.")
        try:
            record = parse_json(body[:_MAX_RECORD], SiteRecord)
        except msgspec.MsgspecError as error:
            raise BadInput("The record of a site that joins is not readable.") from error
        return self.node.accept_join(record)

    def _follow_token(self) -> None:
        """Accept the token that is valid now, and no other; without any, refuse all strangers."""
        while not self._stopped.wait(self._settings.site.heartbeat_seconds):
            if self._site.config().open_secret(time.time()) != self._secret:
                self._link(self.node.topology)

    def _follow_topology(self, topology: "SiteTopology") -> None:
        """Link with the sites that there are now; the NATS server reads its configuration when it starts."""
        timer = threading.Timer(_RESTART_SECONDS, supervise_once("site-links", self._link), (topology,))
        timer.daemon = True
        timer.start()

    def _link(self, topology: "SiteTopology") -> None:
        with self._linking:
            config = write_config(self._site, self._settings.site)
            self._secret = config.open_secret(time.time())
            if self._server is not None:
                self._server.restart()
        names = [other.name for other in topology.others(config.name)]
        self.transport.set_peers(names, config.passwords)

    def _exchange_collection(self) -> None:
        """Agree with other sites on the collection statistics that all build with; the indexer reads them."""
        from periplus.index import BuildStatistics, IndexMeasurer
        from periplus.sites import CollectionExchange

        settings = self._settings.site
        exchange, measurer = CollectionExchange(self.node, settings.threshold_share, settings.threshold_seconds), None
        own: BuildStatistics | None = None
        generation = -1
        while not self._stopped.wait(_COLLECTION_SECONDS):
            index = self.engine.index
            if index is not None and index.manifest.generation != generation:
                measurer = measurer or IndexMeasurer()
                own, generation = measurer.measure(index), index.manifest.generation
            exchange.step(own, time.monotonic())

    def _send_interests(self) -> None:
        """Offer what the people of this site ask and open to the others, as often as it changes enough."""
        from periplus.sites import ExchangePolicy, encode_interests, read_interests

        policy = ExchangePolicy(self._settings.site.threshold_share, self._settings.site.threshold_seconds)
        counted = 0.0
        while not self._stopped.is_set():
            interests = read_interests(self._folder, self.node.name)
            changed = abs(interests.readers - counted) / max(counted, 1.0)
            if policy.is_due(changed, time.monotonic()):
                still = msgspec.structs.replace(interests, when=0.0)
                self.node.send_data("statistics", "interests", encode_interests(still))
                policy.note_sent(time.monotonic())
                counted = interests.readers
            self._stopped.wait(_INTEREST_SECONDS)

    def close(self) -> None:
        """End all threads and connections."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(5)
        self.node.close()
        self.transport.close()
        self._pages.close()
