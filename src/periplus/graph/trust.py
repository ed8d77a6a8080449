"""Whom to trust, and how much of each page's rank comes from elsewhere: its spam mass (Gyöngyi and others, 2006).

Trust begins with hosts: those of the operator's file; else the seeds of the crawl; else hosts that several unrelated
domains link to. It flows along links between hosts. A host that has much less of it than its rank would suggest is
lifted by hosts that nobody trusts. The rank of a page is then parted by origin: what pages of trusted hosts give it,
directly or from afar, and the rest, which as a share of the whole is its spam mass.
"""

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadFile, BadUrl
from periplus.fingerprint import fingerprint_text
from periplus.graph.nodes import Nodes
from periplus.graph.ranking import Vector
from periplus.store import open_text
from periplus.url import address

__all__ = ["host_trust", "seed_hosts"]

_FULL: Final = 0.2
"""A host with this share of the trust that its rank would suggest is trusted fully; below, in proportion."""
_FEWEST_HOSTS: Final = 10
"""In a smaller web nobody can be told from his neighbours."""
_DOMAINS: Final = 2
"""Unrelated domains that link to a host which is trusted without being told so."""
_MOST_LINES: Final = 1_000_000


def seed_hosts(nodes: Nodes, between: npt.NDArray[np.uint64], trusted: str) -> Vector | None:
    """Give each host its share of the trust to begin with; None when nothing tells the hosts apart.

    `between` has a pair for each link between hosts.
    """
    count = len(nodes.host_keys)
    if trusted:
        return _shared(_listed(nodes, Path(trusted)))
    if count < _FEWEST_HOSTS:
        return None
    seeds = np.zeros(count, np.bool_)
    seeds[nodes.hosts[nodes.seeds]] = True
    if not 0 < seeds.sum() <= count // 2:
        seeds = _linked_by_many(nodes, between)
    return _shared(seeds) if 0 < seeds.sum() < count else None


def _shared(chosen: npt.NDArray[np.bool_]) -> Vector:
    return chosen / max(1, int(chosen.sum()))


def _listed(nodes: Nodes, path: Path) -> npt.NDArray[np.bool_]:
    """Read hosts and URLs from a file; a URL speaks for its host."""
    names: set[int] = set()
    for number, line in enumerate(open_text(path)):
        text = line.decode("utf-8", "replace").strip()
        if text and not text.startswith("#"):
            names.add(_host_key(text, path, number + 1))
        if len(names) > _MOST_LINES:
            raise BadFile(f"{path} has more than {_MOST_LINES:,} hosts.")
    wanted = np.array(sorted(names), np.uint64)
    found = np.isin(nodes.host_keys, wanted)
    if not found.any():
        raise BadFile(f"No host of {path} is among the pages.", "Check graph.trusted, or crawl these hosts.")
    return found


def _host_key(text: str, path: Path, number: int) -> int:
    try:
        found = address(text if "://" in text else f"http://{text}/")
    except BadUrl as error:
        raise BadFile(f"{path} has neither a host nor a URL on line {number}.") from error
    return fingerprint_text(found.url.partition("://")[2].partition("/")[0])


def _linked_by_many(nodes: Nodes, between: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Find hosts that several domains link to without being linked back, leaving out hosts that are none themselves.

    Hosts that only link to each other, and layers of hosts that only link upwards, fall away one after the other.
    """
    sources = (between & np.uint64(0xFFFFFFFF)).astype(np.int64)
    targets = (between >> np.uint64(32)).astype(np.int64)
    back = sources.astype(np.uint64) << np.uint64(32) | targets.astype(np.uint64)
    one_way = ~np.isin(back, between) & (nodes.domains[sources] != nodes.domains[targets])
    sources, targets = sources[one_way], targets[one_way]
    kept = np.ones(len(nodes.host_keys), np.bool_)
    while True:
        live = kept[sources] & kept[targets]
        votes = np.unique(targets[live] << 32 | nodes.domains[sources[live]])
        enough = np.bincount(votes >> 32, minlength=len(kept)) >= _DOMAINS
        if (enough[kept]).all():
            return kept
        kept &= enough


def host_trust(ranks: Vector, trusted: Vector) -> Vector:
    """Compare what hosts have of all trust with what they have of all rank; give 0..1 for each."""
    share = trusted / (float(trusted.sum()) or 1.0)
    expected = ranks / (float(ranks.sum()) or 1.0)
    return np.minimum(1.0, share / np.maximum(expected, 1e-300) / _FULL)
