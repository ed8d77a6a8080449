"""Hosts that belong together, by registered domain or network address: how many of them are asked at once."""

from collections import deque

from periplus.frontier.host_state import Host
from periplus.settings import FrontierSettings
from periplus.url import registered_domain

__all__ = ["Groups"]


class Groups:
    """Counts the requests under way to each domain and address, and keeps the hosts that have to wait for them."""

    def __init__(self, settings: FrontierSettings) -> None:
        self._per_domain = settings.per_domain
        self._per_address = settings.per_address
        self._busy: dict[str, int] = {}
        self._blocked: dict[str, deque[str]] = {}

    def _of(self, host: Host) -> list[tuple[str, int]]:
        groups = [(f"domain {registered_domain(host.name)}", self._per_domain)] if self._per_domain else []
        if self._per_address and host.ip:
            groups.append((f"address {host.ip}", self._per_address))
        return groups

    def enter(self, host: Host) -> bool:
        """Count a request to a host; False when its domain or address is asked often enough now. It waits here then."""
        groups = self._of(host)
        for name, most in groups:
            if self._busy.get(name, 0) >= most:
                self._blocked.setdefault(name, deque()).append(host.name)
                return False
        for name, _ in groups:
            self._busy[name] = self._busy.get(name, 0) + 1
        host.groups = [name for name, _ in groups]
        return True

    def leave(self, host: Host) -> list[str]:
        """Count the end of a request; give the hosts that may try again."""
        again: list[str] = []
        for name in host.groups:
            left = self._busy.get(name, 1) - 1
            if left > 0:
                self._busy[name] = left
            else:
                self._busy.pop(name, None)
            if waiting := self._blocked.get(name):
                again.append(waiting.popleft())
                if not waiting:
                    del self._blocked[name]
        host.groups = []
        return again

    def clear(self) -> list[str]:
        """Forget all requests under way; give the hosts that waited for them."""
        names = [name for waiting in self._blocked.values() for name in waiting]
        self._busy.clear()
        self._blocked.clear()
        return names

    def restore(self, host: Host) -> None:
        """Count a request that was under way when the snapshot was written."""
        for name in host.groups:
            self._busy[name] = self._busy.get(name, 0) + 1

    def blocked(self) -> int:
        """Give the number of hosts that wait for others."""
        return sum(len(waiting) for waiting in self._blocked.values())
