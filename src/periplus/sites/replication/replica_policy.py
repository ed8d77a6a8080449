"""Which documents of other sites to copy, and which copies to remove: a pure function of demand, copies and budget.

While less than `free_share` of the budget is used, every document that was a result is copied, and no copy is removed:
room that nothing else needs costs nothing. Beyond that, a document is copied once it was a result `add_count` times.
Copies are removed, the least frequent first, until that share is free again: those whose count has fallen below
`keep_share` of `add_count`, after they were there for `min_periods`. In a period in which any are, nothing is copied
into the room that they leave but what was a result often enough. A copy is also removed when a document that is asked
for `replace_ratio` times as often needs its room. Between these limits nothing moves, so that documents do not come and
go. Documents that a site is the master of are no copies: they are not in any of these tables,
and nothing here can remove them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from periplus.sites.replication.replica_demand import DocumentDemand

__all__ = ["ReplicaChange", "ReplicaEntry", "ReplicationSettings", "plan_replication"]


class ReplicationSettings(msgspec.Struct, frozen=True):
    """How documents are replicated."""

    budget_bytes: int = 256 << 20
    """Bytes of all copies together."""
    max_documents: int = 1 << 31
    """Copies of all sites together."""
    free_share: float = 0.5
    """Share of the budget up to which every result is copied, and nothing removed."""
    add_count: float = 3.0
    """Results after which a document is copied beyond that."""
    keep_share: float = 0.25
    """Share of `add_count` below which a copy is removed."""
    replace_ratio: float = 2.0
    """How many times as frequent a document must be to replace a copy."""
    min_periods: int = 2
    """Periods that a copy stays at least."""
    max_change: int = 1_000
    """Documents that are copied in one period at most."""


class ReplicaEntry(NamedTuple):
    """A copy: its size in bytes, and for how many periods it has been there."""

    bytes: int
    periods: int


class ReplicaChange(NamedTuple):
    """What to copy and what to remove: site and key of each document."""

    add: tuple[tuple[str, int], ...]
    remove: tuple[tuple[str, int], ...]


def plan_replication(
    demand: Sequence[DocumentDemand],
    copies: Mapping[tuple[str, int], ReplicaEntry],
    settings: ReplicationSettings,
    document_bytes: int,
) -> ReplicaChange:
    """Return the changes of one period.

    demand: the most frequent first; documents that are not in it are not asked for. document_bytes: what a copy is
    expected to take, before it is there.
    """
    counts = {(item.site, item.key): item.count for item in demand}
    least = settings.add_count * settings.keep_share
    settled = {key: entry for key, entry in copies.items() if entry.periods >= settings.min_periods}
    used = sum(entry.bytes for entry in copies.values())
    free_bytes, free_documents = (
        settings.free_share * settings.budget_bytes,
        settings.free_share * settings.max_documents,
    )
    has_room = used < free_bytes and len(copies) < free_documents
    # Copies by how often they are asked for: the least frequent is the first to make room.
    rest = sorted(settled, key=lambda key: (counts.get(key, 0.0), key))
    removed: list[tuple[str, int]] = []
    while rest and counts.get(rest[0], 0.0) < least:
        if used < free_bytes and len(copies) - len(removed) < free_documents:
            break
        used -= copies[rest[0]].bytes
        removed.append(rest.pop(0))
    room = settings.max_documents - len(copies) + len(removed)
    added: list[tuple[str, int]] = []
    for item in demand:
        key = (item.site, item.key)
        is_free = has_room and used + document_bytes < free_bytes and len(copies) + len(added) < free_documents
        if (item.count < settings.add_count and not is_free) or len(added) >= settings.max_change:
            break
        if key in copies:
            continue
        while (used + document_bytes > settings.budget_bytes or room < 1) and rest:
            if counts.get(rest[0], 0.0) * settings.replace_ratio > item.count:
                break
            removed.append(rest[0])
            used -= copies[rest.pop(0)].bytes
            room += 1
        if used + document_bytes > settings.budget_bytes or room < 1:
            break
        added.append(key)
        used += document_bytes
        room -= 1
    return ReplicaChange(tuple(added), tuple(removed))
