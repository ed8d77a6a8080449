"""The loop that joins url, robots, frontier, fetch, parse and store; its recovery; and crawls without a network.

In: a data folder, settings and seeds. Out: visits in the page store, and statistics while it runs.

    with Crawler(folder, settings, seeds) as crawler:
        crawler.run(on_progress)            # or: while crawler.step(): ...

Every outcome is a `FetchRecord` in the store's log before the frontier learns of it. The frontier's snapshot names the
number of visits that it reflects; after a crash the visits after it are replayed, so that only what was under way
is fetched again. `import_warc` and `import_jsonl` write the same visits from files. `CrawlControl(folder)` asks a crawl
that runs in another process how it is (`status`), and lets it `pause`, `resume` or `stop`; its figures are in
`crawl/metrics.prom` too, as Prometheus reads them.

`Supervisor(folder, settings, seeds, shards).run()` does the same in several processes, each with hosts of its own
(`shards.py`), which send each other the links that are not theirs (`parcels.py`, `neighbours.py`).

`take_visits(folder, [VisitReport(url, count, digest, when), ...])` queues visits that others made, durably and from any
process, for the crawl of that folder; `import_proxy_logs` queues those of proxies, `read_popularity` counts them and
`read_rising` gives the pages that are visited more than they were.
`find_url` says where a crawl is with one URL. With `focus.topic` or `focus.pages` set, a crawl keeps to a topic
(`focus.py`): a classifier (`topic.py`) and hub scores (`distill.py`) decide which links promise most.
"""

from periplus.crawl.control import CrawlControl, tell
from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.crawl.crawl_status import Status
from periplus.crawl.crawler import Crawler
from periplus.crawl.importer import ImportCount, import_jsonl, import_warc
from periplus.crawl.sharding.supervisor import Supervisor
from periplus.crawl.sharding.topology import count_shards
from periplus.crawl.url_status import Whereabouts, find_url

__all__ = [
    "CrawlControl",
    "CrawlStatistics",
    "Crawler",
    "ImportCount",
    "Status",
    "Supervisor",
    "Whereabouts",
    "count_shards",
    "find_url",
    "import_jsonl",
    "import_warc",
    "tell",
]
