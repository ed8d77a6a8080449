"""The crawl on a cluster: shards with a data folder each, whose messages travel by signed HTTP.

- `ShardRunner` is the process of one shard: its mailbox, its crawler, its checkpoints. An actor wraps it.
- `CrawlCoordinator` tells all shards what to do: quotas, topology, pause, stop; `CrawlPlan` is its state machine.
- `ClusterShard` implements `periplus.crawl.Shard`; `MailFolder`, `MailSender` and `MailboxServer` carry its messages.
- `ShardCheckpoints` stores what a shard needs to start on another machine.

Delivery. A message is a file in the sender's outbox before a snapshot of the sender reflects what it comes from. It is
posted in order, and acknowledged when it is a file in the receiver's inbox. The sender deletes it when the receiver has
committed it: a checkpoint of the receiver that reflects it is in storage. Numbers make it idempotent, and the numbers
that a state reflects are part of its snapshot. So a link is lost neither with a process nor with a machine: lost are
only pages that no durable checkpoint has, and those are fetched again.

Moves. `resize` begins an epoch of the topology. Each shard ends its requests in flight, exports the hosts that it no
longer owns into its outbox, and writes a snapshot without them; once that is durable they are sent. A shard crawls on
when the hosts of all others have arrived. Hosts move with queues, delays, robots.txt, keys of seen URLs and duplicates.
Then the crawl goes on, and pages of the hosts that moved are forwarded to the stores of their new owners
(`PageForwarder`). Shards that leave run until checkpoints of the others have all of their pages.
"""

from periplus.cluster.crawling.cluster_shard import ClusterShard
from periplus.cluster.crawling.crawl_coordinator import CrawlCoordinator, PlanFile, PlanStore
from periplus.cluster.crawling.crawl_plan import CrawlPlan, CrawlPlanState
from periplus.cluster.crawling.mail_records import ShardPlan, ShardReport
from periplus.cluster.crawling.shard_checkpoints import PlanRecord, ShardCheckpoints
from periplus.cluster.crawling.shard_runner import CheckpointStore, ShardRunner

__all__ = [
    "CheckpointStore",
    "ClusterShard",
    "CrawlCoordinator",
    "CrawlPlan",
    "CrawlPlanState",
    "PlanFile",
    "PlanRecord",
    "PlanStore",
    "ShardCheckpoints",
    "ShardPlan",
    "ShardReport",
    "ShardRunner",
]
