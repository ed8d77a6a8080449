"""The hosts that the operator has blocked while a crawl may be running: a file that the crawl reads again.

    crawl/blocked.json      {"format": 1, "hosts": [...], "checksum": xxh3}

A blocked host keeps its URLs, and none is fetched: not of its subdomains, either. Unblocked, it is fetched again.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput, BadUrl, CorruptFile, PeriplusError
from periplus.files import decode_json, encode_json, read_file, write_atomically
from periplus.url import parse_address
from periplus.writer_queue import queue_for_lock

__all__ = ["BlockedHosts", "block_host", "blocked_hosts", "unblock_host"]

_FILE: Final = "blocked.json"
_FORMAT: Final = 1
_REMEDY: Final = "Remove it and block the hosts again."
_MAX_HOSTS: Final = 10_000
_LOCK_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 1.0


class _BlockedFile(msgspec.Struct, frozen=True):
    format: int
    hosts: tuple[str, ...] = ()


class BlockedHosts:
    """The blocked hosts of a data folder, as a crawl sees them: a change counts within about a second."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._names = frozenset(blocked_hosts(folder)) if folder is not None else frozenset[str]()
        self._looked = time.monotonic()
        self._stamp = self._stat()

    def _stat(self) -> tuple[int, int]:
        try:
            status = (self._folder / "crawl" / _FILE).stat() if self._folder is not None else None
        except OSError:
            return (0, 0)
        return (status.st_mtime_ns, status.st_ino) if status is not None else (0, 0)

    def read_again(self) -> bool:
        """Read the file if it has changed; return whether other hosts are blocked now."""
        if self._folder is None or time.monotonic() - self._looked < _LOOK_SECONDS:
            return False
        self._looked = time.monotonic()
        stamp = self._stat()
        if stamp == self._stamp:
            return False
        try:
            names = frozenset(blocked_hosts(self._folder))
        except PeriplusError:
            return False  # what was blocked stays blocked
        changed, self._names, self._stamp = names != self._names, names, stamp
        return changed

    def covers(self, host: str) -> bool:
        """Return whether a host, or a domain above it, is blocked."""
        if not self._names:
            return False
        while host:
            if host in self._names:
                return True
            host = host.partition(".")[2]
        return False


def blocked_hosts(folder: Path) -> tuple[str, ...]:
    """Return the blocked hosts of a data folder, in alphabetical order; raise `CorruptFile` if they cannot be read."""
    path = folder / "crawl" / _FILE
    try:
        return decode_json(path, read_file(path), _BlockedFile, _FORMAT, _REMEDY, checksum_since=1).hosts
    except FileNotFoundError:
        return ()


def block_host(folder: Path, name: str) -> str:
    """Block a host or domain; return its name in canonical form. Raise `BadInput` for what is no host."""
    host = _host_of(name)
    _change(folder, lambda hosts: {*hosts, host})
    return host


def unblock_host(folder: Path, name: str) -> str:
    """Unblock a host; return its name. Raise `BadInput` if it is not blocked."""
    host = _host_of(name)
    if host not in _known(folder):
        raise BadInput(f"'{host}' is not blocked.")
    _change(folder, lambda hosts: {known for known in hosts if known != host})
    return host


def _known(folder: Path) -> tuple[str, ...]:
    """Return the blocked hosts; a damaged file has none, and is replaced by the next change."""
    try:
        return blocked_hosts(folder)
    except CorruptFile:
        return ()


def _change(folder: Path, change: Callable[[Sequence[str]], Iterable[str]]) -> None:
    place = folder / "crawl"
    place.mkdir(parents=True, exist_ok=True)
    with queue_for_lock(place, "blocked", _LOCK_SECONDS):
        hosts = sorted(change(_known(folder)))
        if len(hosts) > _MAX_HOSTS:
            raise BadInput(f"At most {_MAX_HOSTS:,} hosts can be blocked here.", "Use a file: crawl.blocklist.")
        write_atomically(place / _FILE, encode_json(_BlockedFile(_FORMAT, tuple(hosts))))


def _host_of(name: str) -> str:
    """Return the host of a URL, or a host as it is written in URLs."""
    try:
        host = parse_address(name if "://" in name else f"http://{name}/").host
    except BadUrl:
        host = ""
    if len(host) > 253 or not all(host.removesuffix(".").split(".")):
        raise BadInput("This is not the name of a host.", "Write for example: example.com")
    return host
