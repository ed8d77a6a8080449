"""The demo of a federation: three sites on this machine, as far from each other as places on three continents.

Each has a folder and a NATS server of its own; the links between the servers go through proxies that delay all bytes.
The generated web has three regions with a language each. One site gets all seeds; every site crawls what is near,
pages go to the sites whose people read them, queries of every region are asked everywhere, and one site is cut off.
"""

import contextlib
import json
import os
import shutil
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from periplus.app.demo_run import free_port
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.app.serving.background_jobs import background_job
from periplus.app.sites.site_server import run_site
from periplus.errors import SiteError
from periplus.files import lock_folder, make_folder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.fakeweb import DistanceProxy, FakeRegion, FakeWebPlan
    from periplus.sites import SiteStatus

__all__ = ["SiteDemo", "SiteDemoAnswer", "open_site_demo"]

DELAYS: Final = (0.005, 0.06, 0.12)
"""One way between the first and second, first and third, second and third site, in seconds."""
_ASK_SECONDS: Final = 90.0
_WAIT_SECONDS: Final = 600.0
_POLL_SECONDS: Final = 0.25
_SETTLED_SECONDS: Final = 8.0
_QUESTION_WORDS: Final = 4
"""Words of a title that is asked for."""
_QUERIES: Final = 3
_ENTRY_BYTES: Final = 24
"""Of `masters.bin`, for each page and for its header."""
_HOSTS_FILE: Final = "fakeweb.hosts"
_GEOIP_FILE: Final = "places.mmdb"


class SiteDemoAnswer(NamedTuple):
    """The answer of one site to a question about one region."""

    asked: str
    """The site that was asked."""
    region: str
    question: str
    correct: bool
    """Whether a right page is among the first three."""
    seconds: float
    sites: tuple[tuple[str, str, float], ...]
    """Name, outcome and milliseconds of each site."""
    notes: tuple[str, ...]


class DemoMetrics(NamedTuple):
    """What the demo has measured."""

    pages: dict[str, int]
    """Pages in the index of each site."""
    fetched: dict[str, int]
    near: dict[str, int]
    """Of the fetched pages, those whose host is in the region of the site."""
    links: int
    """Links that crawlers sent to each other."""
    sent_pages: int
    """Pages that were sent to their masters."""
    bytes: int
    """Bytes that sites have exchanged."""


@contextlib.contextmanager
def open_site_demo(
    settings: Settings, *, seed: int = 7, hosts: int = 30, pages: int = 900, observer: Observer = SILENT
) -> "Iterator[SiteDemo]":
    """Make three sites in a folder of its own below the data folder, and serve the generated web, for the block."""
    from periplus.fakeweb import FAKE_REGIONS, FakeWeb, FakeWebPlan, run_in_process

    folder = Path(settings.folder).resolve() / "demo-sites"
    make_folder(folder, 0o700)
    compile_kernels(observer)
    plan = FakeWebPlan(seed, hosts, pages, regions=tuple(FAKE_REGIONS[:3]))
    with lock_folder(folder, "demo"), contextlib.ExitStack() as stack:
        for region in plan.regions:
            shutil.rmtree(folder / region.name, ignore_errors=True)
        FakeWeb(plan).write_geoip_file(folder / _GEOIP_FILE)
        web = stack.enter_context(run_in_process(plan, folder / _HOSTS_FILE))
        observer.message(f"A generated web of {plan.hosts:,} hosts in three regions is up.")
        demo = SiteDemo(folder, settings, plan, web.seeds, observer)
        stack.callback(demo.close)
        yield demo


class SiteDemo:
    """One run of the demo; its steps are called in their order."""

    def __init__(
        self, folder: Path, settings: Settings, plan: "FakeWebPlan", seeds: tuple[str, ...], observer: Observer
    ) -> None:
        self._folder, self._plan, self._seeds, self._observer = folder, plan, seeds, observer
        self.regions: dict[str, FakeRegion] = {region.name: region for region in plan.regions}
        self.names = tuple(sorted(self.regions))
        self._stack = contextlib.ExitStack()
        self._proxies: dict[tuple[str, str], DistanceProxy] = {}
        ports = iter(range(free_port(settings.serve.host, settings.serve.port), 65_000))
        self._settings = {name: self._adapt(settings, name, ports) for name in self.names}
        self._make_sites()

    def _adapt(self, settings: Settings, name: str, ports: "Iterator[int]") -> Settings:
        change, region = msgspec.structs.replace, self.regions[name]
        port = next(port for port in ports if free_port(settings.serve.host, port) == port)
        return change(
            settings,
            folder=str(self._folder / name),
            fetch=change(settings.fetch, allow=("127.0.0.0/8",), hosts_file=str(self._folder / _HOSTS_FILE)),
            frontier=change(settings.frontier, delay=0.0, delay_factor=0.0, max_delay=0.0),
            crawl=change(settings.crawl, scope="web", checkpoint_seconds=2.0),
            serve=change(
                settings.serve, port=port, workers=1, expensive_process=False, deadline=60.0, slow_query_ms=0.0
            ),
            search=change(settings.search, budget_ms=30_000),
            site=change(
                settings.site,
                place=(region.latitude, region.longitude),
                languages=(region.language,),
                geoip_file=str(self._folder / _GEOIP_FILE),
                heartbeat_seconds=0.5,
                liveness_seconds=8.0,
                batch_seconds=0.5,
                threshold_seconds=10.0,
                deadline=20.0,
            ),
        )

    def _make_sites(self) -> None:
        """Write the static configuration of three sites, whose links go through proxies."""
        from periplus.fakeweb import DistanceProxy
        from periplus.sites import Place, SiteConfig, SiteFolder, SiteTopology, free_tcp_port, new_site_record

        leaf = {name: free_tcp_port() for name in self.names}
        folders = {name: SiteFolder(open_data_folder(self._folder / name, create=True)) for name in self.names}
        records = tuple(
            new_site_record(
                folders[name].make_key(),
                name,
                Place(self.regions[name].latitude, self.regions[name].longitude),
                (self.regions[name].language,),
                f"127.0.0.1:{leaf[name]}",
            )
            for name in self.names
        )
        topology = SiteTopology(network="demo", sites=records)
        pairs = [(self.names[0], self.names[1]), (self.names[0], self.names[2]), (self.names[1], self.names[2])]
        routes: dict[str, dict[str, str]] = {name: {} for name in self.names}
        for (target, dialer), delay in zip(pairs, DELAYS, strict=True):  # the greater name connects
            proxy = DistanceProxy("127.0.0.1", leaf[target], delay)
            self._proxies[target, dialer] = self._stack.enter_context(proxy)
            routes[dialer][target] = f"127.0.0.1:{proxy.port}"
        for name in self.names:
            config = SiteConfig(
                name=name,
                client_port=free_tcp_port(),
                leaf_host="127.0.0.1",
                leaf_port=leaf[name],
                routes=routes[name],
            )
            folders[name].create(config, topology)

    def start(self) -> dict[str, str]:
        """Start all sites; the first gets all seeds. Return the URLs of their search pages."""
        for number, name in enumerate(self.names):
            arguments = (self._folder / name, self._settings[name], list(self._seeds) if number == 0 else [])
            self._stack.enter_context(background_job(self._observer, f"site-{name}", _run_site, *arguments))
        self._wait("all sites know each other", lambda: all(self._alive(name) == 2 for name in self.names))
        return {name: self.url(name) for name in self.names}

    def url(self, name: str) -> str:
        """Return the URL of the search page of a site."""
        serve = self._settings[name].serve
        return f"http://{serve.host}:{serve.port}/"

    def status(self, name: str) -> "SiteStatus | None":
        """Return the status that a site has written last."""
        from periplus.sites import read_site_status

        return read_site_status(self._folder / name / "site")

    def _alive(self, name: str) -> int:
        status = self.status(name)
        return sum(peer.alive for peer in status.peers) if status is not None and status.url else 0

    def _wait(self, what: str, condition: Callable[[], bool], seconds: float = _WAIT_SECONDS) -> float:
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > seconds:
                raise SiteError(f"It did not come about within {seconds:.0f} s that {what}.")
            time.sleep(_POLL_SECONDS)
        return time.monotonic() - began

    def crawl(self) -> DemoMetrics:
        """Wait until all sites have crawled their parts, and all pages are indexed by their masters."""
        since = time.monotonic()
        before: tuple[tuple[int | None, ...], ...] = ()

        def is_settled() -> bool:
            nonlocal since, before
            now = tuple(self._progress(name) for name in self.names)
            if now != before or any(None in progress for progress in now):
                since, before = time.monotonic(), now
            return time.monotonic() - since > _SETTLED_SECONDS

        self._wait("all pages are crawled and indexed", is_settled)
        return self.measure()

    def _progress(self, name: str) -> tuple[int | None, ...]:
        """Return counters of a site that no longer change when it has nothing left to do; None while it is busy."""
        folder, status = self._folder / name, self.status(name)
        crawl = _read_json(folder / "crawl" / "status.json")
        waiting = sum(peer.outbox_batches for peer in status.peers) if status is not None else None
        spooled = sum(1 for _ in (folder / "site" / "received" / "urls").glob("*.urls"))
        state = crawl.get("state") if crawl else None
        fetched = int(crawl.get("statistics", {}).get("pages", 0)) if crawl else 0
        placed = _size(folder / "site" / "masters.bin") // _ENTRY_BYTES - 1
        idle = 0 if state == "idle" and not waiting and not spooled and placed >= fetched > 0 else None
        documents = status.documents if status is not None and status.documents else None
        return (idle, documents, placed, self._agreed_epoch(name))

    def _agreed_epoch(self, name: str) -> int | None:
        """Return the epoch of the collection statistics that all sites were built with, as far as one knows; or None.

        Its searcher knows the index of every site that is alive then: a query is answered by all that it needs.
        """
        status = self.status(name)
        if status is None or not status.epoch:
            return None
        return status.epoch if all(peer.epoch == status.epoch for peer in status.peers) else None

    def measure(self) -> DemoMetrics:
        """Return what has been crawled, placed and exchanged so far."""
        from periplus.fakeweb import FakeWeb
        from periplus.store import PageStore
        from periplus.url import parse_address

        web = FakeWeb(self._plan)
        fetched, near, pages = {}, {}, {}
        links = sent = exchanged = 0
        for name in self.names:
            fetched[name] = near[name] = 0
            with PageStore.open(self._folder / name / "store", self._settings[name].store) as store:
                for record in store.records():
                    if record.page is not None and not record.forwarded:
                        region = web.region_of(parse_address(record.url).host)
                        fetched[name] += 1
                        near[name] += region is not None and region.name == name
            status = self.status(name)
            pages[name] = status.documents if status is not None else 0
            for peer in status.peers if status is not None else ():
                exchanged += peer.sent_bytes
                for sink in peer.sinks:
                    links += sink.received_items if sink.sink == "urls" else 0
                    sent += sink.received_items if sink.sink == "pages" else 0
        return DemoMetrics(pages, fetched, near, links, sent, exchanged)

    def questions(self) -> dict[str, list[tuple[str, frozenset[str]]]]:
        """Return questions about each region, with their right pages."""
        from periplus.fakeweb import FakeWeb
        from periplus.url import parse_address

        web = FakeWeb(self._plan)
        truth = web.truth()
        doubtful = {*truth.duplicates.values(), *truth.near_duplicates.values()}
        right: dict[str, dict[str, list[str]]] = {name: {} for name in self.names}
        for page in truth.pages:
            region = web.region_of(parse_address(page.url).host)
            if page.kind == "article" and region is not None:
                right[region.name].setdefault(page.title, []).append(page.url)
        questions = {}
        for name, titles in right.items():
            # Titles of two words are no questions: 'Deiche: Wartung' has one that is in a saying on every page.
            clear = [
                (title, urls)
                for title, urls in titles.items()
                if not doubtful & set(urls) and len(urls) == 1 and len(title.split()) >= _QUESTION_WORDS
            ]
            chosen = clear[:: max(1, len(clear) // _QUERIES)][:_QUERIES]
            questions[name] = [(title, frozenset(urls)) for title, urls in chosen]
        return questions

    def ask(self, names: tuple[str, ...] = (), regions: tuple[str, ...] = ()) -> Iterator[SiteDemoAnswer]:
        """Ask the sites `names` the questions about `regions`, by HTTP; all of them without any."""
        questions = self.questions()
        for name in names or self.names:
            for region in regions or self.names:
                for words, urls in questions[region]:
                    yield self._ask(name, region, words, urls)

    def _ask(self, name: str, region: str, words: str, urls: frozenset[str]) -> SiteDemoAnswer:
        address = f"{self.url(name)}api/search?{urllib.parse.urlencode({'q': words, 'count': 3})}"
        began = time.monotonic()
        answer = self._fetch(address)
        seconds = time.monotonic() - began
        sites = tuple((site["site"], site["outcome"], site["milliseconds"]) for site in answer.get("sites", ()))
        correct = any(hit["url"] in urls for hit in answer["results"])
        return SiteDemoAnswer(name, region, words, correct, seconds, sites, tuple(answer.get("notes", ())))

    @staticmethod
    def _fetch(address: str) -> dict[str, Any]:
        """Return the answer of a site; one that has just started may need a few attempts."""
        limit = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                with urllib.request.urlopen(address, timeout=_ASK_SECONDS) as response:
                    answer: dict[str, Any] = json.loads(response.read())
                    return answer
            except OSError as error:
                if time.monotonic() > limit:
                    raise SiteError(f"No answer from {address}: {error}.") from error
            time.sleep(1.0)

    def cut_off(self, name: str) -> float:
        """Cut all links of a site; return after how many seconds the others notice."""
        for pair, proxy in self._proxies.items():
            if name in pair:
                proxy.cut()
        others = [other for other in self.names if other != name]
        return self._wait(
            f"{name} is silent", lambda: self._alive(name) == 0 and all(self._alive(other) == 1 for other in others)
        )

    def return_site(self, name: str) -> float:
        """Mend all links of a site; return after how many seconds all sites know each other again."""
        for pair, proxy in self._proxies.items():
            if name in pair:
                proxy.mend()
        return self._wait(
            "all sites know each other",
            lambda: all(self._alive(site) == 2 and self._agreed_epoch(site) is not None for site in self.names),
        )

    def close(self) -> None:
        """End all sites."""
        self._stack.close()


def _run_site(folder: Path, settings: Settings, seeds: list[str], observer: Observer) -> None:
    """Run one site in a process of its own."""
    run_site(folder, settings, seeds, lambda url: None, every=3.0, observer=observer)


def _read_json(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        value = json.loads(path.read_bytes())
        return value if isinstance(value, dict) else {}
    return {}


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return 0
