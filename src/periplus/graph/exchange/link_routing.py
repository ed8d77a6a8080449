"""Links whose source or target is on another shard, on their way to the shard that owns the target page.

A link is read by the shard that stores its page. That shard asks the owner of the target's host which page the URL
leads to (`ask_for_targets`), and then sends the link to the shard of that page. Requests, links and texts are spooled
on disk: memory does not depend on their number. Each URL is asked for once for each batch of links that were read.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.graph.exchange.column_spool import ColumnSpool, pack_texts, unpack_texts
from periplus.graph.exchange.rounds import Columns, Message, Program, exchange_messages
from periplus.graph.node_table import Keys, NodeTable

__all__ = ["LinkBatch", "LinkRouter", "read_link_batches"]

_CHUNK: Final = 1 << 18
_NO_ADDRESS: Final = np.uint64((1 << 64) - 1)
_SHIFT: Final = np.uint64(32)
_REQUEST_TYPES: Final = {"keys": np.uint64}
_PENDING_TYPES: Final = {
    "requests": np.int64,
    "sources": np.int32,
    "is_own": np.bool_,
    "orders": np.uint64,
    "lengths": np.uint16,
    "text": np.uint8,
}
_LINK_TYPES: Final = {
    "targets": np.uint64,
    "sources": np.uint64,
    "orders": np.uint64,
    "lengths": np.uint16,
    "text": np.uint8,
}


class LinkBatch(NamedTuple):
    """Links between pages, each with its text ('' for none) and its place in the order of all links."""

    targets: Keys
    """Addresses of nodes."""
    sources: Keys
    orders: Keys
    texts: list[str]

    def select(self, rows: npt.NDArray[np.int64]) -> "LinkBatch":
        """Return some of the links."""
        texts = [self.texts[row] for row in rows.tolist()]
        return LinkBatch(self.targets[rows], self.sources[rows], self.orders[rows], texts)


class _RequestSpool:
    """Links to URLs of one other shard."""

    def __init__(self, folder: Path, shard: int) -> None:
        self.requests = ColumnSpool(folder, f"requests-{shard}", _REQUEST_TYPES)
        self.pending = ColumnSpool(folder, f"pending-{shard}", _PENDING_TYPES)
        self.size = 0


class LinkRouter:
    """Routes links of one shard. Not used for a graph that has one part."""

    def __init__(self, nodes: NodeTable, folder: Path) -> None:
        self._nodes, self._folder = nodes, folder
        self._requests: dict[int, _RequestSpool] = {}
        self._links: dict[int, ColumnSpool] = {}
        self._addresses = nodes.addresses()
        self._page_keys = nodes.page_keys()

    def add_unresolved(
        self,
        shard: int,
        keys: Keys,
        sources: npt.NDArray[np.int32],
        is_own: npt.NDArray[np.bool_],
        orders: Keys,
        texts: list[str],
    ) -> None:
        """Add links to URLs whose host another shard owns; `is_own` if the linking page represents itself."""
        spool = self._requests.setdefault(shard, _RequestSpool(self._folder, shard))
        distinct, inverse = np.unique(keys, return_inverse=True)
        spool.requests.append({"keys": distinct})
        columns: Columns = {
            "requests": inverse.reshape(-1) + spool.size,
            "sources": sources,
            "is_own": is_own,
            "orders": orders,
        }
        spool.pending.append({**columns, **pack_texts(texts)})
        spool.size += len(distinct)

    def address(self, nodes: npt.NDArray[np.int32]) -> Keys:
        """Return the addresses of nodes and foreign pages."""
        return self._addresses[nodes]

    def add(self, batch: LinkBatch) -> None:
        """Add links, each for the shard of its target."""
        shards = batch.targets >> _SHIFT
        for shard in np.unique(shards).tolist():
            rows = batch.select(np.flatnonzero(shards == shard))
            spool = self._links.setdefault(shard, ColumnSpool(self._folder, f"links-{shard}", _LINK_TYPES))
            columns = {"targets": rows.targets, "sources": rows.sources, "orders": rows.orders}
            spool.append({**columns, **pack_texts(rows.texts)})

    def resolve(self, on_alias: Callable[[Keys, npt.NDArray[np.int32]], None]) -> Program[None]:
        """Ask the owners of URLs for the pages that they lead to, and route the links to them.

        on_alias: called with the keys of pages that are linked to by another URL, and the nodes of the linking pages,
        if these represent themselves.
        """
        part = self._nodes.part
        requests = {shard: spool.requests.columns() for shard, spool in self._requests.items()}
        received = yield from exchange_messages(part, "link targets", requests)
        replies = {sender: self._find_targets(message["keys"]) for sender, message in received.items()}
        answers = yield from exchange_messages(part, "link targets (reply)", replies)
        for shard, spool in self._requests.items():
            answer, keys = answers.get(shard), requests[shard]["keys"]
            if answer is None or not len(answer["nodes"]) == len(answer["keys"]) == len(keys):
                raise CorruptFile(f"Shard {shard} did not answer all requests for link targets.")
            self._route_answered(spool, keys, answer, on_alias)
            spool.requests.remove()
            spool.pending.remove()

    def _find_targets(self, keys: Keys) -> Message:
        """Return the address and the key of the page that each URL leads to."""
        rows = self._nodes.find(keys)
        is_known = rows >= 0
        addresses, page_keys = np.full(len(keys), _NO_ADDRESS, np.uint64), np.zeros(len(keys), np.uint64)
        addresses[is_known], page_keys[is_known] = self._addresses[rows[is_known]], self._page_keys[rows[is_known]]
        return {"nodes": addresses, "keys": page_keys}

    def _route_answered(
        self,
        spool: _RequestSpool,
        keys: Keys,
        answer: Message,
        on_alias: Callable[[Keys, npt.NDArray[np.int32]], None],
    ) -> None:
        for columns, texts in _read_chunks(spool.pending.columns()):
            requests, sources = columns["requests"], columns["sources"]
            targets, source_addresses = answer["nodes"][requests], self._addresses[sources]
            rows = np.flatnonzero((targets != _NO_ADDRESS) & (targets != source_addresses))
            is_alias = rows[columns["is_own"][rows] & (answer["keys"][requests[rows]] != keys[requests[rows]])]
            on_alias(answer["keys"][requests[is_alias]], sources[is_alias])
            batch = LinkBatch(targets, source_addresses, columns["orders"], texts)
            self.add(batch.select(rows))

    def send(self) -> Program[dict[int, Message]]:
        """Send all links to the shards of their targets; return those for this one, by the shard that read them."""
        messages = {shard: spool.columns() for shard, spool in self._links.items()}
        return (yield from exchange_messages(self._nodes.part, "links", messages))


def read_link_batches(message: Message) -> Iterator[LinkBatch]:
    """Yield the links of a message, some at a time."""
    for columns, texts in _read_chunks(message):
        yield LinkBatch(columns["targets"], columns["sources"], columns["orders"], texts)


def _read_chunks(columns: Message) -> Iterator[tuple[dict[str, npt.NDArray[Any]], list[str]]]:
    """Yield rows of columns with texts, some at a time."""
    numbers = {field: column for field, column in columns.items() if field != "text"}
    offset = 0
    for begin in range(0, len(columns["lengths"]), _CHUNK):
        chunk = {field: np.array(column[begin : begin + _CHUNK]) for field, column in numbers.items()}
        size = int(chunk["lengths"].sum(dtype=np.int64))
        yield chunk, unpack_texts(chunk["lengths"], columns["text"][offset : offset + size])
        offset += size
