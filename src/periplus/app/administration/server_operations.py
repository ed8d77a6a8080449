"""What operators can do and see on a server besides searching, joined from the packages that do it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.app.administration.change_log import ChangeLog
from periplus.app.administration.health_advice import advise
from periplus.app.administration.job_schedule import JobSchedule
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.serve import HealthReport

__all__ = ["ServerOperations"]

_MAX_WARNINGS: Final = 50


class ServerOperations:
    """The operations of one data folder; packages are imported by the first call that needs them."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        documents: Callable[[], int],
        status: Callable[[], dict[str, Any]],
        health: Callable[[], "HealthReport"],
    ) -> None:
        """Open the operations of a folder.

        documents: how many pages are in the index; status: of the crawl; health: of the parts of the program.
        """
        self._folder, self._settings = folder, settings
        self._documents, self._status, self._health = documents, status, health
        self._changes, self._schedule = ChangeLog(folder), JobSchedule(folder)

    def record_change(self, who: str, what: str, detail: str = "") -> None:
        """Add a line to the log of changes."""
        self._changes.add(who, what, detail)

    def changes(self, count: int = 100) -> list[dict[str, Any]]:
        """Return the latest changes, newest first."""
        return [msgspec.to_builtins(change) for change in self._changes.latest(count)]

    def find_hosts(self, text: str = "", count: int = 50) -> list[dict[str, Any]]:
        """Return hosts of the crawl whose names contain a text, and whether each is blocked."""
        from periplus.crawl import BlockedHosts, find_hosts

        rows, blocked = find_hosts(self._folder, self._settings, text, count), BlockedHosts(self._folder)
        return [{**msgspec.to_builtins(row), "is_blocked": blocked.covers(row.host)} for row in rows]

    def failures(self) -> dict[str, list[dict[str, Any]]]:
        """Return a few requests that failed lately, by outcome."""
        from periplus.crawl import failure_examples

        return {name: msgspec.to_builtins(examples) for name, examples in failure_examples(self._folder).items()}

    def blocked_hosts(self) -> tuple[str, ...]:
        """Return the blocked hosts."""
        from periplus.crawl import blocked_hosts

        return blocked_hosts(self._folder)

    def block_host(self, host: str) -> str:
        """Block a host; return its name in canonical form."""
        from periplus.crawl import block_host

        return block_host(self._folder, host)

    def unblock_host(self, host: str) -> str:
        """Unblock a host; raise `BadInput` if it is not blocked."""
        from periplus.crawl import unblock_host

        return unblock_host(self._folder, host)

    def schedule(self) -> list[dict[str, Any]]:
        """Return the scheduled jobs, with the times when they are due."""
        return [{**msgspec.to_builtins(job), "next": job.next_time()} for job in self._schedule.jobs()]

    def set_schedule(self, job: str, every_hours: float, minutes: float = 0.0) -> None:
        """Set how often a job is done; 0 hours is never."""
        self._schedule.set(job, every_hours, minutes)

    def request_job(self, job: str) -> None:
        """Have a job done at once."""
        self._schedule.request(job)

    def sinks(self) -> dict[str, Any]:
        """Return what this server exchanges with other sites; no 'site' if it is none."""
        from periplus.sites import read_site_status

        status = read_site_status(self._folder / "site")
        if status is None:
            return {"site": "", "peers": [], "warnings": []}
        peers = [msgspec.to_builtins(peer) for peer in status.peers]
        return {
            "site": status.name,
            "when": status.time,
            "peers": peers,
            "warnings": status.warnings()[:_MAX_WARNINGS],
        }

    def advice(self) -> list[dict[str, Any]]:
        """Return the state of everything, and what to do next."""
        health = self._health()
        found = advise(
            self._folder,
            self._settings,
            self._status(),
            self._documents(),
            self._schedule.jobs(),
            health.parts,
            health.damaged,
        )
        return [msgspec.to_builtins(advice) for advice in found]
