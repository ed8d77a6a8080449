"""What operators can do on a server, as protocols, so that it can be tested with any implementation."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta

__all__ = ["CrawlLimits", "OperationsLike"]


class CrawlLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one run of a crawl; None is what the settings say."""

    pages: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    host_pages: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    minutes: Annotated[float, Meta(ge=0, le=525_600)] | None = None
    depth: Annotated[int, Meta(ge=0, le=1_000)] | None = None
    scope: Literal["host", "domain", "web"] | None = None
    recrawl: bool | None = None


class OperationsLike(Protocol):
    """The operations of a data folder; all of them may read or write files."""

    def record_change(self, who: str, what: str, detail: str = "") -> None:
        """Add a line to the log of changes."""

    def changes(self, count: int = 100) -> list[dict[str, Any]]:
        """Return the latest changes, newest first: when, who, what, detail."""

    def find_hosts(self, text: str = "", count: int = 50) -> list[dict[str, Any]]:
        """Return hosts of the crawl whose names contain a text."""

    def failures(self) -> dict[str, list[dict[str, Any]]]:
        """Return a few requests that failed lately, by outcome."""

    def blocked_hosts(self) -> Sequence[str]:
        """Return the blocked hosts."""

    def block_host(self, host: str) -> str:
        """Block a host; return its name in canonical form. Raise `BadInput` for what is no host."""

    def unblock_host(self, host: str) -> str:
        """Unblock a host; return its name. Raise `BadInput` if it is not blocked."""

    def schedule(self) -> list[dict[str, Any]]:
        """Return the scheduled jobs."""

    def set_schedule(self, job: str, every_hours: float, minutes: float = 0.0) -> None:
        """Set how often a job is done; raise `BadInput` if there is no such job."""

    def request_job(self, job: str) -> None:
        """Have a job done at once; raise `BadInput` if there is no such job."""

    def sinks(self) -> dict[str, Any]:
        """Return what this server exchanges with other sites."""

    def advice(self) -> list[dict[str, Any]]:
        """Return the state of everything, and what to do next."""
