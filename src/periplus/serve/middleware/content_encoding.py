"""Content negotiation by Accept-Encoding (RFC 9110, 12.5.3): whether a response may be compressed."""

import functools
import re
from typing import Final

__all__ = ["accepts_gzip"]

_CACHE_SIZE: Final = 1_024
_MAX_BYTES: Final = 1_000
"""A longer header is not parsed: what it accepts is the identity."""
_WEIGHT: Final = re.compile(rb"q[ \t]*=[ \t]*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)


@functools.lru_cache(_CACHE_SIZE)
def accepts_gzip(header: bytes) -> bool:
    """Return whether a client accepts gzip, and does not prefer the identity."""
    if len(header) > _MAX_BYTES:
        return False
    weights: dict[bytes, float] = {}
    for element in header.split(b","):
        coding, _, parameter = element.partition(b";")
        weights[coding.strip().lower()] = _weight(parameter.strip())
    gzip = max((weights[name] for name in (b"gzip", b"x-gzip") if name in weights), default=weights.get(b"*", 0.0))
    return gzip > 0 and gzip >= weights.get(b"identity", 0.0)


def _weight(parameter: bytes) -> float:
    """Return the weight of a coding; an invalid one is 0, as if the coding was not accepted."""
    if not parameter:
        return 1.0
    match = _WEIGHT.fullmatch(parameter)
    return float(match[1]) if match else 0.0
