"""Aliases: keys of redirects, duplicates and variants, and the pages that they lead to, on whichever shard."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.exchange.rounds import Columns, Part, Program, request_columns
from periplus.graph.record_table import Keys, References

__all__ = ["Aliases", "look_up", "resolve_aliases"]

_MAX_HOPS: Final = 8
"""Longest chain of redirects and duplicates that is followed."""


class Aliases(NamedTuple):
    """The aliases of a shard."""

    keys: Keys
    """Sorted."""
    targets: Keys
    """For each alias, the key of the page it leads to."""
    owners: npt.NDArray[np.int16]
    """For each alias, the shard that owns that page."""


def resolve_aliases(
    part: Part, pages: Keys, canonical: References, moved: Keys, leads_to: References
) -> Program[Aliases]:
    """Return the aliases of a shard, and the page each leads to. Chains that end nowhere, or in a cycle, are left out.

    pages, moved: sorted keys of pages, and of redirects and duplicates.
    """
    targets = yield from _canonical_targets(part, pages, canonical, moved, leads_to)
    ends = yield from _follow_redirects(part, leads_to, moved, leads_to)

    def find_targets(columns: Columns) -> Columns:
        is_page, index = look_up(pages, columns["keys"])
        if not len(pages):
            return {"pages": is_page, "keys": columns["keys"], "owners": columns["sender"].astype(np.int16)}
        return {"pages": is_page, "keys": targets.keys[index], "owners": targets.owners[index]}

    answers, _ = yield from request_columns(part, "aliases", ends.owners, {"keys": ends.keys}, find_targets)
    is_page = answers["pages"]
    keys = np.concatenate((pages, moved[is_page]))
    order = np.argsort(keys)
    return Aliases(
        keys[order],
        np.concatenate((targets.keys, answers["keys"][is_page]))[order],
        np.concatenate((targets.owners, answers["owners"][is_page]))[order],
    )


def _canonical_targets(
    part: Part, pages: Keys, canonical: References, moved: Keys, leads_to: References
) -> Program[References]:
    """Return the canonical page of each page: itself, unless it names a page that represents itself."""
    variants = np.flatnonzero(canonical.keys != pages)
    ends = yield from _follow_redirects(part, canonical.select(variants), moved, leads_to)
    is_own = np.ones(len(pages), np.bool_)
    is_own[variants] = ends.keys == pages[variants]

    def find_representatives(columns: Columns) -> Columns:
        # A canonical page that names a third one is ignored: no chains, and no cycles.
        is_page, index = look_up(pages, columns["keys"])
        return {"valid": is_page & is_own[index] if len(pages) else is_page}

    answers, _ = yield from request_columns(
        part, "canonical pages", ends.owners, {"keys": ends.keys}, find_representatives
    )
    keys, owners = pages.copy(), np.full(len(pages), part.number, np.int16)
    valid = answers["valid"]
    keys[variants[valid]], owners[variants[valid]] = ends.keys[valid], ends.owners[valid]
    return References(keys, owners)


def _follow_redirects(part: Part, start: References, moved: Keys, leads_to: References) -> Program[References]:
    """Replace references that have moved, repeatedly."""
    keys, owners = start.keys.copy(), start.owners.copy()
    pending = np.arange(len(keys))

    def follow(columns: Columns) -> Columns:
        has_moved, index = look_up(moved, columns["keys"])
        if not len(moved):
            return {"count": has_moved, "keys": columns["keys"], "owners": columns["sender"].astype(np.int16)}
        return {"count": has_moved, "keys": leads_to.keys[index], "owners": leads_to.owners[index]}

    for _ in range(_MAX_HOPS):
        answers, (total,) = yield from request_columns(
            part, "redirects", owners[pending], {"keys": keys[pending]}, follow
        )
        if not total:
            break
        has_moved = answers["count"]
        pending = pending[has_moved]
        keys[pending], owners[pending] = answers["keys"][has_moved], answers["owners"][has_moved]
    return References(keys, owners)


def look_up(sorted_keys: Keys, keys: Keys) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return whether each key is among `sorted_keys`, and at which index."""
    if not len(sorted_keys):
        return np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int64)
    index = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return sorted_keys[index] == keys, index
