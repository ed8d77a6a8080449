"""Repeated lines as they are described on paper: the twin of the kernel."""

import re
from collections import Counter
from collections.abc import Sequence


def _line(raw: bytes) -> bytes:
    """Return a line without white space around it; b'' if it has no letter or digit."""
    stripped = raw.strip(bytes(range(33)))
    return stripped if re.search(rb"[0-9A-Za-z\x80-\xff]", stripped) else b""


def count_lines(texts: Sequence[bytes], scopes: Sequence[Sequence[int]]) -> Counter[tuple[int, bytes]]:
    """Count the pages of each line in each scope, and under b'' those of the scope."""
    counts: Counter[tuple[int, bytes]] = Counter()
    for text, own_scopes in zip(texts, scopes, strict=True):
        lines = {_line(raw) for raw in text.split(b"\n")} | {b""}
        counts.update((scope, line) for scope in set(own_scopes) for line in lines)
    return counts


def _is_own(line: bytes, own_scopes: Sequence[int], counts: Counter[tuple[int, bytes]]) -> bool:
    share = 0.5 if len(line) < 20 else 0.25
    return bool(line) and not any(
        counts[scope, line] >= 5 and counts[scope, line] >= share * counts[scope, b""] for scope in own_scopes
    )


def split_lines(
    texts: Sequence[bytes], scopes: Sequence[Sequence[int]], least: int, counts: Counter[tuple[int, bytes]]
) -> list[tuple[bytes, bytes]]:
    """Return the own lines of each text with all between them, and the repeated lines before and behind them."""
    parts = []
    for text, own_scopes in zip(texts, scopes, strict=True):
        lines = text.split(b"\n")
        lines = lines[:-1] if not lines[-1] else lines
        numbers = [number for number, raw in enumerate(lines) if _is_own(_line(raw), own_scopes, counts)]
        first, last = (numbers[0], numbers[-1]) if numbers else (0, len(lines))
        is_repeated = [bool(_line(raw)) and not first <= number <= last for number, raw in enumerate(lines)]
        own = [raw for raw, is_outside in zip(lines, is_repeated, strict=True) if not is_outside]
        repeated = [_line(raw) for raw, is_outside in zip(lines, is_repeated, strict=True) if is_outside]
        joined = b"\n".join(own)
        keeps = bool(repeated) and len(joined) >= least
        parts.append((joined, b"\n".join(repeated)) if keeps else (text, b""))
    return parts
