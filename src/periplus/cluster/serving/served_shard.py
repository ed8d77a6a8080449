"""One generation of a shard on one replica: its index, and what was published since it was built.

Segments of a generation have the same names on all replicas, but those of pages that were published since are made by
each replica for itself. So that a broker does not take one for the other, segments are named on the wire with a
fingerprint of their documents.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np

from periplus.cluster.serving.replica_publications import PublicationSource, ReplicaPublications
from periplus.hashing import fingerprint, fingerprint_text
from periplus.search import DescribeRequest, IndexShard, ShardDescription
from periplus.settings import Settings

__all__ = ["ServedShard"]

_MARK: Final = "~"


class ServedShard:
    """Answers the methods of a shard over the data folder of a generation."""

    def __init__(self, folder: Path, settings: Settings, position: int, source: PublicationSource | None) -> None:
        self._shard = IndexShard(folder, settings, position)
        self._position = position
        self._marks: dict[tuple[str, int], str] = {}
        self._description: tuple[ShardDescription, ShardDescription] | None = None
        """What the shard has, by its own names of segments and by those on the wire."""
        self.publications = ReplicaPublications(folder, settings, source)

    @property
    def documents(self) -> int:
        """Pages in the index."""
        return self._shard.index.documents

    @property
    def commit(self) -> int:
        """The commit of the index that is open."""
        return self._shard.index.manifest.generation

    def refresh(self) -> bool:
        """Open the newest commit."""
        return self._shard.refresh()

    def close(self) -> None:
        """Stop indexing what is published; the index is closed with the last query that uses it."""
        self.publications.close()

    def call(self, name: str, request: Any) -> Any:
        """Return the reply to a request for a method of `search.SHARD_METHODS`."""
        if name == "describe":
            return self._describe(request)
        if name in ("retrieve", "present"):
            if request.plan.named:
                request = request._replace(plan=self._resolve_named(request.plan))
        elif name == "trace":
            request = request._replace(plans=tuple(self._resolve_named(plan) for plan in request.plans))
        elif name == "dictionary":
            request = request._replace(segment=request.segment.partition(_MARK)[0])
        reply = getattr(self._shard, name)(request)
        return reply._replace(name=self._mark(reply.name)) if name == "dictionary" else reply

    def _describe(self, request: DescribeRequest) -> ShardDescription:
        """Return what the shard has, with the names of segments on the wire, which its state covers, too."""
        plain = self._shard.describe(DescribeRequest())
        last = self._description
        if last is None or last[0] is not plain:
            segments = tuple(part._replace(name=self._mark(part.name)) for part in plain.segments)
            state = fingerprint_text(f"{plain.state} {' '.join(part.name for part in segments)}")
            last = self._description = (plain, plain._replace(segments=segments, state=state))
        described = last[1]
        return described._replace(segments=(), is_known=True) if request.state == described.state else described

    def _mark(self, name: str) -> str:
        """Return the name of a segment on the wire."""
        for segment in self._shard.index.segments:
            if segment.name == name:
                key = (name, segment.documents)
                if key not in self._marks:
                    documents = fingerprint(np.ascontiguousarray(segment.column("key")).view(np.uint8).data)
                    self._marks[key] = f"{name}{_MARK}{documents:016x}"
                return self._marks[key]
        return name

    def _resolve_named(self, plan: Any) -> Any:
        """Return a plan with the documents that it names in segments of this replica."""
        own = []
        for named in plan.named:
            name = named.segment.partition(_MARK)[0]
            if named.shard == self._position and self._mark(name) == named.segment:
                own.append(named._replace(segment=name))
        return plan._replace(named=tuple(own))
