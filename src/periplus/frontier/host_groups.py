"""Groups of hosts, by registered domain and by network address: how many requests each may have in flight."""

from collections import deque

from periplus.frontier.host import Host
from periplus.settings import FrontierSettings
from periplus.url import registered_domain

__all__ = ["HostGroups"]


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

    def _groups_of(self, host: Host) -> list[tuple[str, int]]:
        groups = [(f"domain {registered_domain(host.name)}", self._per_domain)] if self._per_domain else []
        if self._per_address and host.ip:
            groups.append((f"address {host.ip}", self._per_address))
        return groups

    def enter(self, host: Host) -> bool:
        """Count a request to a host; return False, and queue the host, if its domain or address is at its limit."""
        groups = self._groups_of(host)
        for name, most in groups:
            if self._busy.get(name, 0) >= most:
                self._blocked.setdefault(name, deque()).append(host.name)
                return False
        for name, _ in groups:
            self._busy[name] = self._busy.get(name, 0) + 1
        host.groups = [name for name, _ in groups]
        return True

    def leave(self, host: Host) -> list[str]:
        """Count the end of a request; return the hosts that may try again."""
        freed: list[str] = []
        for name in host.groups:
            left = self._busy.get(name, 1) - 1
            if left > 0:
                self._busy[name] = left
            else:
                self._busy.pop(name, None)
            if waiting := self._blocked.get(name):
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
