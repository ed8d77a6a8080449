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
- `placement` decides which site crawls a host and which one indexes a page.
- `forwarding` decides which sites a query is sent to, merges their answers, and replicates what is often asked.

In: a data folder (its folder `site` has the keys, the topology, the outbox and the quarantine) and `[site]` settings.
"""

from periplus.sites.messaging.transport import LocalNetwork, LocalTransport, Transport
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
    "LocalNetwork",
    "LocalTransport",
    "Place",
    "SiteRecord",
    "SiteTopology",
    "Transport",
    "decode_site_topology",
    "encode_site_topology",
]
