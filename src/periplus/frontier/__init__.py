"""What next, and when: pure state. Time is an argument, and there is no input or output but its own spill files.

In: `FetchRequest`s, and how each fetch ended. Out: the one `FetchRequest` that may be fetched now, or how long to wait.

Every host has its own queue in crawl-rank order, one request under way at most, and a time before which it is left
alone (the operator's delay, the site's Crawl-delay, a share of its response time, Retry-After, back-off after
failures). Hosts take turns by the earliest allowed time; those over their budget or their share of the last million
requests wait behind the others, and hosts of one domain or behind one address are asked a few at a time. What memory
does not hold waits on disk. No URL is given out twice: 64-bit fingerprints of all that was ever added stay in sorted
NumPy runs, about 8 bytes each. With
`best_first` set, hosts are asked by the best URL that waits there (`BestFirst`). `change_rates` and `best_frequencies`
say how often pages are worth another look.

    frontier.add(dues)
    due = frontier.next(now)
    frontier.done(due, outcome, now, elapsed)
    data = frontier.dump();  frontier = Frontier.load(data, settings)
"""

from periplus.frontier.best_first import BestFirst
from periplus.frontier.frontier import Frontier
from periplus.frontier.host_state import FrontierStatistics
from periplus.frontier.revisit_schedule import best_frequencies, change_rates, freshness
from periplus.frontier.seen_set import SeenSet

__all__ = ["BestFirst", "Frontier", "FrontierStatistics", "SeenSet", "best_frequencies", "change_rates", "freshness"]
