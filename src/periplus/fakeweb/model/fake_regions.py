"""Regions of a fake web: where its hosts are, and which language they write."""

from typing import Final, NamedTuple

__all__ = ["FAKE_REGIONS", "FakeRegion", "regional_address", "regional_network"]

_FIRST_BLOCK: Final = 100
_HOSTS_PER_BLOCK: Final = 254


class FakeRegion(NamedTuple):
    """A region of a fake web."""

    name: str
    language: str
    """'en', 'de', 'fr', 'es' or 'ja'."""
    latitude: float
    longitude: float
    country: str
    """ISO 3166 code."""


FAKE_REGIONS: Final = (
    FakeRegion("dublin", "en", 53.3, -6.3, "IE"),
    FakeRegion("zurich", "de", 47.4, 8.5, "CH"),
    FakeRegion("madrid", "es", 40.4, -3.7, "ES"),
)
"""The regions of the demonstration of sites."""


def regional_address(region: int, number: int) -> str:
    """Return the loopback address of the host with a number among those of a region."""
    block, last = divmod(number, _HOSTS_PER_BLOCK)
    return f"127.{_FIRST_BLOCK + region}.{block}.{last + 1}"


def regional_network(region: int) -> str:
    """Return the network of the addresses of a region."""
    return f"127.{_FIRST_BLOCK + region}.0.0/16"
