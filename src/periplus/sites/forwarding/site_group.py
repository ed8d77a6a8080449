"""The sites of a federation as the shards of a collection: this one is called, the others are sent requests."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from periplus.errors import PeriplusError
from periplus.index import CollectionDictionary, SegmentDictionary
from periplus.search import Shard, StatisticsAnswer, StatisticsQuestion
from periplus.sites.forwarding.reply_check import is_well_formed
from periplus.sites.forwarding.site_bounds import SiteBounds

__all__ = ["RemoteSites", "SiteGroup", "SiteReply"]


class SiteReply(NamedTuple):
    """What a site replied, and after how many seconds."""

    reply: Any
    seconds: float


class RemoteSites(Protocol):
    """Sends requests to other sites. Messages decide how: NATS between machines, plain calls in tests."""

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, SiteReply]:
        """Send each site its request for a method of `SHARD_METHODS`, at the same time; return the replies by site.

        A site that does not answer within `seconds`, or whose answer cannot be decoded, is missing in what is returned.
        """
        ...


class SiteGroup:
    """A `ShardGroup` of the sites of a federation, numbered in an order that all sites agree on."""

    def __init__(self, own: int, local: Shard, remote: RemoteSites, count: int) -> None:
        """Join the shard of this site, which is number `own`, with the others."""
        self.own = own
        self.local = local
        self.remote = remote
        self._count = count
        self.bounds: dict[int, SiteBounds] = {}
        """Bounds that are valid now, by site: they say which terms a site has."""

    @property
    def count(self) -> int:
        """How many sites there are."""
        return self._count

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Call the local shard, and send other sites their requests; replies that cannot be used are missing."""
        replies: dict[int, Any] = {}
        others: dict[int, Any] = {}
        for site, request in requests.items():
            if site == self.own:
                continue
            if isinstance(request, StatisticsQuestion) and self._has_nothing(site, request):
                replies[site] = _no_counts(request)
            else:
                others[site] = request
        sent = self.remote.call(method, others, seconds) if others else {}
        for site, answer in sent.items():
            if site in others and self._is_usable(others[site], answer.reply):
                replies[site] = answer.reply
        if self.own in requests:
            replies[self.own] = getattr(self.local, method)(requests[self.own])
        return replies

    def _has_nothing(self, site: int, question: StatisticsQuestion) -> bool:
        """Return whether a site has none of what a question counts, by the terms that its bounds have."""
        bounds = self.bounds.get(site)
        if bounds is None or question.filters or question.links or question.documents:
            return False
        return (
            not any(bounds.has_phrase(terms) for terms, _ in question.phrases)
            and not any(bounds.have_all(pair) for pair in question.cooccurrences)
            and not any(bounds.have_all((term,)) for term, _ in question.language_terms)
        )

    @staticmethod
    def _is_usable(request: Any, reply: Any) -> bool:
        if isinstance(reply, SegmentDictionary):
            try:
                CollectionDictionary([reply], [np.zeros(0, np.int64)])
            except (PeriplusError, ValueError, IndexError):
                return False
        return is_well_formed(request, reply)


def _no_counts(question: StatisticsQuestion) -> StatisticsAnswer:
    return StatisticsAnswer(
        (0,) * len(question.phrases),
        (False,) * len(question.language_terms),
        (0,) * len(question.cooccurrences),
        (),
        (),
        (),
    )
