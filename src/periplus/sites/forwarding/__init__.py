"""Query forwarding between the sites of a federation: exact answers, asking only sites that can improve them.

A federation is a sharded collection in which a remote shard need not be asked. In: a query, the index of this site, and
what other sites have sent: dictionaries (`search.sharding`) and bounds (`SiteBounds`). Out: the results, in the order
of one index over all sites, and a `FederationRecord` that says who was asked and why.

    make_site_bounds, encode_bounds     what a site sends to another: what no score there can exceed
    Federation                          what a site knows of the others: bounds, trust, known queries, copies
    SiteGroup, RemoteSites              how sites are reached
    FederatedSearcher                   answers queries
    decide_sites                        which sites need not be asked: the argument is in `forwarding_decision`

docs/decisions/057 has the measurements.
"""

from periplus.sites.forwarding.federated_searcher import FederatedSearcher
from periplus.sites.forwarding.federation import (
    Federation,
    ForwardingSettings,
    RemoteSite,
    RemoteSiteStatus,
    ReplicaSet,
    ReplicaShard,
)
from periplus.sites.forwarding.federation_record import FederationRecord, SiteOutcome
from periplus.sites.forwarding.forwarding_decision import Decision, decide_sites
from periplus.sites.forwarding.site_bounds import (
    SiteBounds,
    copies_version,
    decode_bounds,
    encode_bounds,
    make_site_bounds,
)
from periplus.sites.forwarding.site_group import RemoteSites, SiteGroup, SiteReply
from periplus.sites.forwarding.site_trust import SiteTrust, TrustStatus

__all__ = [
    "Decision",
    "FederatedSearcher",
    "Federation",
    "FederationRecord",
    "ForwardingSettings",
    "RemoteSite",
    "RemoteSiteStatus",
    "RemoteSites",
    "ReplicaSet",
    "ReplicaShard",
    "SiteBounds",
    "SiteGroup",
    "SiteOutcome",
    "SiteReply",
    "SiteTrust",
    "TrustStatus",
    "copies_version",
    "decide_sites",
    "decode_bounds",
    "encode_bounds",
    "make_site_bounds",
]
