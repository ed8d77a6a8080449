"""The registered domain of a host, by the Public Suffix List snapshot that publicsuffixlist ships."""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

__all__ = ["registered_domain"]

_LONGEST_NAME = 253


@lru_cache(maxsize=65_536)
def registered_domain(host: str) -> str:
    """Return the registered domain of `host`, or the host itself if it has none."""
    name = host.lower()
    bare = name.removesuffix(".")
    if len(bare) > _LONGEST_NAME or bare.startswith((".", "[")) or _ends_in_number(bare):
        return name
    return _suffixes().privatesuffix(bare) or name


def _ends_in_number(name: str) -> bool:
    # The URL standard treats every host whose last label is a number as an IPv4 address.
    return name.rpartition(".")[2].isdecimal()


@cache
def _suffixes() -> PublicSuffixList:
    # Loaded on first use: loading takes tens of milliseconds, which commands that need no domain should not pay.
    return PublicSuffixList()
