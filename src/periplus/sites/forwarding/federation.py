"""What a site knows of the others: their bounds, how far they are trusted, and what they have answered."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.query import NamedRecord
from periplus.search import (
    PresentReply,
    PresentRequest,
    RetrieveReply,
    RetrieveRequest,
    SignatureReply,
    StatisticsAnswer,
    StatisticsQuestion,
)
from periplus.sites.forwarding.known_queries import DEFAULT_QUERIES, KnownQueries
from periplus.sites.forwarding.site_bounds import SiteBounds, decode_bounds
from periplus.sites.forwarding.site_trust import SiteTrust, TrustStatus

__all__ = ["Federation", "ForwardingSettings", "RemoteSite", "RemoteSiteStatus", "ReplicaSet", "ReplicaShard"]


class ForwardingSettings(msgspec.Struct, frozen=True):
    """How queries are forwarded."""

    slack: float = 0.0
    """Bounds are divided by 1 + slack: above 0, fewer queries are forwarded and some results may be lost."""
    deadline_ms: float = 400.0
    """Time for other sites to answer."""
    known_queries: int = DEFAULT_QUERIES
    """Queries whose answers are remembered as bounds; 0 for none."""
    covers: bool = True
    """Whether answers to known queries bound others that they cover."""
    by_results: bool = True
    """Whether a site that can have candidates is left out if none of them can become a result."""


class RemoteSiteStatus(msgspec.Struct, frozen=True):
    """What is known of a site, for people."""

    site: str
    trust: TrustStatus
    generation: int
    """Of its bounds; -1 without any."""
    age_seconds: float
    """Since its bounds arrived."""
    valid: bool
    documents: int
    copies: int
    """Of its documents at this site."""
    fault: str
    """Why its last bounds were refused, '' if they were not."""


class RemoteSite:
    """Another site. Bounds are replaced as a whole, so any thread may read them."""

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.trust = SiteTrust()
        self.fault = ""
        self._bounds: tuple[SiteBounds, float] | None = None

    def receive_bounds(self, data: bytes, now: float | None = None) -> bool:
        """Use the bounds of a message from now on; return whether they can be used. The last ones go in any case."""
        try:
            bounds = decode_bounds(data, self.name)
        except BadInput as error:
            self._bounds, self.fault = None, str(error)
            return False
        self.set_bounds(bounds, now)
        return True

    def set_bounds(self, bounds: SiteBounds, now: float | None = None) -> None:
        """Use bounds that are known to be sound."""
        self._bounds, self.fault = (bounds, time.monotonic() if now is None else now), ""

    def has_bounds(self, generation: int, replica_version: int) -> bool:
        """Return whether its bounds are of a generation of its index, and leave out a set of copies."""
        held = self._bounds[0] if self._bounds is not None else None
        return held is not None and (held.generation, held.replica_version) == (generation, replica_version)

    def valid_bounds(self, generation: int, replica_version: int, now: float) -> tuple[SiteBounds | None, str]:
        """Return the bounds that hold now for a generation of its index and a set of copies; or why there are none."""
        if not self.trust.uses_bounds:
            return None, f"its bounds are not trusted: {self.trust.reason}"
        if self._bounds is None:
            return None, "its bounds are not known"
        bounds, received = self._bounds
        if now - received > bounds.valid_seconds:
            return None, "its bounds are too old"
        if bounds.generation != generation:
            return None, "its bounds are of another generation of its index"
        if bounds.replica_version not in (0, replica_version):
            return None, "its bounds leave out other copies than there are"
        return bounds, ""

    def status(self, now: float, copies: int) -> RemoteSiteStatus:
        """Return what is known of the site."""
        bounds, received = self._bounds if self._bounds is not None else (None, now)
        return RemoteSiteStatus(
            self.name,
            self.trust.status(now),
            bounds.generation if bounds is not None else -1,
            now - received,
            bounds is not None and now - received <= bounds.valid_seconds and self.trust.uses_bounds,
            bounds.documents if bounds is not None else 0,
            copies,
            self.fault,
        )


class ReplicaShard(Protocol):
    """Answers for the documents of a site that this one has copies of, numbered as that site numbers them.

    Methods that `Shard` has, too, are as those.
    """

    def retrieve(self, request: RetrieveRequest) -> RetrieveReply:
        """Return the best candidates among the copies."""
        ...

    def signatures(self, request: Any) -> SignatureReply:
        """Return what near-duplicates of copies are recognised by."""
        ...

    def present(self, request: PresentRequest) -> PresentReply:
        """Return the hits of copies that were selected."""
        ...

    def statistics(self, request: StatisticsQuestion) -> StatisticsAnswer:
        """Return the words of copies."""
        ...

    def has_named(self, named: NamedRecord) -> bool:
        """Return whether it has a copy of a document that a query names."""
        ...

    def is_ambiguous(self, request: RetrieveRequest, reply: RetrieveReply) -> bool:
        """Return whether documents of one score could be chosen otherwise by the site itself."""
        ...


class ReplicaSet(NamedTuple):
    """The copies of documents of one site: a version that its bounds refer to, and what answers for them."""

    version: int
    generation: int
    """Of the site's index that they hold for."""
    keys: npt.NDArray[np.uint64]
    """Ascending."""
    shard: ReplicaShard


class Federation:
    """The sites of a federation as one of them knows them."""

    def __init__(self, names: Sequence[str], own: int, settings: ForwardingSettings | None = None) -> None:
        """Begin with nothing known; names: of all sites, in an order that all agree on."""
        if len(set(names)) != len(names) or not 0 <= own < len(names):
            raise BadInput("Two sites have the same name.", "Give each site of the federation a name of its own.")
        self.names = tuple(names)
        self.own = own
        self.settings = settings or ForwardingSettings()
        self.sites = {n: RemoteSite(n, name) for n, name in enumerate(names) if n != own}
        self.known = KnownQueries(max(1, self.settings.known_queries))
        self._lock = threading.Lock()
        self._replicas: Mapping[int, ReplicaSet] = {}

    def site(self, name: str) -> RemoteSite:
        """Return another site by its name; raise `BadInput` for one that is not known."""
        for site in self.sites.values():
            if site.name == name:
                return site
        raise BadInput(f"{name[:40]} is no other site of this federation.")

    def set_replicas(self, number: int, replicas: ReplicaSet | None) -> None:
        """Use copies of the documents of a site from now on; None for no copies."""
        with self._lock:
            others = {n: other for n, other in self._replicas.items() if n != number}
            self._replicas = others | ({number: replicas} if replicas is not None else {})

    @property
    def replicas(self) -> Mapping[int, ReplicaSet]:
        """The copies at this site, by site; never changed in place."""
        return self._replicas

    def status(self) -> tuple[RemoteSiteStatus, ...]:
        """Return what is known of all other sites."""
        now = time.monotonic()
        replicas = self._replicas
        return tuple(
            site.status(now, len(replicas[number].keys) if number in replicas else 0)
            for number, site in self.sites.items()
        )
