"""Shards in one process: plain calls, or the same through the records that would travel."""

from collections.abc import Mapping, Sequence
from typing import Any

from periplus.search.record_codec import decode_record, encode_record
from periplus.search.sharding.shard_methods import SHARD_METHODS, Shard

__all__ = ["LocalShards"]


class LocalShards:
    """A `ShardGroup` of objects in this process. Errors of a shard are raised, not hidden."""

    def __init__(self, shards: Sequence[Shard], *, encoded: bool = False) -> None:
        """Group shards; with `encoded`, every request and reply is encoded and decoded, as between machines."""
        self._shards = list(shards)
        self._encoded = encoded
        self.calls: list[tuple[str, int]] = []
        """Method and number of shards of each round so far."""
        self.bytes = 0
        """Bytes of all requests and replies, where they are encoded."""

    @property
    def count(self) -> int:
        """How many shards there are."""
        return len(self._shards)

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Call each shard, one after the other."""
        if requests:
            self.calls.append((method, len(requests)))
        return {shard: self._call(method, shard, request) for shard, request in requests.items()}

    def _call(self, method: str, shard: int, request: Any) -> Any:
        run = getattr(self._shards[shard], method)
        if not self._encoded:
            return run(request)
        types = SHARD_METHODS[method]
        sent = encode_record(request)
        received = encode_record(run(decode_record(sent, types.request)))
        self.bytes += len(sent) + len(received)
        return decode_record(received, types.reply)
