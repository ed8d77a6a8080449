"""A hosts file that overrides DNS: 'ADDRESS[:PORT] NAME' lines, for test webs and closed networks."""

import ipaddress
from pathlib import Path

from periplus.errors import BadUrl, SettingsError
from periplus.records import Address
from periplus.url import parse_address

__all__ = ["HostsFile"]


class HostsFile:
    """Maps host names to IP addresses and ports."""

    def __init__(self, endpoints: dict[str, tuple[str, int | None]] | None = None) -> None:
        self._endpoints = endpoints or {}

    @classmethod
    def read(cls, path: Path) -> "HostsFile":
        """Read a hosts file; raise `SettingsError` naming the file and the line that cannot be used."""
        try:
            lines = path.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            raise SettingsError(f"fetch.hosts_file: {path} is not a text file.") from None
        except OSError as error:
            raise SettingsError(f"fetch.hosts_file: cannot read {path}: {error.strerror}.") from None
        endpoints: dict[str, tuple[str, int | None]] = {}
        for number, line in enumerate(lines, 1):
            words = line.partition("#")[0].split()
            if words:
                _parse_line(words, f"{path}, line {number}", endpoints)
        return cls(endpoints)

    def route(self, address: Address) -> str | None:
        """Return libcurl's CONNECT_TO rule for an address, or None to use DNS."""
        endpoint = self._endpoints.get(address.host)
        if endpoint is None:
            return None
        ip, port = endpoint
        return f"{address.host}:{address.port}:{ip}:{port or address.port}"

    def addresses(self, host: str) -> list[str]:
        """Return the IP address of a host, if the file has it."""
        endpoint = self._endpoints.get(host)
        return [endpoint[0]] if endpoint is not None else []

    def __len__(self) -> int:
        return len(self._endpoints)


def _parse_line(words: list[str], where: str, endpoints: dict[str, tuple[str, int | None]]) -> None:
    if len(words) < 2:
        raise SettingsError(f"fetch.hosts_file: {where}: the host name is missing.", "Write 'ADDRESS[:PORT] NAME'.")
    endpoint = _parse_endpoint(words[0], where)
    for name in words[1:]:
        try:
            host = parse_address(f"http://{name}/").host
        except BadUrl:
            raise SettingsError(f"fetch.hosts_file: {where}: '{name}' is not a host name.") from None
        endpoints[host] = endpoint


def _parse_endpoint(text: str, where: str) -> tuple[str, int | None]:
    ip, port = text, ""
    if text.startswith("["):
        ip, bracket, rest = text[1:].partition("]")
        ip, port = (ip, rest[1:]) if bracket and rest[:1] in ("", ":") else ("", "")
    elif text.count(":") == 1:
        ip, _, port = text.partition(":")
    try:
        parsed = ipaddress.ip_address(ip)
    except ValueError:
        raise SettingsError(
            f"fetch.hosts_file: {where}: '{text}' is not an IP address.", "Write 127.0.0.1 or [::1]:80."
        ) from None
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise SettingsError(f"fetch.hosts_file: {where}: '{port}' is not a port number.")
    ip_text = f"[{parsed}]" if parsed.version == 6 else str(parsed)
    return ip_text, int(port) if port else None
