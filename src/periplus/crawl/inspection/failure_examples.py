"""Requests that failed lately, a few for each outcome: from the end of the crawl log."""

import os
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.sharding.topology import read_topology, shard_dir
from periplus.errors import PeriplusError
from periplus.records import Outcome

__all__ = ["FailedRequest", "failure_examples"]

_TAIL: Final = 512_000
"""Bytes that are read of each log, some 4,000 requests."""
_FIELDS: Final = 10
_GOOD: Final = (Outcome.OK.value, Outcome.NOT_MODIFIED.value, Outcome.REDIRECT.value)
_MAX_SHARDS: Final = 64


class FailedRequest(msgspec.Struct, frozen=True):
    """One request without a page."""

    when: str
    """As in the log: ISO 8601, UTC."""
    url: str
    status: int
    """0 without a response."""
    found_on: str
    """The page with the link; '' if that is not known."""


def failure_examples(folder: Path, count: int = 3) -> dict[str, list[FailedRequest]]:
    """Return the last `count` requests of each outcome that is a failure; none without a crawl log."""
    found: dict[str, list[FailedRequest]] = {}
    try:
        numbers = read_topology(folder).shards[:_MAX_SHARDS]
    except PeriplusError:
        return {}
    for number in numbers:
        for line in reversed(_last_lines(shard_dir(folder, number) / "crawl.log")):
            _add(found, line, count)
    return found


def _last_lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL))
            lines = file.read(_TAIL).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    return lines[1:] if size > _TAIL else lines


def _add(found: dict[str, list[FailedRequest]], line: str, count: int) -> None:
    """Add a line to the examples of its outcome, if it is a failure and there are not enough."""
    fields = line.split()
    if len(fields) != _FIELDS:
        return
    when, status, _, url, _, via, _, outcomes = fields[:8]
    outcome = outcomes.partition(",")[0]
    known = found.get(outcome, [])
    if outcome in _GOOD or len(known) >= count or not status.isdecimal():
        return
    found[outcome] = [*known, FailedRequest(when, url, int(status[:3]), "" if via == "-" else via)]
