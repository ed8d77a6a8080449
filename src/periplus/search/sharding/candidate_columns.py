"""What selection needs to know of the candidates of a shard, read where they are."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from periplus.hashing import fingerprint_text
from periplus.index import Segment
from periplus.search.index_session import IndexSession
from periplus.search.presentation.result_selection import MIN_SIMHASH_BYTES
from periplus.search.retrieve import RetrievedCandidates
from periplus.search.sharding.shard_records import CandidateColumns, make_columns

__all__ = ["CandidateColumnReader"]


class CandidateColumnReader:
    """Reads the columns of candidates; fingerprints of hosts are computed once. Threads may share it."""

    def __init__(self) -> None:
        self._hosts: dict[str, npt.NDArray[np.uint64]] = {}
        """By segment, the fingerprints of its hosts; 0 where it was not computed yet."""

    def forget_others(self, names: Iterable[str]) -> None:
        """Forget segments that no generation has any more; names: of those that one has."""
        present = set(names)
        self._hosts = {name: hosts for name, hosts in self._hosts.items() if name in present}

    def read(self, session: IndexSession, retrieved: RetrievedCandidates) -> CandidateColumns:
        """Return what selection reads of candidates, the nearest documents and the home page."""
        near, home = retrieved.nearest, retrieved.home_page
        of_segment, documents = retrieved.segments, retrieved.documents
        if near is not None:
            of_segment = np.concatenate((of_segment, near.segments))
            documents = np.concatenate((documents, near.documents))
        if home is not None:
            of_segment = np.concatenate((of_segment, np.array([home.segment], np.int32)))
            documents = np.concatenate((documents, np.array([home.document], np.int32)))
        numbers = documents.astype(np.int64)
        segments = session.index.segments
        if len(segments) == 1:
            return self._read_segment(session, segments[0], numbers)
        columns = make_columns(len(numbers))
        for number in set(of_segment.tolist()):
            rows = (of_segment == number).nonzero()[0]
            part = self._read_segment(session, segments[number], numbers[rows])
            columns.flags[rows], columns.host[rows], columns.language[rows] = part.flags, part.host, part.language
            columns.simhash[rows], columns.length[rows] = part.simhash, part.length
        return columns

    def _read_segment(
        self, session: IndexSession, segment: Segment, documents: npt.NDArray[np.int64]
    ) -> CandidateColumns:
        """Return the columns of some documents of a segment."""
        spans = segment.text_spans(documents)
        length = (spans[:, 2] - spans[:, 1]).astype(np.uint32)
        is_long = length >= MIN_SIMHASH_BYTES
        simhash = np.where(is_long, segment.simhashes[documents], np.uint64(0))
        signatures = session.cache.signatures
        for row in np.flatnonzero(is_long & (simhash == 0)).tolist():
            # The index has none: the text was read for an earlier query, perhaps.
            if signature := signatures.get((segment.name, int(documents[row]))):
                simhash[row] = signature.simhash
        return CandidateColumns(
            segment.column("flags")[documents].astype(np.uint16, copy=False),
            self._fingerprint_hosts(segment, segment.column("host")[documents]),
            segment.column("language")[documents].astype(np.uint8, copy=False),
            simhash,
            length,
        )

    def _fingerprint_hosts(self, segment: Segment, hosts: npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
        """Return the fingerprints of the names of hosts, which are numbered within a segment."""
        table = self._hosts.get(segment.name)
        if table is None:
            table = self._hosts[segment.name] = np.zeros(len(segment.table("hosts")[0]) - 1, np.uint64)
        names: npt.NDArray[np.uint64] = table[hosts]
        if not names.all():
            for host in set(hosts[names == 0].tolist()):
                table[host] = fingerprint_text(segment.string("hosts", host))
            names = table[hosts]
        return names
