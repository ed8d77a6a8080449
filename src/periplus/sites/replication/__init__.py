"""Reactive replication: documents of other sites that are often results here are copied, and answered for locally.

In: the results of other sites, counted (`ReplicaDemand`). Out: copies in a folder for each site (`ReplicaStore`), as a
`ReplicaSet` that forwarding uses. What travels is the indexed form of documents (`DocumentSlice`), so that copies have
exactly the scores that they have at their site. `plan_replication` decides by demand and a budget of bytes; bounds that
a site makes for another leave out what that one has a copy of (personalised thresholds). See docs/decisions/057.
"""

from periplus.sites.replication.replica_demand import DocumentDemand, ReplicaDemand
from periplus.sites.replication.replica_policy import (
    ReplicaChange,
    ReplicaEntry,
    ReplicationSettings,
    plan_replication,
)
from periplus.sites.replication.replica_shard import IndexReplica
from periplus.sites.replication.replica_slices import (
    MAX_SLICE_DOCUMENTS,
    DocumentSlice,
    decode_slice,
    encode_slice,
    make_slice,
)
from periplus.sites.replication.replica_store import ReplicaStore
from periplus.sites.replication.replicator import DocumentSource, ReplicationStatus, Replicator

__all__ = [
    "MAX_SLICE_DOCUMENTS",
    "DocumentDemand",
    "DocumentSlice",
    "DocumentSource",
    "IndexReplica",
    "ReplicaChange",
    "ReplicaDemand",
    "ReplicaEntry",
    "ReplicaStore",
    "ReplicationSettings",
    "ReplicationStatus",
    "Replicator",
    "decode_slice",
    "encode_slice",
    "make_slice",
    "plan_replication",
]
