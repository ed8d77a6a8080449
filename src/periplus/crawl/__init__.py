"""The crawl loop, its recovery, its shards, and imports that need no network.

In: a data folder, settings and seeds. Out: fetch records in the page store, and statistics while the crawl runs.

    with Crawler(folder, settings, seeds) as crawler:
        crawler.run(on_progress)            # or: while crawler.step(): ...

Every outcome is a `FetchRecord` in the store's log before the frontier is updated. A snapshot names the number of
records that it reflects; after a crash the records after it are replayed, so that only requests in flight are repeated.
`import_warc` and `import_jsonl` write the same records from files.

- `Supervisor(folder, settings, seeds, shards).run()` crawls in several processes. Each shard owns hosts of its own and
  sends the links to other hosts to the shards that own them (`sharding`).
- `CrawlControl(folder)` returns the status of a crawl in another process, and starts, pauses, resumes, stops or resizes
  it. Its figures are also in `crawl/metrics.prom`, in the format of Prometheus.
- `ClusterCrawler(folder, settings, seeds, shard)` is one shard on a machine of its own: `shard` carries its messages,
  and hosts move to and from it while it crawls (`sharding/host_transfer`), followed by their pages (`page_transfer`).
- `url_status(folder, settings, address)` returns what a crawl knows about one URL.
- With `focus.topic` or `focus.pages` set, a crawl prefers pages about a topic (`focus`).
- Pages that others visited (`periplus.signals`) are fetched, or fetched again if they have changed (`reported_visits`).
"""

from periplus.crawl.control import CrawlControl, send_command
from periplus.crawl.crawl_snapshot import check_snapshot
from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.crawl.crawl_status import CrawlStatus
from periplus.crawl.crawler import Crawler
from periplus.crawl.documents.parse_journal import check_journal
from periplus.crawl.hosts.blocked_hosts import BlockedHosts, block_host, blocked_hosts, unblock_host
from periplus.crawl.importer import ImportCount, import_jsonl, import_warc
from periplus.crawl.inspection.failure_examples import FailedRequest, failure_examples
from periplus.crawl.inspection.host_search import find_hosts
from periplus.crawl.inspection.host_view import HostRow
from periplus.crawl.inspection.queue_report import HostQueue, QueuedUrl, host_queue
from periplus.crawl.inspection.url_lookup import UrlStatus, url_status
from periplus.crawl.policies.contact import require_contact
from periplus.crawl.regions.held_listing import held_regions
from periplus.crawl.regions.regions import HeldRegion
from periplus.crawl.sharding.cluster_crawler import ClusterCrawler
from periplus.crawl.sharding.host_transfer import ForwardedPage, HostTransfer, TransferMessage, split_message
from periplus.crawl.sharding.link_forwarder import LinkForwarder
from periplus.crawl.sharding.mailbox import ForeignMessage, ForwardedLink, RobotsRequest, RobotsResponse, ShardMessage
from periplus.crawl.sharding.page_transfer import PageExport
from periplus.crawl.sharding.quotas import Quotas
from periplus.crawl.sharding.shard import Control, Shard, SingleShard
from periplus.crawl.sharding.supervisor import Supervisor
from periplus.crawl.sharding.topology import HostPartitioner, count_shards, restore_topology, select_owned
from periplus.crawl.thumbnails.thumbnail_files import ThumbnailFiles, icon_url
from periplus.crawl.thumbnails.thumbnail_maker import ThumbnailRun, make_thumbnails

__all__ = [
    "BlockedHosts",
    "ClusterCrawler",
    "Control",
    "CrawlControl",
    "CrawlStatistics",
    "CrawlStatus",
    "Crawler",
    "FailedRequest",
    "ForeignMessage",
    "ForwardedLink",
    "ForwardedPage",
    "HeldRegion",
    "HostPartitioner",
    "HostQueue",
    "HostRow",
    "HostTransfer",
    "ImportCount",
    "LinkForwarder",
    "PageExport",
    "QueuedUrl",
    "Quotas",
    "RobotsRequest",
    "RobotsResponse",
    "Shard",
    "ShardMessage",
    "SingleShard",
    "Supervisor",
    "ThumbnailFiles",
    "ThumbnailRun",
    "TransferMessage",
    "UrlStatus",
    "block_host",
    "blocked_hosts",
    "check_journal",
    "check_snapshot",
    "count_shards",
    "failure_examples",
    "find_hosts",
    "held_regions",
    "host_queue",
    "icon_url",
    "import_jsonl",
    "import_warc",
    "make_thumbnails",
    "require_contact",
    "restore_topology",
    "select_owned",
    "send_command",
    "split_message",
    "unblock_host",
    "url_status",
]
