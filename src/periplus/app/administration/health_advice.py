"""The state of a running installation as a list of findings, each with what to do next."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.app.administration.job_schedule import ScheduledJob
from periplus.files import DataFolder
from periplus.health import PartHealth
from periplus.settings import Settings

__all__ = ["Advice", "advise"]

_MIN_DISK: Final = 1_000_000_000
_STALE_SECONDS: Final = 3_600.0
_MAX_PARTS: Final = 50
_BAD_SHARE: Final = 0.5
_ENOUGH: Final = 100
"""Requests from which on their outcomes say something."""
_OLD_DAYS: Final = 30


class Advice(msgspec.Struct, frozen=True):
    """One finding."""

    name: str
    state: str
    """'good', 'notice' (worth a look) or 'bad' (something does not work)."""
    text: str
    action: str = ""
    """What to do next; '' if nothing is to be done."""
    command: str = ""
    """The command that does it, on the server, if there is one."""
    page: str = ""
    """The page on which it can be done."""


def advise(
    folder: Path,
    settings: Settings,
    crawl: Mapping[str, Any],
    documents: int,
    jobs: Sequence[ScheduledJob],
    parts: Sequence[PartHealth],
    damaged: int,
) -> list[Advice]:
    """Return what there is to say about a data folder, what does not work first.

    crawl: the status of the crawl; documents: pages in the index; damaged: published pages whose files are damaged.
    """
    every = [
        _index(folder, documents, crawl),
        _crawl(settings, crawl),
        *_errors(crawl),
        *_parts(parts),
        *_inbox(damaged),
        _disk(folder, crawl),
        *_jobs(jobs),
        *_recrawl(jobs, crawl),
        *_contact(settings),
    ]
    order = {"bad": 0, "notice": 1, "good": 2}
    return sorted(every, key=lambda advice: order[advice.state])


def _index(folder: Path, documents: int, crawl: Mapping[str, Any]) -> Advice:
    data = DataFolder(folder)
    if not documents:
        if crawl.get("pages"):
            return Advice(
                "Index",
                "bad",
                "Pages are stored, but none is in the index yet.",
                "Build the index.",
                "periplus index build",
                "/admin/schedule",
            )
        return Advice("Index", "bad", "The index is empty.", "Start a crawl.", "periplus up URL", "/admin")
    built, stored = _changed(data.index / "manifest.json"), _changed(data.store / "manifest.json")
    if built and stored - built > _STALE_SECONDS:
        hours = (stored - built) / 3_600
        return Advice(
            "Index",
            "notice",
            f"Pages were stored up to {hours:,.0f} hours after the index was built, and are not found yet.",
            "Build the index now, or schedule builds.",
            "periplus index build",
            "/admin/schedule",
        )
    return Advice("Index", "good", f"{documents:,} pages can be found.")


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _crawl(settings: Settings, crawl: Mapping[str, Any]) -> Advice:
    state, waiting = crawl.get("state", "none"), int(crawl.get("waiting", 0))
    if crawl.get("paused"):
        return Advice(
            "Crawl",
            "bad",
            f"The crawl waits because of a limit: {crawl['paused']}",
            "Free some space or memory, or raise the limit (limits.* in the settings).",
            "periplus doctor",
        )
    if state == "none":
        return Advice("Crawl", "notice", "Nothing was crawled yet.", "Start a crawl.", "periplus crawl URL", "/admin")
    if state == "paused":
        return Advice("Crawl", "notice", "The crawl is paused.", "Resume it.", "periplus crawl --resume", "/admin")
    if crawl.get("running"):
        return Advice("Crawl", "good", f"The crawl is running: {crawl.get('rate', 0.0):.1f} pages a second.")
    if waiting:
        reached = crawl.get("pages", 0) >= settings.crawl.pages
        action = "Start it with a higher limit of pages." if reached else "Start it again to go on."
        text = f"The crawl has stopped; {waiting:,} addresses are waiting."
        return Advice("Crawl", "notice", text, action, "periplus crawl", "/admin")
    return Advice("Crawl", "good", "The crawl is finished: nothing is waiting.")


def _errors(crawl: Mapping[str, Any]) -> Iterator[Advice]:
    fetched, errors = int(crawl.get("fetched", 0)), crawl.get("errors", {})
    failed = sum(count for name, count in errors.items() if name not in ("redirect", "not-modified", "robots"))
    if fetched >= _ENOUGH and failed > _BAD_SHARE * fetched:
        worst = max(errors, key=lambda name: errors[name])
        yield Advice(
            "Requests",
            "notice",
            f"{failed:,} of {fetched:,} requests failed, most with '{worst}'.",
            "Look at the examples.",
            page="/admin#errors",
        )


def _parts(parts: Sequence[PartHealth]) -> Iterator[Advice]:
    for part in [part for part in parts if part.is_failing()][:_MAX_PARTS]:
        minutes = max(0.0, time.time() - part.failing_since) / 60
        yield Advice(
            f"Part '{part.name}'",
            "bad",
            f"It has been failing for {minutes:,.0f} minutes and was restarted {part.restarts:,} times: {part.error}",
            "It is started again by itself. If it does not recover, check the data folder.",
            "periplus check",
        )


def _inbox(damaged: int) -> Iterator[Advice]:
    if damaged:
        yield Advice(
            "Published pages",
            "bad",
            f"{damaged:,} published pages have damaged files (inbox/*.damaged).",
            "Publish them again, then remove the files.",
        )


def _disk(folder: Path, crawl: Mapping[str, Any]) -> Advice:
    free = shutil.disk_usage(folder).free
    if free < _MIN_DISK:
        action = "Free some space, or let old responses go (store.keep_days)."
        return Advice("Disk", "bad", f"Only {free / 1e6:,.0f} MB are free.", action, "periplus doctor")
    return Advice("Disk", "good", f"{free / 1e9:,.1f} GB are free.")


def _jobs(jobs: Sequence[ScheduledJob]) -> Iterator[Advice]:
    for job in jobs:
        if job.failed:
            text = f"It failed last time: {job.result}"
            yield Advice(f"Job '{job.job}'", "bad", text, "Do it again.", page="/admin/schedule")


def _recrawl(jobs: Sequence[ScheduledJob], crawl: Mapping[str, Any]) -> Iterator[Advice]:
    scheduled = any(job.job == "recrawl" and job.every_hours for job in jobs)
    age = time.time() - float(crawl.get("when", time.time()))
    if not scheduled and crawl.get("pages") and age > _OLD_DAYS * 86_400:
        text = f"The last page was fetched {age / 86_400:,.0f} days ago."
        action = "Schedule recrawls, so that results stay up to date."
        yield Advice("Freshness", "notice", text, action, page="/admin/schedule")


def _contact(settings: Settings) -> Iterator[Advice]:
    if not settings.fetch.has_contact:
        yield Advice(
            "Contact",
            "notice",
            "fetch.contact is not set, so only your own hosts are crawled (fetch.own_hosts).",
            "Set an address of the web or an e-mail address at which people can reach you about the crawl.",
            "periplus crawl URL --contact you@example.org",
        )
