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


def split_lines(
    texts: Sequence[bytes], scopes: Sequence[Sequence[int]], least: int, counts: Counter[tuple[int, bytes]]
) -> list[tuple[bytes, bytes]]:
    """Return the own and the repeated lines of each text."""
    parts = []
    for text, own_scopes in zip(texts, scopes, strict=True):
        own, repeated = [], []
        lines = text.split(b"\n")
        for raw in lines[:-1] if not lines[-1] else lines:
            line = _line(raw)
            share = 0.5 if len(line) < 20 else 0.25
            is_repeated = line and any(
                counts[scope, line] >= 5 and counts[scope, line] >= share * counts[scope, b""] for scope in own_scopes
            )
            (repeated if is_repeated else own).append(line if is_repeated else raw)
        joined = b"\n".join(own)
        keeps = bool(repeated) and len(joined) >= least
        parts.append((joined, b"\n".join(repeated)) if keeps else (text, b""))
    return parts
