"""Run a crawl in one process or several, and control one that runs in another process."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from periplus.app.interrupts import stop_on_signal
from periplus.app.jobs.store_jobs import index_archive
from periplus.app.new_folder import writable_folder
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadInput, NothingHere
from periplus.files import DataFolder
from periplus.health import share_health
from periplus.limits import divide_memory
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.crawl import CrawlStatistics, HeldRegion, HostQueue

__all__ = [
    "CrawlRun",
    "check_seeds",
    "control_crawl",
    "crawl_status",
    "list_held",
    "queue_of_host",
    "resize_crawl",
    "run_crawl",
]

_STOPPING: Final = "finishing the requests under way"


class CrawlRun(NamedTuple):
    """How a crawl ended."""

    statistics: "CrawlStatistics"
    """Of all runs in this data folder."""
    before: "CrawlStatistics"
    """Of the runs before this one."""
    interrupted: bool

    @property
    def new_pages(self) -> int:
        """The pages of this run."""
        return self.statistics.pages - self.before.pages

    @property
    def errors(self) -> dict[str, int]:
        """The requests of this run that returned no page, by outcome."""
        earlier = self.before.errors
        every = {name: times - earlier.get(name, 0) for name, times in self.statistics.errors.items()}
        return {name: times for name, times in every.items() if times > 0}


def run_crawl(
    folder: Path,
    settings: Settings,
    seeds: Sequence[str] = (),
    observer: Observer = SILENT,
    *,
    handle_signals: bool = False,
) -> CrawlRun:
    """Crawl until nothing is left, a limit is reached or it is stopped.

    Without seeds, the last crawl of the data folder is resumed. With `handle_signals` (main thread only) the first
    SIGINT, SIGTERM or SIGHUP ends the crawl in good order. Raise `BadUrl` for an invalid seed, before anything is
    written; `BadInput` if all that there was to fetch is on private addresses, which no setting allows.
    """
    from periplus.crawl import count_shards

    check_seeds(seeds, settings)
    settings = divide_memory(settings)
    with writable_folder(folder, settings), share_health(folder):
        several = max(settings.crawl.shards, count_shards(folder)) > 1
        run = (_run_shards if several else _run_one)(folder, settings, seeds, observer, handle_signals)
        _refuse_private(run.statistics)
        if settings.store.cdxj:
            index_archive(folder)
        if settings.crawl.thumbnails and not run.interrupted:
            _make_thumbnails(folder, settings, observer)
    return run


def _make_thumbnails(folder: Path, settings: Settings, observer: Observer) -> None:
    """Make thumbnails of the images of the pages that are stored."""
    from periplus.crawl import make_thumbnails
    from periplus.store import PageStore

    observer.progress("making thumbnails", 0, settings.crawl.thumbnails)
    with contextlib.suppress(NothingHere), PageStore.open(DataFolder(folder).store, settings.store) as store:
        done = make_thumbnails(folder, settings, store.records())
        observer.progress("making thumbnails", done.made, max(done.made, done.fetched))


def _signals(
    stop: Callable[[], None], observer: Observer, wanted: bool
) -> contextlib.AbstractContextManager[list[int]]:
    return stop_on_signal(stop, observer, _STOPPING) if wanted else contextlib.nullcontext([])


def _run_one(
    folder: Path, settings: Settings, seeds: Sequence[str], observer: Observer, handle_signals: bool
) -> CrawlRun:
    from periplus.crawl import Crawler

    with (
        Crawler(folder, settings, seeds) as crawler,
        _signals(crawler.stop, observer, handle_signals) as received,
    ):
        before = crawler.statistics()
        return CrawlRun(crawler.run(observer.crawl_progress), before, bool(received))


def _run_shards(
    folder: Path, settings: Settings, seeds: Sequence[str], observer: Observer, handle_signals: bool
) -> CrawlRun:
    from periplus.crawl import Supervisor

    supervisor = Supervisor(folder, settings, seeds, settings.crawl.shards)
    with _signals(supervisor.stop, observer, handle_signals) as received:
        statistics = supervisor.run(observer.crawl_progress)
    return CrawlRun(statistics, supervisor.before(), bool(received))


def _refuse_private(statistics: "CrawlStatistics") -> None:
    from periplus.records import Outcome

    if not statistics.pages and not statistics.waiting and set(statistics.errors) == {Outcome.FORBIDDEN_ADDRESS.value}:
        raise BadInput(
            "Everything is on private or loopback addresses, which are not fetched unless allowed.",
            "Name their range: --allow 127.0.0.0/8 (or fetch.allow in periplus.toml).",
        )


def check_seeds(seeds: Sequence[str], settings: Settings | None = None) -> None:
    """Raise `BadUrl` for the first seed that is not a URL, and `SettingsError` if one needs a contact."""
    from periplus.url import parse_address

    addresses = [parse_address(seed) for seed in seeds]
    if settings is not None:
        from periplus.crawl import require_contact

        require_contact(addresses, settings.fetch)


def control_crawl(folder: Path, command: str) -> None:
    """Send 'pause', 'resume' or 'stop' to the crawl that runs in a data folder; raise `BadInput` if none runs."""
    from periplus.crawl import CrawlControl

    control = CrawlControl(folder)
    {"pause": control.pause, "resume": control.resume, "stop": control.stop}[command]()


def resize_crawl(folder: Path, shards: int) -> None:
    """Change the number of shards of the crawl that runs in a data folder."""
    from periplus.crawl import CrawlControl

    CrawlControl(folder).resize(shards)


def crawl_status(folder: Path) -> dict[str, Any]:
    """Return the state and the statistics of the crawl of a data folder, as `CrawlControl.status` does."""
    from periplus.crawl import CrawlControl

    return CrawlControl(folder).status()


def queue_of_host(folder: Path, settings: Settings, host: str, count: int = 20) -> "HostQueue":
    """Return what waits at a host, and its next URLs, at the time of the last snapshot."""
    from periplus.crawl import host_queue

    return host_queue(folder, settings, host, count)


def list_held(folder: Path) -> list["HeldRegion"]:
    """Return the regions of which the crawl of a data folder holds URLs back, the largest first."""
    from periplus.crawl import held_regions

    return held_regions(folder)
