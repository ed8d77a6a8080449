"""What the people of a site are interested in: weights of words, languages, regions and hosts, that sites exchange.

Words are hashes of their first letters, hosts are fingerprints: no text travels. What a weight counts is decided where
it is counted (`interest_builder`): nothing that fewer than a threshold of readers had in common.

    words      u64, ascending     word_weights     f32     at most MAX_WORDS
    hosts      u64, ascending     host_weights     f32     at most MAX_HOSTS
    languages, regions            weights by code          at most MAX_CODES each

Weights of a site are shares: each kind sums to 1 at most. So a site cannot attract pages by claiming large numbers;
`readers`, its activity, is compared with that of others within bounds (`master_indexer`).
"""

import math
import re
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.typed_decoding import parse_msgpack

__all__ = [
    "MAX_CODES",
    "MAX_HOSTS",
    "MAX_INTEREST_BYTES",
    "MAX_WORDS",
    "SiteInterests",
    "decode_interests",
    "encode_interests",
    "pack_weights",
    "unpack_weights",
]

MAX_WORDS: Final = 16_384
MAX_HOSTS: Final = 4_096
MAX_CODES: Final = 256
MAX_INTEREST_BYTES: Final = 12 * (MAX_WORDS + MAX_HOSTS) + 16_384
_FORMAT: Final = 1
_CODE: Final = re.compile("[a-z]{2,3}")
_MAX_READERS: Final = 1e12
_SUM_TOLERANCE: Final = 1e-3

Keys = npt.NDArray[np.uint64]
Weights = npt.NDArray[np.float32]


class SiteInterests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The statistics of one site."""

    site: str
    when: float = 0.0
    """When they were computed, in seconds since 1970."""
    readers: float = 0.0
    """Queries, clicks and visits that were counted."""
    words: bytes = b""
    word_weights: bytes = b""
    hosts: bytes = b""
    host_weights: bytes = b""
    languages: dict[str, float] = {}
    regions: dict[str, float] = {}
    """By country code."""
    format: int = _FORMAT


def pack_weights(weights: dict[int, float], most: int) -> tuple[bytes, bytes]:
    """Return the keys with the largest weights, and their shares of all weights, as the bytes of two arrays."""
    total = sum(weights.values())
    best = sorted(weights, key=lambda key: (-weights[key], key))[:most] if total > 0 else []
    keys = sorted(best)
    shares = np.array([weights[key] / total for key in keys], "<f4")
    return np.array(keys, "<u8").tobytes(), shares.tobytes()


def unpack_weights(keys: bytes, weights: bytes) -> tuple[Keys, Weights]:
    """Return keys and weights as arrays."""
    return np.frombuffer(keys, "<u8").astype(np.uint64), np.frombuffer(weights, "<f4").astype(np.float32)


def encode_interests(interests: SiteInterests) -> bytes:
    """Return statistics as the bytes that travel."""
    return msgspec.msgpack.encode(interests)


def decode_interests(data: bytes, sender: str) -> SiteInterests:
    """Return the statistics that a site has sent; raise `BadInput` if they cannot be right."""
    if len(data) > MAX_INTEREST_BYTES:
        raise BadInput(f"The statistics of {sender} have {len(data):,} bytes; {MAX_INTEREST_BYTES:,} are allowed.")
    try:
        interests = parse_msgpack(data, SiteInterests)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"The statistics of {sender} cannot be read: {error}.") from None
    fault = _find_fault(interests, sender)
    if fault:
        raise BadInput(f"The statistics of {sender} are wrong: {fault}.")
    return interests


def _find_fault(interests: SiteInterests, sender: str) -> str:
    """Return what is wrong with statistics; '' if nothing is."""
    if interests.site != sender:
        return f"they are those of {interests.site[:40]!r}"
    if interests.format != _FORMAT:
        return f"their format is {interests.format}, not {_FORMAT}"
    if not (0.0 <= interests.when < 1e11) or not (0.0 <= interests.readers <= _MAX_READERS):
        return "their time or number of readers is out of bounds"
    packed = (
        ("words", interests.words, interests.word_weights, MAX_WORDS),
        ("hosts", interests.hosts, interests.host_weights, MAX_HOSTS),
    )
    for name, raw_keys, raw_weights, most in packed:
        if len(raw_keys) % 8 or len(raw_weights) * 2 != len(raw_keys) or len(raw_keys) // 8 > most:
            return f"there are {len(raw_keys) // 8} {name} with {len(raw_weights) // 4} weights"
        keys, weights = unpack_weights(raw_keys, raw_weights)
        if len(keys) and (keys[0] == 0 or not bool(np.all(keys[1:] > keys[:-1]))):
            return f"the {name} are not in order"
        if not _are_shares(weights):
            return f"the weights of {name} are not shares"
    for name, codes in (("languages", interests.languages), ("regions", interests.regions)):
        if len(codes) > MAX_CODES or not all(_CODE.fullmatch(code) for code in codes):
            return f"the {name} are not codes"
        if not _are_shares(np.array(list(codes.values()), np.float64)):
            return f"the weights of {name} are not shares"
    return ""


def _are_shares(weights: npt.NDArray[np.floating]) -> bool:
    total = float(weights.sum(dtype=np.float64)) if len(weights) else 0.0
    return math.isfinite(total) and bool(np.all(weights >= 0)) and total <= 1.0 + _SUM_TOLERANCE
