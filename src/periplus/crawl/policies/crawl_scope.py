"""The scope of a crawl: hosts or registered domains of its seeds, in sets, so that a check costs the same for all."""

from periplus.records import Address

__all__ = ["CrawlScope"]


class CrawlScope:
    """Which addresses belong to a crawl: those of the same 'host' or 'domain' as a seed, or any ('web')."""

    def __init__(self, scope: str) -> None:
        if scope not in ("host", "domain", "web"):
            raise ValueError(f"scope must be 'host', 'domain' or 'web', not '{scope}'")
        self._scope = scope
        self._names: set[str] = set()

    def add(self, seed: Address) -> bool:
        """Add a seed; return whether the scope has become larger."""
        name = self._name(seed)
        if name in self._names:
            return False
        self._names.add(name)
        return True

    def includes(self, address: Address) -> bool:
        """Return whether an address belongs to the crawl."""
        return self._name(address) in self._names

    def _name(self, address: Address) -> str:
        if self._scope == "host":
            return address.host
        return address.domain if self._scope == "domain" else ""
