"""Groups of hosts, by registered domain and by network address: how many requests each may have in flight."""

from collections import deque
from functools import lru_cache
from typing import Final

from periplus.frontier.host import Host
from periplus.settings import FrontierSettings
from periplus.url import registered_domain

__all__ = ["HostGroups"]

_MAX_RECENT: Final = 16_384


class HostGroups:
    """Counts the requests in flight by domain and address, and queues the hosts that wait for them to end."""

    def __init__(self, settings: FrontierSettings) -> None:
        self._per_domain = settings.per_domain
        self._per_address = settings.per_address
        self._busy: dict[str, int] = {}
        self._blocked: dict[str, deque[str]] = {}

    def limit_addresses(self, per_address: int) -> None:
        """Change the limit of requests by address; it applies to requests that begin from now on."""
        self._per_address = per_address

    def enter(self, host: Host) -> bool:
        """Count a request to a host; return False, and queue the host, if its domain or address is at its limit."""
        busy, groups = self._busy, []
        if self._per_domain:
            name = _domain_group(host.name)
            if busy.get(name, 0) >= self._per_domain:
                return self._block(host, name)
            groups.append(name)
        if self._per_address and host.ip:
            name = f"address {host.ip}"
            if busy.get(name, 0) >= self._per_address:
                return self._block(host, name)
            groups.append(name)
        for name in groups:
            busy[name] = busy.get(name, 0) + 1
        host.groups = groups
        return True

    def _block(self, host: Host, group: str) -> bool:
        self._blocked.setdefault(group, deque()).append(host.name)
        return False

    def leave(self, host: Host) -> list[str]:
        """Count the end of a request; return the hosts that may try again."""
        freed: list[str] = []
        busy = self._busy
        for name in host.groups:
            left = busy.get(name, 1) - 1
            if left > 0:
                busy[name] = left
            else:
                busy.pop(name, None)
            if self._blocked and (waiting := self._blocked.get(name)):
                freed.append(waiting.popleft())
                if not waiting:
                    del self._blocked[name]
        host.groups = []
        return freed

    def clear(self) -> None:
        """Forget all requests in flight, and the hosts that wait for them."""
        self._busy.clear()
        self._blocked.clear()

    def restore(self, host: Host) -> None:
        """Count a request that was in flight when the snapshot was written."""
        for name in host.groups:
            self._busy[name] = self._busy.get(name, 0) + 1

    def blocked(self) -> int:
        """Return the number of hosts that wait for others."""
        return sum(len(waiting) for waiting in self._blocked.values())


@lru_cache(_MAX_RECENT)
def _domain_group(host: str) -> str:
    """Return the name of the group of a host's domain."""
    return f"domain {registered_domain(host)}"
