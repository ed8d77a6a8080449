"""Quantities as people write them: 1e9, 100M, 5%, 64GB, 10Gbit."""

import math
import re
from typing import Final

from periplus.errors import BadInput

__all__ = [
    "format_amount",
    "format_bytes",
    "format_hours",
    "parse_bandwidth",
    "parse_bytes",
    "parse_count",
    "parse_share",
]

_NUMBER: Final = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)\s*([a-zA-Z/%]*)")
_COUNTS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "million": 1e6, "g": 1e9, "b": 1e9, "bn": 1e9, "billion": 1e9, "t": 1e12}
_BYTES: Final = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15}
_BINARY: Final = {"kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}
_BITS: Final = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "kbit/s": 1e3, "mbit/s": 1e6, "gbit/s": 1e9}
_STEPS: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def _split(text: str, name: str, units: dict[str, float], example: str) -> float:
    """Return the number that a text stands for; raise `BadInput` for anything else."""
    match = _NUMBER.fullmatch(text.strip())
    unit = match.group(2).lower() if match else ""
    if match is None or unit not in units:
        raise BadInput(f"{name} cannot be read from {text[:40]!r}.", f"Write it like {example}.")
    value = float(match.group(1).replace(",", "").replace("_", "")) * units[unit]
    if not math.isfinite(value):
        raise BadInput(f"{name} is too large: {text[:40]!r}.", f"Write it like {example}.")
    return value


def _check(value: float, name: str, least: float, most: float) -> float:
    if not least <= value <= most:
        raise BadInput(f"{name} must be from {least:g} to {most:g}, not {value:g}.")
    return value


def parse_count(text: str, name: str, least: float = 1, most: float = 1e13) -> float:
    """Return a number such as 1e9, 100M or 1bn."""
    return _check(_split(text, name, _COUNTS, "1e9, 100M or 2500"), name, least, most)


def parse_share(text: str, name: str, most: float = 100.0) -> float:
    """Return a share such as 5% or 0.05."""
    return _check(_split(text, name, {"": 1.0, "%": 0.01}, "5% or 0.05"), name, 0.0, most)


def parse_bytes(text: str, name: str, least: float = 1, most: float = 1e18) -> float:
    """Return a size in bytes such as 64GB or 4TB."""
    return _check(_split(text, name, _BYTES | _BINARY, "64GB or 4TB"), name, least, most)


def parse_bandwidth(text: str, name: str) -> float:
    """Return a bandwidth in bits per second such as 10Gbit."""
    return _check(_split(text, name, _BITS, "10Gbit or 500Mbit"), name, 1e6, 1e13)


def format_amount(value: float, unit: str = "") -> str:
    """Return a number with a decimal prefix: 1.5 GB, 230 k."""
    for step, prefix in _STEPS:
        if value >= step:
            return (
                f"{value / step:.3g} {prefix}{unit}" if value / step < 1000 else f"{value / step:,.0f} {prefix}{unit}"
            )
    return f"{value:.3g} {unit}".rstrip()


def format_bytes(value: float) -> str:
    """Return a size in bytes: 64 GB."""
    return format_amount(value, "B")


def format_hours(hours: float) -> str:
    """Return a duration: seconds, minutes, hours or days."""
    for limit, factor, unit in ((1 / 60, 3600, "s"), (1, 60, "min"), (48, 1, "h")):
        if hours < limit:
            return f"{hours * factor:.3g} {unit}"
    return f"{hours / 24:,.3g} days" if hours < 24_000 else f"{hours / 24:,.0f} days"
