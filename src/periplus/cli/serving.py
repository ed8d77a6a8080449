"""Join what a server works with: the searcher, the keys, and what may be done beside searching."""

import contextlib
import functools
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from periplus.errors import CorruptFile
from periplus.files import decode_json
from periplus.settings import FetchSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from periplus.crawl import CrawlControl
    from periplus.records import VisitReport
    from periplus.serve import Actions, ClickEvent, JudgementRequest, PublishReceipt, PublishRequest, ServerResources

__all__ = ["actions_of", "get_once", "open_all", "read_quality"]

_QUALITY_FORMAT = 1


def open_all(folder: Path, settings: Settings, may_be_empty: bool = False, warm: bool = False) -> "ServerResources":
    """Open all that one process serves with. warm: search once before anything else; else in a thread, meanwhile."""
    from periplus.records import Query
    from periplus.search import Searcher
    from periplus.serve import ApiKeys, ServerResources

    searcher = Searcher.open(folder, settings, may_be_empty=may_be_empty)
    # Compiled kernels are loaded by the first search: better ours, now, than somebody's.
    if warm:
        searcher.search(Query("first"))
    else:
        threading.Thread(target=searcher.search, args=(Query("first"),), daemon=True).start()
    keys = ApiKeys(folder)
    keys.ensure_file()
    return ServerResources(searcher, actions_of(folder, searcher, settings), keys)


def actions_of(folder: Path, searcher: Any, settings: Settings) -> "Actions":
    """Give what a server of this data folder can do beside searching."""
    from periplus.errors import BadInput
    from periplus.publish import Inbox, make_published_record
    from periplus.serve import Actions, PublishReceipt

    inbox = Inbox(folder)

    def publish(given: "PublishRequest") -> "PublishReceipt":
        visit = make_published_record(
            given.title,
            given.content,
            given.url,
            given.description,
            given.author,
            given.date,
            given.tags,
            given.language,
        )
        inbox.add_record(visit)
        return PublishReceipt(f"{visit.key:016x}", visit.url)

    def unpublish(name: str) -> None:
        key = int(name, 16)
        known = inbox.find_record(key) or searcher.cached_page(key)
        if known is None:
            raise BadInput("There is no such page.", "Give the id that publishing it gave.")
        inbox.withdraw_page(known.url)

    def report(seen: "Sequence[VisitReport]") -> tuple[int, int]:
        from periplus.signals import append_visit_reports, update_visit_counts

        taken = append_visit_reports(folder, seen)
        update_visit_counts(folder)
        return taken

    def judge(given: "JudgementRequest") -> bool:
        from periplus.signals import Judgement, write_judgement

        return write_judgement(folder, Judgement(given.query, given.url, given.grade, time.time()))

    def click(given: "ClickEvent", source: int = 0) -> bool:
        from periplus.signals import Click, write_click

        return write_click(folder, Click(given.query, given.url, given.position, given.shown, time.time(), source))

    def trending() -> "Sequence[tuple[str, int]]":
        if not (folder / "passive").is_dir():
            return ()
        from periplus.signals import read_trending, update_visit_counts

        update_visit_counts(folder)  # What was reported last, and nobody reported after it.
        return read_trending(folder)

    return Actions(
        publish,
        unpublish,
        report,
        _Crawl(folder, settings),
        judge,
        click,
        trending,
        lambda url: get_once(url, settings.fetch),
        lambda: read_quality(folder),
    )


def get_once(url: str, settings: FetchSettings) -> bytes | None:
    """Give what a service answers to one GET, within three seconds and 64 kB; None if it does not answer well."""
    from periplus.fetch import Fetcher
    from periplus.records import FetchRequest, Outcome
    from periplus.url import parse_address

    bounds = {"timeout": 3.0, "connect_timeout": 2.0, "max_bytes": 65_536, "connections": 1}
    fetcher = Fetcher(msgspec.structs.replace(settings, **bounds))
    try:
        fetcher.start(FetchRequest(parse_address(url)), any_type=True)
        until = time.monotonic() + 4.0
        while time.monotonic() < until:
            for fetched in fetcher.poll(0.2):
                return fetched.body if fetched.outcome is Outcome.OK else None
    finally:
        fetcher.close()
    return None


def read_quality(folder: Path) -> tuple[Any, list[Any]]:
    """Give the latest figures that an evaluation left, None if there are none, and the short form of all there were."""
    place = folder / "quality"
    try:
        path = place / "latest.json"
        latest = decode_json(path, path.read_bytes(), dict[str, Any], _QUALITY_FORMAT)
    except (OSError, CorruptFile):
        return None, []
    lines = (place / "history.jsonl").read_bytes().splitlines() if (place / "history.jsonl").exists() else []
    history = []
    for line in (*lines[:1], *lines[1:][-600:]):
        with contextlib.suppress(CorruptFile):
            figures = decode_json(place / "history.jsonl", line, dict[str, Any], _QUALITY_FORMAT)
            if "ndcg" in figures:  # the first line has the format alone
                history.append(figures)
    return latest, history


class _Crawl:
    """The crawl, imported when it is first asked about: starting a server does not wait for all that crawls."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._given = (folder, settings)

    @functools.cached_property
    def _control(self) -> "CrawlControl":
        from periplus.crawl import CrawlControl

        return CrawlControl(*self._given)

    def status(self) -> dict[str, Any]:
        """Say how it is."""
        return self._control.status()

    def start(self, seeds: "Sequence[str]" = ()) -> None:
        """Begin it with these seeds too, or go on with it."""
        from periplus.cli.commands.crawl import check_seeds

        check_seeds(list(seeds))
        self._control.start(seeds)

    def pause(self) -> None:
        """Let no more requests begin."""
        self._control.pause()

    def resume(self) -> None:
        """Let it go on."""
        self._control.resume()

    def stop(self) -> None:
        """Let it end in good order."""
        self._control.stop()
