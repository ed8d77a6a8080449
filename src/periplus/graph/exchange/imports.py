"""Imports: pages and hosts of other shards that link to pages of this one, in an order that both shards agree on.

The shard that has the links sends the sorted numbers of the pages it needs; the shard that owns them sends their keys
and hosts. From then on a vector of ranks is sent from shard to shard in that order, without numbers or keys.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.graph.exchange.rounds import Message, Program, Round, exchange_messages
from periplus.graph.node_table import Keys, NodeTable

__all__ = ["ImportTable", "ValueExchange", "agree_on_imports"]

_SHIFT: Final = np.uint64(32)
_NUMBER: Final = np.uint64(0xFFFFFFFF)
Numbers = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


class ValueExchange(NamedTuple):
    """Which values of a vector a shard sends to each other shard, and which it receives, in the agreed order."""

    own: int
    """Values of the shard itself; those of imported nodes follow, shard by shard."""
    imported: dict[int, int]
    """For each other shard, the number of nodes that are imported from it."""
    exported: dict[int, Numbers]
    """For each other shard, the nodes of this one that it imports."""

    @property
    def nodes(self) -> int:
        """The number of own and imported nodes."""
        return self.own + sum(self.imported.values())

    def send(self, name: str, values: Vector, summary: tuple[float, ...] = ()) -> Program[tuple[float, ...]]:
        """Send the values of exported nodes, replace those of imported ones by what arrives, and add up summaries."""
        messages = {shard: {"values": values[numbers]} for shard, numbers in self.exported.items()}
        arrivals = yield Round(name, messages, summary)
        begin = self.own
        for shard, count in self.imported.items():
            values[begin : begin + count] = _agreed_values(arrivals.messages, shard, count)
            begin += count
        return arrivals.totals()

    def send_back(self, name: str, values: Vector) -> Program[None]:
        """Send the values of imported nodes to their shards, and add what arrives to the values of exported nodes."""
        messages, begin = {}, self.own
        for shard, count in self.imported.items():
            messages[shard] = {"values": values[begin : begin + count].copy()}
            begin += count
        arrivals = yield Round(name, messages)
        for shard, numbers in self.exported.items():
            values[numbers] += _agreed_values(arrivals.messages, shard, len(numbers))


def _agreed_values(messages: Mapping[int, Message], shard: int, count: int) -> Vector:
    """Return the values that a shard has sent, as many as were agreed on."""
    values = messages[shard]["values"] if shard in messages else np.zeros(0, np.float64)
    if len(values) != count:
        raise CorruptFile(f"Shard {shard} sent {len(values):,} values, not the {count:,} that were agreed on.")
    return values


class ImportTable(NamedTuple):
    """What a shard imports from others, and what it exports to them.

    Imported pages are numbered after the pages of the shard, imported hosts after its hosts, shard by shard.
    """

    numbers: dict[int, Numbers]
    """For each other shard, the sorted numbers that it gives to the imported pages."""
    pages: ValueExchange
    hosts: ValueExchange
    page_keys: Keys
    """For each imported page, its key."""
    page_hosts: npt.NDArray[np.int32]
    """For all pages of this shard and all imported ones, the number of the host."""
    host_keys: Keys
    """For all hosts of this shard and all imported ones, the fingerprint of the name."""
    domain_keys: Keys
    host_numbers: dict[int, Numbers]
    """For each other shard, the sorted numbers that it gives to the imported hosts."""

    def local_numbers(self, addresses: Keys) -> Numbers:
        """Return the numbers that this shard gives to the pages at some addresses, its own or imported ones."""
        numbers = (addresses & _NUMBER).astype(np.int64)
        origins = (addresses >> _SHIFT).astype(np.int64)
        first = self.pages.own
        for origin, imported in self.numbers.items():
            rows = np.flatnonzero(origins == origin)
            numbers[rows] = first + np.searchsorted(imported, numbers[rows])
            first += len(imported)
        return numbers


def agree_on_imports(nodes: NodeTable, sources: Iterable[Keys]) -> Program[ImportTable]:
    """Determine which pages of other shards are among `sources` (addresses), and ask for their keys and hosts."""
    part = nodes.part
    wanted = _distinct_sources(nodes, sources)
    requests = {shard: {"nodes": numbers.astype(np.uint32)} for shard, numbers in wanted.items()}
    received = yield from exchange_messages(part, "imports", requests)
    exported = {shard: _check_numbers(message["nodes"], len(nodes.keys)) for shard, message in received.items()}
    replies = {shard: _describe_exports(nodes, numbers) for shard, numbers in exported.items()}
    answers = yield from exchange_messages(part, "imports (reply)", replies)
    for shard, numbers in wanted.items():
        if shard not in answers or not len(answers[shard]["keys"]) == len(answers[shard]["hosts"]) == len(numbers):
            raise CorruptFile(f"Shard {shard} did not describe all pages that are imported from it.")
    imported = [answers[shard] for shard in wanted]
    first_hosts = np.cumsum([len(nodes.host_keys), *(len(answer["host_keys"]) for answer in imported)]).tolist()
    page_hosts = [answer["hosts"] + first for answer, first in zip(imported, first_hosts, strict=False)]
    exported_hosts = {shard: np.unique(nodes.hosts[numbers]).astype(np.int64) for shard, numbers in exported.items()}
    host_counts = {shard: len(answers[shard]["host_keys"]) for shard in wanted}
    return ImportTable(
        numbers=wanted,
        pages=ValueExchange(len(nodes.keys), {shard: len(numbers) for shard, numbers in wanted.items()}, exported),
        hosts=ValueExchange(len(nodes.host_keys), host_counts, exported_hosts),
        page_keys=np.concatenate([np.zeros(0, np.uint64), *(answer["keys"] for answer in imported)]),
        page_hosts=np.concatenate([nodes.hosts, *page_hosts]).astype(np.int32),
        host_keys=np.concatenate([nodes.host_keys, *(answer["host_keys"] for answer in imported)]),
        domain_keys=np.concatenate([nodes.domain_keys, *(answer["domain_keys"] for answer in imported)]),
        host_numbers={shard: answers[shard]["host_numbers"].astype(np.int64) for shard in wanted},
    )


def _distinct_sources(nodes: NodeTable, sources: Iterable[Keys]) -> dict[int, Numbers]:
    """Return the sorted numbers of the pages of each other shard, marked in one bit map for each shard."""
    marks: dict[int, npt.NDArray[np.bool_]] = {}
    for addresses in sources:
        origins = (addresses >> _SHIFT).astype(np.int64)
        numbers = (addresses & _NUMBER).astype(np.int64)
        for origin in np.unique(origins).tolist():
            if origin == nodes.part.number:
                continue
            if origin not in marks:
                marks[origin] = np.zeros(nodes.shard_nodes[origin], np.bool_)
            marks[origin][_check_numbers(numbers[origins == origin], len(marks[origin]))] = True
    return {origin: np.flatnonzero(marks[origin]) for origin in sorted(marks)}


def _check_numbers(numbers: npt.NDArray[np.int64] | npt.NDArray[np.uint32], nodes: int) -> Numbers:
    checked = np.asarray(numbers, np.int64)
    if len(checked) and not 0 <= checked.min() <= checked.max() < nodes:
        raise CorruptFile("Another shard refers to pages that do not exist.", "Build the graph of all shards again.")
    return checked


def _describe_exports(nodes: NodeTable, numbers: Numbers) -> Message:
    """Return the keys and hosts of pages; the host of each page as an index into the hosts."""
    host_numbers, hosts = np.unique(nodes.hosts[numbers], return_inverse=True)
    return {
        "keys": nodes.keys[numbers],
        "hosts": hosts.astype(np.uint32).reshape(-1),
        "host_numbers": host_numbers.astype(np.uint32),
        "host_keys": nodes.host_keys[host_numbers],
        "domain_keys": nodes.domain_keys[host_numbers],
    }
