"""Many search engines that act as one: a federation of sites, linked by NATS.

A site is a data folder with a crawler, an index and a search page, and a NATS server with JetStream of its own. It
answers when it is cut off from all others. Nothing is shared: what sites know of each other travels as messages.

- `site_topology` has the records of the static configuration: `SiteRecord` (name, place, languages, address, public
  key, certificate) and `SiteTopology`, the sites of a federation, which only grows and is merged record by record.
- `messaging` carries messages. Everybody else sees a `Transport` only:

      transport.request(site, subject, body, deadline)     one question, one answer, within `deadline` seconds
      transport.submit(site, subject, body, deadline)      the same as a `concurrent.futures.Future`
      transport.publish(site, subject, body, deadline)     returns when the other site has the body on its disk
      transport.serve(subject, handler)                    handler(sender, body) -> reply, in a thread
      transport.consume(handler)                           handler(sender, subject, body): acknowledged on return

  `LocalNetwork` has it within one process, for tests, with loss, duplication, reordering, partitions and delays;
  `messaging.nats_transport` over NATS. Every failure of another site is a `SiteUnreachable`.
- On top of it are sinks (`messaging.sinks`): batches, numbered and signed, in an outbox on disk until the other site
  has stored them; applied once in effect; bad ones are quarantined. The names of the sinks are `SINKS`.
- `Liveness` (`messaging.liveness`) says which sites are alive, and what each of them announces (`SiteAnnouncement`).
- `placement` decides which site crawls a host (`GeographicPartitioner.owner`) and which one indexes a page
  (`MasterIndexer.choose`, by the statistics that `read_interests` computes of every site).
- `metric_records` are what sites record of their work (`MetricLog.write`), for `periplus evaluate sites`.
- `forwarding` decides which sites a query is sent to, merges their answers, and replicates what is often asked.

In: a data folder (its folder `site` has the keys, the topology, the outbox and the quarantine) and `[site]` settings.
"""

from periplus.sites.exchange.collection_exchange import CollectionExchange, read_collection
from periplus.sites.exchange.content_exchange import ContentExchange, SharedContent
from periplus.sites.exchange.document_source import TransportSource, serve_documents
from periplus.sites.exchange.master_log import MasterLog, MasterReader, find_master
from periplus.sites.exchange.page_distributor import PageDistributor
from periplus.sites.exchange.received_pages import ReceivedPages, decode_page
from periplus.sites.exchange.received_visits import ReceivedVisits
from periplus.sites.exchange.remote_shards import TransportSites, serve_shard
from periplus.sites.exchange.site_shard import ReceivedUrls, SiteShard, read_received_urls
from periplus.sites.exchange.submissions import ReceivedSubmissions, SubmissionRouter
from periplus.sites.forwarding import (
    FederatedSearcher,
    Federation,
    ForwardingSettings,
    SiteBounds,
    SiteGroup,
    encode_bounds,
    make_site_bounds,
)
from periplus.sites.messaging.batches import Batch, DataItem, PageItem, UrlItem
from periplus.sites.messaging.exchange_policy import ExchangePolicy
from periplus.sites.messaging.liveness import SiteAnnouncement, SiteState
from periplus.sites.messaging.nats_config import JoinAccess, NatsPorts, write_nats_config
from periplus.sites.messaging.nats_server import NatsServer, free_tcp_port
from periplus.sites.messaging.nats_transport import NatsTransport
from periplus.sites.messaging.outbox import Outbox, OutboxReader
from periplus.sites.messaging.site_buckets import SiteBuckets
from periplus.sites.messaging.site_keys import verify_record
from periplus.sites.messaging.transport import LocalNetwork, LocalTransport, Transport
from periplus.sites.metric_log import MetricLog, read_metric_log
from periplus.sites.metric_records import (
    DocumentState,
    ForwardedLinks,
    MetricRecord,
    PageAccess,
    PageFetch,
    PagePlacement,
    QueryAnswer,
    SiteLocation,
    UrlDiscovery,
)
from periplus.sites.placement.distances import distance_between, measure_distances
from periplus.sites.placement.geographic_partitioner import GeographicPartitioner, HostMove, HostOwner, SitePlace
from periplus.sites.placement.geoip import GeoDatabase, HostPlace
from periplus.sites.placement.host_locator import HostLocator, LocatedHost, resolve_host
from periplus.sites.placement.host_owner_file import read_host_owners, write_host_owners
from periplus.sites.placement.interest_builder import InterestBuilder, KnownPage, read_interests
from periplus.sites.placement.interest_statistics import SiteInterests, decode_interests, encode_interests
from periplus.sites.placement.master_indexer import MasterChoice, MasterIndexer, PlacedPage, PlacementWeights
from periplus.sites.placement.page_evidence import WordKeys, identify_languages
from periplus.sites.placement.round_trips import RoundTripReport, RoundTripTable
from periplus.sites.replication import ReplicationSettings, Replicator
from periplus.sites.site_data import DataStore
from periplus.sites.site_folder import SiteConfig, SiteFolder, decode_token, fetch_certificate, new_site_record
from periplus.sites.site_node import SiteNode
from periplus.sites.site_status import PeerStatus, SinkStatus, SiteStatus, read_site_status
from periplus.sites.site_topology import (
    SINKS,
    SITE_NAME_PATTERN,
    Place,
    SiteRecord,
    SiteTopology,
    decode_site_topology,
    encode_site_topology,
)

__all__ = [
    "SINKS",
    "SITE_NAME_PATTERN",
    "Batch",
    "CollectionExchange",
    "ContentExchange",
    "DataItem",
    "DataStore",
    "DocumentState",
    "ExchangePolicy",
    "FederatedSearcher",
    "Federation",
    "ForwardedLinks",
    "ForwardingSettings",
    "GeoDatabase",
    "GeographicPartitioner",
    "HostLocator",
    "HostMove",
    "HostOwner",
    "HostPlace",
    "InterestBuilder",
    "JoinAccess",
    "KnownPage",
    "LocalNetwork",
    "LocalTransport",
    "LocatedHost",
    "MasterChoice",
    "MasterIndexer",
    "MasterLog",
    "MasterReader",
    "MetricLog",
    "MetricRecord",
    "NatsPorts",
    "NatsServer",
    "NatsTransport",
    "Outbox",
    "OutboxReader",
    "PageAccess",
    "PageDistributor",
    "PageFetch",
    "PageItem",
    "PagePlacement",
    "PeerStatus",
    "Place",
    "PlacedPage",
    "PlacementWeights",
    "QueryAnswer",
    "ReceivedPages",
    "ReceivedSubmissions",
    "ReceivedUrls",
    "ReceivedVisits",
    "ReplicationSettings",
    "Replicator",
    "RoundTripReport",
    "RoundTripTable",
    "SharedContent",
    "SinkStatus",
    "SiteAnnouncement",
    "SiteBounds",
    "SiteBuckets",
    "SiteConfig",
    "SiteFolder",
    "SiteGroup",
    "SiteInterests",
    "SiteLocation",
    "SiteNode",
    "SitePlace",
    "SiteRecord",
    "SiteShard",
    "SiteState",
    "SiteStatus",
    "SiteTopology",
    "SubmissionRouter",
    "Transport",
    "TransportSites",
    "TransportSource",
    "UrlDiscovery",
    "UrlItem",
    "WordKeys",
    "decode_interests",
    "decode_page",
    "decode_site_topology",
    "decode_token",
    "distance_between",
    "encode_bounds",
    "encode_interests",
    "encode_site_topology",
    "fetch_certificate",
    "find_master",
    "free_tcp_port",
    "identify_languages",
    "make_site_bounds",
    "measure_distances",
    "new_site_record",
    "read_collection",
    "read_host_owners",
    "read_interests",
    "read_metric_log",
    "read_received_urls",
    "read_site_status",
    "resolve_host",
    "serve_documents",
    "serve_shard",
    "verify_record",
    "write_host_owners",
    "write_nats_config",
]
