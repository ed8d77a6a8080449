"""When the bounds of a site are sent to the others: the more documents have changed, the sooner.

Bounds hold for one generation of the index: until newer ones arrive, others ask this site for every query, which costs
messages but no exactness. So a commit of a few pages need not send bounds of all documents. What bounds depend on
besides the documents changes them at once: then they are sent at once.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from periplus.index import folder_statistics
from periplus.sites import ExchangePolicy, SiteBounds, SiteNode, encode_bounds

if TYPE_CHECKING:
    from periplus.index import Index
    from periplus.rank import ExternalSignals
    from periplus.search import IndexShard

__all__ = ["BOUNDS", "SIGNALS", "BoundsSender", "changed_share"]

BOUNDS: Final = "bounds"
SIGNALS: Final = "signals"
"""What scores depend on besides the index: a fingerprint of its version."""
_SINK: Final = "thresholds"
_State = tuple[int, bool, bool]
"""The epoch of collection statistics, and which signals there are."""
Versions = npt.NDArray[np.uint64]


class BoundsSender:
    """Sends the bounds of one site; `step` is one turn. One thread uses it."""

    def __init__(
        self, node: SiteNode, make: "Callable[[Index], SiteBounds]", share: float, seconds: float, least: float = 1.0
    ) -> None:
        """Begin with nothing sent.

        make: returns the bounds of an index; share, seconds: `site.threshold_share`, `site.threshold_seconds`; least:
        seconds between two messages.
        """
        self._node, self._make = node, make
        self._policy = ExchangePolicy(share, seconds, least)
        self._signals: ExternalSignals | None = None
        """Those of the generation that was looked at last."""
        self._versions: Versions | None = None
        """The documents that the bounds which were sent last are of."""
        self._state: _State | None = None
        """What else they depend on."""
        self._now: _State = (0, False, False)
        """The same of the generation that was looked at last."""
        self._renewed = 0.0
        """When bounds that have not changed are sent again, before they are too old to be used."""
        self._changed = 0.0

    def step(self, shard: "IndexShard", now: float) -> bool:
        """Send bounds if they are due; return whether they were sent. now: of `time.monotonic`."""
        signals = shard.signals  # Of each generation, and opened again when clicks, visits or lists have changed.
        if signals is not self._signals:
            self._signals = signals
            self._changed = changed_share(self._versions, document_versions(shard.index))
            self._now = _read_state(shard.index, signals)
            self._node.send_data(_SINK, SIGNALS, signals.version)
        state, index = self._now, shard.index
        if state == self._state and now < self._renewed and not self._policy.is_due(self._changed, now):
            return False
        bounds = self._make(index)
        self._node.send_data(_SINK, BOUNDS, encode_bounds(bounds))
        self._policy.note_sent(now)
        self._versions, self._state, self._changed = document_versions(index), state, 0.0
        self._renewed = now + bounds.valid_seconds / 2
        return True


def _read_state(index: "Index", signals: "ExternalSignals") -> _State:
    statistics = folder_statistics(index.folder)
    epoch = statistics.epoch if statistics is not None else 0
    return epoch, bool(signals.popular or len(signals.visited.keys)), bool(signals.liked)


def document_versions(index: "Index") -> Versions:
    """Return a number for each version of a document of an index, ascending; merging segments does not change them."""
    parts: list[Versions] = [np.zeros(0, np.uint64)]
    for segment in index.segments:
        live = segment.is_live
        fetched = segment.column("fetched")[live].astype(np.float64).view(np.uint64)
        parts.append(segment.column("key")[live] ^ (fetched * np.uint64(0x9E3779B97F4A7C15)))
    return np.sort(np.concatenate(parts))


def changed_share(before: Versions | None, after: Versions) -> float:
    """Return how many documents were added, changed or removed, as a share of all."""
    if before is None:
        return 1.0
    most = max(len(before), len(after))
    return 1.0 - len(np.intersect1d(before, after)) / most if most else 0.0
