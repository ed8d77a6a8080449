"""Documents given by people and programs: the inbox, the publisher that feeds a live index, deletions that last.

In: pages handed in through the API or the command line. Out: the same pages in the store and in the index.
`Inbox` holds a page from its acknowledgement until it is in both; `publishing` and `feed_inbox` move it there.
`Deleted` is the list of pages that no build indexes again.
"""

from periplus.publish.deletions import Deleted
from periplus.publish.inbox import Inbox, page_to_publish
from periplus.publish.publisher import feed_inbox, publishing

__all__ = ["Deleted", "Inbox", "feed_inbox", "page_to_publish", "publishing"]
