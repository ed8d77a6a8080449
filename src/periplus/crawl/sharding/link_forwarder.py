"""Which requests a shard keeps, and which it forwards as links to the shards that own their hosts."""

from collections.abc import Callable
from typing import Final

from periplus.crawl.sharding.mailbox import ForwardedLink, ShardMessage
from periplus.records import FetchRequest

__all__ = ["LinkForwarder"]

_MAX_SENT_KEYS: Final = 300_000
"""URLs that are remembered as sent, so that they are not sent again."""


class LinkForwarder:
    """Forwards each link once, as far as it remembers; the frontier of the receiver knows one that comes again."""

    def __init__(self) -> None:
        self._sent: set[int] = set()

    def split(
        self,
        requests: list[FetchRequest],
        lists: set[int],
        number: int,
        owner: Callable[[str], int],
        message_for: Callable[[int], ShardMessage],
    ) -> list[FetchRequest]:
        """Return the requests for hosts of shard `number`; add the others to the messages for their owners.

        lists: keys of sitemaps and feeds.
        """
        own = []
        for request in requests:
            address = request.address
            shard = owner(address.host)
            if shard == number:
                own.append(request)
            elif address.key not in self._sent:
                if len(self._sent) >= _MAX_SENT_KEYS:
                    self._sent.clear()
                self._sent.add(address.key)
                link = ForwardedLink(address.url, request.depth, request.rank, request.hops, address.key in lists)
                message_for(shard).links.append(link)
        return own

    def forget(self) -> None:
        """Forget what was sent: hosts have moved."""
        self._sent.clear()
