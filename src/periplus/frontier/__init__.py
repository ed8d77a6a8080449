"""Scheduling: which URL is fetched next, and when. Pure state; time is an argument.

In: `FetchRequest`s, and how each fetch ended. Out: the one `FetchRequest` that may be made now, or how long to wait.
Nothing is read or written but spill files.

Every host has a queue in the order of crawl rank, at most one request in flight, and a time before which it is left
alone: the operator's delay, the site's Crawl-delay, a share of its response time, Retry-After, backoff after failures.
Hosts are contacted in the order of these times; those over their budget or their share of the last million requests are
deferred behind the others, and hosts of one domain or address are limited together. The states of a host and the events
between them are a table (`host_states`). What memory does not hold is spilled to disk. No URL is returned twice: 64-bit
fingerprints of all that were ever added are kept in sorted NumPy runs, about 8 bytes each. With `best_first` set, hosts
are contacted by the best URL that waits there. `change_rates` and `best_frequencies` schedule revisits.

    frontier.add(requests)
    request = frontier.next(now)
    frontier.done(request, outcome, now, elapsed)
    data = frontier.dump();  frontier = Frontier.load(data, settings)
"""

from periplus.frontier.best_first import BestFirst
from periplus.frontier.frontier import Frontier
from periplus.frontier.frontier_snapshot import check_frontier
from periplus.frontier.frontier_statistics import FrontierStatistics
from periplus.frontier.host import Host
from periplus.frontier.revisit_schedule import best_frequencies, change_rates, freshness
from periplus.frontier.seen_set import SeenSet

__all__ = [
    "BestFirst",
    "Frontier",
    "FrontierStatistics",
    "Host",
    "SeenSet",
    "best_frequencies",
    "change_rates",
    "check_frontier",
    "freshness",
]
