"""Replacing the index of a cluster: a new generation is opened beside the old one on all replicas, then switched.

1. `open_generation` on every replica, which takes long; queries go on in the old generation meanwhile
2. the serving table names the new generation (`write_table`): every broker plans for it, then asks by it
3. `close_generation` on every replica, which closes the old one once no query uses it
"""

import time
from pathlib import Path

import msgspec

from periplus.cluster.serving.shard_messages import CLOSE_GENERATION, OPEN_GENERATION, GenerationRequest
from periplus.cluster.wire.peer_connection import PeerAddress, PeerConnection, call_peer
from periplus.cluster.wire.signing import ClusterKey

__all__ = ["close_generation", "open_generation"]


def open_generation(
    address: PeerAddress, key: ClusterKey, generation: int, folder: Path, position: int, seconds: float = 600.0
) -> None:
    """Make a replica open a generation; return when it has. Raise what it raises, and `ClusterError` without an answer.

    folder: on the node of the replica; position: the number of its shard among those of the generation, from 0 on.
    """
    _call(address, key, OPEN_GENERATION, GenerationRequest(generation, str(folder), position), seconds)


def close_generation(address: PeerAddress, key: ClusterKey, generation: int, seconds: float = 10.0) -> None:
    """Make a replica close a generation once no query uses it."""
    _call(address, key, CLOSE_GENERATION, GenerationRequest(generation), seconds)


def _call(address: PeerAddress, key: ClusterKey, method: int, request: GenerationRequest, seconds: float) -> None:
    connection = PeerConnection(address, key)
    try:
        call_peer(connection, method, msgspec.msgpack.encode(request), time.monotonic() + seconds)
    finally:
        connection.close()
