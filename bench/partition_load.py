"""From what nodes do for single queries to latency, load and balance: a stated network, and queues in front of nodes.

The network is a model: `LATENCY` each way, `BANDWIDTH` into and out of each machine, `FRAME` bytes of headers for each
message; the CPU time of sending and receiving is measured over loopback by `measure_messages`. Nodes have one core and
serve one query at a time, first come, first served. Brokers are stateless and never wait.
"""

import heapq
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from partitions import Evaluation

LATENCY = 50e-6
"""Seconds from one machine to another in a data centre, one way."""
BANDWIDTH = 10e9 / 8
"""Bytes per second of a machine: 10 Gbit/s."""
FRAME = 78
"""Bytes of Ethernet, IP and TCP headers, and of our own frame, for each message; larger ones have more of them."""
SIMULATED = 20_000
"""Queries of a simulated load."""


class MessageCost(NamedTuple):
    """CPU time of sending and receiving a message, both ends together."""

    seconds: float
    seconds_per_byte: float

    def of(self, size: int) -> float:
        """Return the CPU time of one end."""
        return (self.seconds + self.seconds_per_byte * size) / 2


def measure_messages(rounds: int = 2_000) -> MessageCost:
    """Send messages of 500 bytes and of 1 MB over loopback TCP, and measure the CPU time of both ends."""
    small, large = (_exchange(size, count) for size, count in ((500, rounds), (1_000_000, 60)))
    per_byte = max(0.0, (large - small) / (1_000_000 - 500))
    return MessageCost(max(0.0, small - 500 * per_byte), per_byte)


def _exchange(size: int, count: int) -> float:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        for end in (client, other):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body, room = bytes(size), bytearray(size)

        def receive() -> None:
            for _ in range(count):
                view = memoryview(room)
                while view:
                    view = view[other.recv_into(view) :]
                other.sendall(b"+")

        thread = threading.Thread(target=receive)
        began = time.process_time()
        thread.start()
        for _ in range(count):
            client.sendall(body)
            client.recv(1)
        thread.join()
        spent = time.process_time() - began
        client.close()
        other.close()
    # The acknowledgement is half of the work for a small message.
    return spent / count / (2 if size < 1000 else 1)


def transfer(size: int) -> float:
    """Return the seconds that a message of so many bytes takes on the network."""
    return LATENCY + (size + FRAME) / BANDWIDTH


def messages(evaluation: Evaluation) -> tuple[int, int]:
    """Return how many messages a query takes, and their bytes."""
    visits = evaluation.visits
    count = 2 * len(visits) if not evaluation.sequential else len(visits) + 1
    carried = sum(visit.sent for visit in visits)
    requests = len(visits) * evaluation.request
    return count, carried + requests + count * FRAME


def node_seconds(evaluation: Evaluation, cost: MessageCost) -> list[tuple[int, float]]:
    """Return the CPU time of each node of a query, with its messages: one received and one sent."""
    received = evaluation.request
    rows = []
    for visit in evaluation.visits:
        rows.append((visit.node, visit.cpu + cost.of(received) + cost.of(visit.sent)))
        received = evaluation.request + (visit.sent if evaluation.sequential else 0)
    if not evaluation.sequential and len(rows) > 1 and evaluation.merge == 0:  # The last one receives what others send.
        node, seconds = rows[-1]
        rows[-1] = (node, seconds + sum(cost.of(visit.sent) for visit in evaluation.visits[:-1]))
    return rows


def latency(evaluation: Evaluation, cost: MessageCost) -> float:
    """Return the seconds of a query that waits for no other one."""
    work = node_seconds(evaluation, cost)
    visits = evaluation.visits
    if evaluation.sequential:
        sizes = [evaluation.request, *(visit.sent + evaluation.request for visit in visits)]
        return sum(seconds for _, seconds in work) + sum(map(transfer, sizes))
    if evaluation.merge:
        replies = sum(visit.sent + FRAME for visit in visits) / BANDWIDTH
        broker = evaluation.merge + sum(cost.of(visit.sent) + cost.of(evaluation.request) for visit in visits)
        return 2 * LATENCY + max(seconds for _, seconds in work) + replies + broker
    lists = sum(visit.sent + FRAME for visit in visits[:-1]) / BANDWIDTH
    hops = LATENCY * (4 if len(visits) > 1 else 2)
    return hops + lists + max([seconds for _, seconds in work[:-1]], default=0.0) + work[-1][1]


def loaded_latency(
    evaluations: Sequence[Evaluation], cost: MessageCost, nodes: int, rate: float, seed: int = 16
) -> dict[str, Any]:
    """Return percentiles of latency at a rate of queries per second, by simulation; none if a node is overloaded."""
    load = np.zeros(nodes)
    works = [node_seconds(evaluation, cost) for evaluation in evaluations]
    for work in works:
        for node, seconds in work:
            load[node] += seconds / len(works)
    if load.max() * rate >= 1:
        return {"busiest": round(float(load.max() * rate), 3), "p50_ms": None, "p99_ms": None}
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1 / rate, SIMULATED)).tolist()
    chosen = random.integers(0, len(evaluations), SIMULATED).tolist()
    base = [latency(evaluation, cost) for evaluation in evaluations]
    waits = _simulate(arrivals, chosen, works, [e.sequential for e in evaluations], nodes)
    times = np.array([base[query] + wait for query, wait in zip(chosen, waits, strict=True)]) * 1e3
    return {
        "busiest": round(float(load.max() * rate), 3),
        "p50_ms": round(float(np.percentile(times, 50)), 3),
        "p99_ms": round(float(np.percentile(times, 99)), 3),
    }


def _simulate(
    arrivals: list[float], chosen: list[int], works: list[Any], sequential: list[bool], nodes: int
) -> list[float]:
    """Return how long each query waits: over all of its nodes in a row, or on the one that answers last."""
    free = [0.0] * nodes
    waits = [0.0] * len(arrivals)
    events = [(when, number, 0) for number, when in enumerate(arrivals)]
    while events:
        when, number, stage = heapq.heappop(events)
        work = works[chosen[number]]
        if sequential[chosen[number]]:
            node, seconds = work[stage]
            begin = max(when, free[node])
            free[node] = begin + seconds
            waits[number] += begin - when
            if stage + 1 < len(work):
                heapq.heappush(events, (free[node] + LATENCY, number, stage + 1))
            continue
        longest, end = max(seconds for _, seconds in work), 0.0
        for node, seconds in work:
            free[node] = max(when, free[node]) + seconds
            end = max(end, free[node])
        waits[number] = end - when - longest
    return waits
