"""Names that are asked before DNS: a file of 'ADDRESS[:PORT] NAME' lines, for test webs and closed networks."""

import ipaddress
from pathlib import Path

from periplus.errors import BadUrl, SettingsError
from periplus.records import Address
from periplus.url import parse_address

__all__ = ["HostsFile"]


class HostsFile:
    """Where named hosts really are."""

    def __init__(self, places: dict[str, tuple[str, int | None]] | None = None) -> None:
        self._places = places or {}

    @classmethod
    def read(cls, path: Path) -> "HostsFile":
        """Read a hosts file; raise `SettingsError` naming the file and the line that cannot be used."""
        try:
            lines = path.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            raise SettingsError(f"fetch.hosts: {path} is no text file.") from None
        except OSError as error:
            raise SettingsError(f"fetch.hosts: cannot read {path}: {error.strerror}.") from None
        places: dict[str, tuple[str, int | None]] = {}
        for number, line in enumerate(lines, 1):
            words = line.partition("#")[0].split()
            if words:
                _read_line(words, f"{path}, line {number}", places)
        return cls(places)

    def route(self, wanted: Address) -> str | None:
        """Give libcurl's CONNECT_TO rule for an address, or None when DNS is to be asked."""
        place = self._places.get(wanted.host)
        if place is None:
            return None
        ip, port = place
        return f"{wanted.host}:{wanted.port}:{ip}:{port or wanted.port}"

    def __len__(self) -> int:
        return len(self._places)


def _read_line(words: list[str], where: str, places: dict[str, tuple[str, int | None]]) -> None:
    if len(words) < 2:
        raise SettingsError(f"fetch.hosts: {where}: no name after the address.", "Write 'ADDRESS[:PORT] NAME'.")
    place = _read_place(words[0], where)
    for name in words[1:]:
        try:
            host = parse_address(f"http://{name}/").host
        except BadUrl:
            raise SettingsError(f"fetch.hosts: {where}: '{name}' is no host name.") from None
        places[host] = place


def _read_place(text: str, where: str) -> tuple[str, int | None]:
    ip, port = text, ""
    if text.startswith("["):
        ip, bracket, rest = text[1:].partition("]")
        ip, port = (ip, rest[1:]) if bracket and rest[:1] in ("", ":") else ("", "")
    elif text.count(":") == 1:
        ip, _, port = text.partition(":")
    try:
        parsed = ipaddress.ip_address(ip)
    except ValueError:
        raise SettingsError(f"fetch.hosts: {where}: '{text}' is no address.", "Write 127.0.0.1 or [::1]:80.") from None
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise SettingsError(f"fetch.hosts: {where}: '{port}' is no port.")
    shown = f"[{parsed}]" if parsed.version == 6 else str(parsed)
    return shown, int(port) if port else None
