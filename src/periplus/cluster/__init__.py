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

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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
from periplus.cluster.serving.publication_collection import (
    CollectedPublications,
    append_collected,
    collect_publications,
    join_collected,
    new_attempt,
    remove_built,
    save_set,
)
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
    ClusterKey,
    ReplayGuard,
    load_key,
    make_key,
    new_nonce,
    read_header,
    sign_header,
)

if TYPE_CHECKING:
    from periplus.cluster.control.coordinator import Duty
    from periplus.cluster.control.coordinator_actor import ClusterClient, key_path, start_coordinator
    from periplus.cluster.control.crawl_duty import CrawlDuty
    from periplus.cluster.control.crawl_worker import CrawlWorker
    from periplus.cluster.control.generation_store import list_generations, remove_generations, store_generation
    from periplus.cluster.control.local_nodes import (
        LocalCluster,
        read_local_cluster,
        start_local_nodes,
        stop_local_nodes,
    )
    from periplus.cluster.control.placement import Unit
    from periplus.cluster.control.ray_host import RayHost
    from periplus.cluster.control.ray_runtime import ray_session
    from periplus.cluster.control.replica_worker import ReplicaWorker
    from periplus.cluster.control.serving_duty import ServingDuty
    from periplus.cluster.control.topology_store import create_topology
    from periplus.cluster.control.unit_actor import UnitSpec, WorkerFactory
    from periplus.cluster.ranking import RoundStore, ShardRanker

__all__ = [
    "SIGNATURE_HEADER",
    "Broker",
    "ClusterClient",
    "ClusterKey",
    "ClusterTopology",
    "CollectedPublications",
    "CoordinatorTerm",
    "CrawlDuty",
    "CrawlWorker",
    "Duty",
    "GroupStatistics",
    "LocalCluster",
    "PeerAddress",
    "PublicationLog",
    "RayHost",
    "ReplayGuard",
    "ReplicaWorker",
    "RoundStore",
    "ServingDuty",
    "ServingTable",
    "ShardEntry",
    "ShardHealth",
    "ShardRanker",
    "ShardRecord",
    "ShardServer",
    "TableReader",
    "Unit",
    "UnitSpec",
    "WorkerFactory",
    "append_collected",
    "close_generation",
    "collect_publications",
    "create_topology",
    "decode_table",
    "decode_topology",
    "encode_table",
    "encode_topology",
    "format_address",
    "join_collected",
    "key_path",
    "list_generations",
    "load_key",
    "make_key",
    "new_attempt",
    "new_nonce",
    "new_topology",
    "open_generation",
    "ray_session",
    "read_header",
    "read_health",
    "read_local_cluster",
    "remove_built",
    "remove_generations",
    "save_set",
    "sign_header",
    "start_coordinator",
    "start_local_nodes",
    "stop_local_nodes",
    "store_generation",
    "write_table",
]

_OWN: Final = {
    "ranking": ("RoundStore", "ShardRanker"),
    "control.coordinator": ("Duty",),
    "control.coordinator_actor": (
        "ClusterClient",
        "key_path",
        "start_coordinator",
    ),
    "control.crawl_duty": ("CrawlDuty",),
    "control.crawl_worker": ("CrawlWorker",),
    "control.generation_store": (
        "list_generations",
        "remove_generations",
        "store_generation",
    ),
    "control.local_nodes": (
        "LocalCluster",
        "read_local_cluster",
        "start_local_nodes",
        "stop_local_nodes",
    ),
    "control.placement": ("Unit",),
    "control.ray_host": ("RayHost",),
    "control.ray_runtime": ("ray_session",),
    "control.replica_worker": ("ReplicaWorker",),
    "control.serving_duty": ("ServingDuty",),
    "control.topology_store": ("create_topology",),
    "control.unit_actor": (
        "UnitSpec",
        "WorkerFactory",
    ),
}
"""Names of `control`, by the module that defines them: it is imported when they are first used."""
_LAZY: Final = {name: f"{__name__}.{module}" for module, names in _OWN.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value
