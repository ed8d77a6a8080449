"""Whose is a host: its registered domain, by the Public Suffix List snapshot that comes with publicsuffixlist."""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

__all__ = ["registered_domain"]

_LONGEST_NAME = 253


@lru_cache(maxsize=65_536)
def registered_domain(host: str) -> str:
    """Give the part of `host` that somebody registered, or the host itself where there is none."""
    name = host.lower()
    bare = name.removesuffix(".")
    if len(bare) > _LONGEST_NAME or bare.startswith((".", "[")) or _ends_in_number(bare):
        return name
    return _suffixes().privatesuffix(bare) or name


def _ends_in_number(name: str) -> bool:
    # The URL standard takes every host whose last label is a number for an IPv4 address.
    return name.rpartition(".")[2].isdecimal()


@cache
def _suffixes() -> PublicSuffixList:
    # Read on first use: it takes tens of milliseconds that a command which needs no domain should not pay.
    return PublicSuffixList()
