"""Inputs for fuzzing: mutations of saved inputs, and texts generated from the tokens of a grammar."""

import random
from collections.abc import Callable, Sequence

__all__ = ["MAX_INPUT", "generate", "mutate"]

MAX_INPUT = 1 << 16
"""Bytes of an input; longer ones are cut."""
_NUMBERS = (b"0", b"-1", b"1", b"2147483648", b"4294967296", b"9223372036854775808", b"1e309", b"NaN", b"\xc2\xb2")
_BYTES = (
    *(b"\0", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xef\xbb\xbf", b"\r", b"\n"),
    *(b"\xc2\xad", b"\xe2\x80\xae"),
)


def _flip(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at = chance.randrange(len(data))
    piece = chance.choice((chance.randbytes(chance.choice((1, 2, 4, 8))), *_BYTES))
    data[at : at + len(piece)] = piece


def _delete(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.choice((1, 2, 8, 64, 512))]


def _cut(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    del data[chance.randrange(len(data)) :]


def _repeat(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at = chance.randrange(len(data))
    piece = bytes(data[at : at + chance.choice((1, 4, 16, 64))])
    data[at:at] = piece * chance.choice((1, 2, 10, 100, 1000))


def _insert(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice((*_BYTES, *_NUMBERS))


def _splice(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    other = chance.choice(others)
    if other:
        begin = chance.randrange(len(other))
        at = chance.randrange(len(data) + 1)
        data[at : at + chance.choice((0, 0, 16))] = other[begin : begin + chance.choice((4, 32, 256, 4096))]


def _swap(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    a, b = sorted((chance.randrange(len(data)), chance.randrange(len(data))))
    size = min(b - a, len(data) - b, 64)
    data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


def _number(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    """Replace a number of the text by another."""
    digits = [at for at, byte in enumerate(data[:4096]) if 48 <= byte <= 57]
    if digits:
        at = chance.choice(digits)
        data[at : at + 1] = chance.choice(_NUMBERS)


_MUTATIONS: tuple[Callable[[bytearray, random.Random, Sequence[bytes]], None], ...] = (
    *(_flip, _overwrite, _delete, _cut, _repeat, _insert, _splice, _splice, _swap, _number),
)


def mutate(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Return an input like `data`, changed in a few ways; `others` may lend pieces."""
    changed = bytearray(data[:MAX_INPUT] or b" ")
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        chance.choice(_MUTATIONS)(changed, chance, others)
        if not changed:
            changed += b" "
    return bytes(changed[:MAX_INPUT])


def generate(tokens: Sequence[bytes], chance: random.Random) -> bytes:
    """Return a text of tokens: a random sequence, in which short runs are nested or repeated."""
    parts: list[bytes] = []
    for _ in range(chance.choice((1, 3, 8, 20, 60))):
        piece = b"".join(chance.choice(tokens) for _ in range(chance.randint(1, 4)))
        parts.append(piece * chance.choice((1, 1, 1, 1, 2, 20, 300)))
    text = b"".join(parts)
    if chance.random() < 0.1:
        half = len(parts) // 2
        text = b"".join(parts[:half]) * 50 + b"".join(reversed(parts[half:])) * 50
    return text[:MAX_INPUT]
