"""A crawl of other people's hosts says who crawls: it does not start without a contact in its User-Agent header."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from periplus.errors import SettingsError
from periplus.fetch import AddressGuard, HostsFile, is_private_name, is_under
from periplus.records import Address
from periplus.settings import FetchSettings, Settings

__all__ = ["name_robot", "require_contact"]


def require_contact(seeds: Iterable[Address], settings: FetchSettings) -> None:
    """Raise `SettingsError` if a seed is on a host of others and nothing says how to reach the operator.

    A host is the operator's own if it is one of `fetch.own_hosts`, has a private address (or the hosts file gives it
    one), or a name that only a private network knows. Links that lead elsewhere are refused when they are fetched.
    """
    if settings.has_contact:
        return
    guard = AddressGuard(settings.allow)
    hosts = HostsFile.read(Path(settings.hosts_file)) if settings.hosts_file else HostsFile()
    own = frozenset(name.lower().strip(".") for name in settings.own_hosts)
    for host in dict.fromkeys(seed.host for seed in seeds):
        if _is_foreign(host, guard, hosts, own):
            raise SettingsError(
                f"{host} is a host of others, and the crawler does not say how to reach its operator.",
                "Set a URL or an e-mail address: --contact you@example.org (or fetch.contact in periplus.toml); for "
                "hosts of your own, fetch.own_hosts.",
            )


def name_robot(settings: Settings) -> Settings:
    """Return the settings of a crawl, in which rules of pages address the robot by the name that it sends."""
    if settings.parse.robot:
        return settings
    name = settings.fetch.user_agent.partition("/")[0].strip()
    return msgspec.structs.replace(settings, parse=msgspec.structs.replace(settings.parse, robot=name))


def _is_foreign(host: str, guard: AddressGuard, hosts: HostsFile, own: frozenset[str]) -> bool:
    mapped = hosts.addresses(host)
    if mapped:
        return guard.is_foreign(mapped[0].strip("[]"))
    if host.startswith("[") or host.replace(".", "").isdigit():
        return guard.is_foreign(host.strip("[]"))
    return not is_private_name(host) and not is_under(host, own)
