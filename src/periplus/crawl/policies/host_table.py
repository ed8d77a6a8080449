"""The settings of single hosts, looked up by host: credentials and proxy of requests, delays, limits, filters."""

import base64
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from periplus.errors import BadUrl, SettingsError
from periplus.fetch import Archiving, Fetcher, RequestOptions
from periplus.records import Address
from periplus.settings import HostSettings, Settings
from periplus.url import parse_address

__all__ = ["HostTable", "open_fetcher"]

_MAX_CACHED: Final = 200_000
_MAX_PASSWORD: Final = 4_096
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_NO_OPTIONS: Final = RequestOptions()


class HostTable:
    """Finds the section of a host: its own, that of its nearest parent ('*.example.org'), or that of all ('*')."""

    def __init__(self, sections: Mapping[str, HostSettings]) -> None:
        self._sections = {_canonical_key(key): section for key, section in sections.items()}
        self._options = {key: _request_options(key, section) for key, section in self._sections.items()}
        self._keys: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._sections)

    def find(self, host: str) -> HostSettings | None:
        """Return the settings of a host, or None."""
        return self._sections.get(self._key(host)) if self._sections else None

    def delay(self, host: str) -> float:
        """Return the minimum delay of a host; -1 if it has none of its own."""
        section = self.find(host)
        return section.delay if section is not None else -1.0

    def options(self, address: Address) -> RequestOptions:
        """Return what to add to a request: secrets only for the default port, and for https unless set otherwise."""
        if not self._sections:
            return _NO_OPTIONS
        key = self._key(address.host)
        options = self._options.get(key, _NO_OPTIONS)
        if options.headers and not _may_send(address, self._sections[key]):
            return RequestOptions((), options.proxy)
        return options

    def _key(self, host: str) -> str:
        key = self._keys.get(host)
        if key is None:
            if len(self._keys) >= _MAX_CACHED:
                self._keys.clear()
            key = self._keys[host] = self._find_key(host)
        return key

    def _find_key(self, host: str) -> str:
        if host in self._sections:
            return host
        parent = host.partition(".")[2]
        while parent:
            if f"*.{parent}" in self._sections:
                return f"*.{parent}"
            parent = parent.partition(".")[2]
        return "*" if "*" in self._sections else ""


def open_fetcher(settings: Settings, accepts: Callable[[str], bool]) -> Fetcher:
    """Return a fetcher for a crawl; without a contact it connects to hosts of the operator only."""
    bandwidth = settings.limits.bandwidth_mbit * 125_000
    options = HostTable(settings.host).options
    archiving = Archiving(settings.store.requests, settings.store.errors)
    own = not settings.fetch.has_contact
    return Fetcher(settings.fetch, accepts, bandwidth, options, only_own=own, archiving=archiving)


def _may_send(address: Address, section: HostSettings) -> bool:
    """Return whether a request may carry secrets: a link to another port may lead to somebody else's server."""
    if address.port != _DEFAULT_PORTS.get(address.scheme):
        return False
    return address.scheme == "https" or section.over_http


def _canonical_key(key: str) -> str:
    if key == "*":
        return key
    star, name = ("*.", key[2:]) if key.startswith("*.") else ("", key)
    with contextlib.suppress(BadUrl):
        address = parse_address(f"http://{name}/")
        if address.port == 80 and address.path == "/":
            return star + address.host
    raise SettingsError(f'[host."{key[:80]}"]: this is not the name of a host.', "Write it without scheme and port.")


def _request_options(key: str, section: HostSettings) -> RequestOptions:
    headers = list(section.headers.items())
    if section.cookies:
        headers.append(("Cookie", "; ".join(f"{name}={value}" for name, value in section.cookies.items())))
    if section.user:
        password = _read_password(key, section.password_file) if section.password_file else section.password
        token = base64.b64encode(f"{section.user}:{password}".encode()).decode("ascii")
        headers.append(("Authorization", f"Basic {token}"))
    return RequestOptions(tuple(headers), section.proxy)


def _read_password(key: str, name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            line = file.read(_MAX_PASSWORD).split(b"\n", 1)[0].rstrip(b"\r").decode("utf-8")
    except OSError as error:
        raise SettingsError(f'[host."{key}"]: cannot read password_file {name}: {error.strerror}.') from None
    except UnicodeDecodeError:
        raise SettingsError(f'[host."{key}"]: password_file {name} is not a text file.') from None
    if not line or not line.isprintable():
        raise SettingsError(f'[host."{key}"]: password_file {name} has no password in its first line.')
    return line
