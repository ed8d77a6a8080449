"""The same shards on many machines. Ray is the control plane, HTTP and framed sockets are the data plane.

A cluster shard is a data folder. Its truth is in storage (`periplus.storage`), local disks are caches:

    STORAGE/cluster.json             `ClusterTopology`: changed by the coordinator only, by conditional writes
    STORAGE/shards/NN/...            the files of shard NN as on disk, manifests last
    STORAGE/statistics/EPOCH/...     collection statistics and dictionaries of an epoch

- `cluster_topology` has the record that says which shards there are, and its checks.
- `wire` signs and checks what processes send each other. Every message is bounded, signed with the cluster's key
  (`[cluster] key_file`) and carries the version of Periplus; another version is refused, and both are named.
- `ranking` builds the link graph of all shards, round by round, equal to that of one machine.
- `serving` has the servers of shards and the brokers that ask them.
- `control` is the only part that imports Ray, and only when it is used.

What is not Ray is plain classes and processes, so that it runs, and is tested, without Ray.
"""

from periplus.cluster.cluster_topology import (
    ClusterTopology,
    CoordinatorTerm,
    ShardRecord,
    decode_topology,
    encode_topology,
    new_topology,
)
from periplus.cluster.serving.broker import Broker
from periplus.cluster.serving.generation_switch import close_generation, open_generation
from periplus.cluster.serving.publication_log import PublicationLog
from periplus.cluster.serving.replica_group import GroupStatistics, read_health
from periplus.cluster.serving.serving_table import (
    ServingTable,
    ShardEntry,
    TableReader,
    decode_table,
    encode_table,
    format_address,
    write_table,
)
from periplus.cluster.serving.shard_messages import ShardHealth
from periplus.cluster.serving.shard_server import ShardServer
from periplus.cluster.wire.peer_connection import PeerAddress
from periplus.cluster.wire.signing import (
    SIGNATURE_HEADER,
    ChannelKey,
    ClusterKey,
    ReplayGuard,
    derive_channel,
    load_key,
    make_key,
    new_nonce,
    read_frame,
    read_header,
    sign_frame,
    sign_header,
)

__all__ = [
    "SIGNATURE_HEADER",
    "Broker",
    "ChannelKey",
    "ClusterKey",
    "ClusterTopology",
    "CoordinatorTerm",
    "GroupStatistics",
    "PeerAddress",
    "PublicationLog",
    "ReplayGuard",
    "ServingTable",
    "ShardEntry",
    "ShardHealth",
    "ShardRecord",
    "ShardServer",
    "TableReader",
    "close_generation",
    "decode_table",
    "decode_topology",
    "derive_channel",
    "encode_table",
    "encode_topology",
    "format_address",
    "load_key",
    "make_key",
    "new_nonce",
    "new_topology",
    "open_generation",
    "read_frame",
    "read_header",
    "read_health",
    "sign_frame",
    "sign_header",
    "write_table",
]
