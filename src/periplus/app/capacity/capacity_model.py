"""From a workload and measured coefficients to machines and time. All of it is arithmetic: nothing is measured here."""

import math
from typing import Final

from periplus.app.capacity.capacity_pressures import list_pressures
from periplus.app.capacity.capacity_records import (
    CapacityPlan,
    Exchange,
    Latency,
    Machine,
    RolePlan,
    Workload,
)
from periplus.app.capacity.coefficients import Coefficients, load_coefficients
from periplus.app.capacity.workload_costs import (
    BANDWIDTH_SHARE,
    BUILD_SHARE,
    CPU_SHARE,
    DAY,
    DISK_SHARE,
    MEMORY_SHARE,
    NUMBER_BYTES,
    build_cpu_seconds,
    crawl_cores,
    fetch_rate,
    sent_bytes,
    stored_bytes,
)
from periplus.errors import BadInput

__all__ = ["plan_capacity"]

MOST_REPLICAS: Final = 1_000
_FAN_OUT_SHARDS: Final = (1, 4, 16, 64, 256, 1024, 4096)
"""Numbers of shards that `bench/scale.py` simulates."""
_LATENCY, _GIGABIT = 50e-6, 1e9
_TOO_SLOW: Final = 5e-3
"""Seconds that one broker may add to a query: beyond, brokers are arranged as a tree."""


def plan_capacity(workload: Workload, machine: Machine, coefficients: Coefficients | None = None) -> CapacityPlan:
    """Return the plan of a workload on machines of one kind; raise `BadInput` if no number of them suffices."""
    table = coefficients or load_coefficients()
    serving, shards, replicas = _plan_serving(workload, machine, table)
    crawl = _plan_crawl(workload, machine, table)
    brokers = _plan_brokers(workload, machine, table, shards)
    exchange = _exchange(workload, table, shards)
    build = _plan_build(workload, machine, table, crawl.machines + serving.machines, exchange)
    latency = _latency(workload, table, shards)
    return CapacityPlan(
        workload,
        machine,
        _count_machines(machine, (crawl, serving, brokers), shards, replicas),
        shards,
        replicas,
        (crawl, build, serving, brokers),
        exchange,
        latency,
        _freshness(workload.revisits_per_change),
        list_pressures(workload, machine, table, exchange),
        _assumptions(workload),
        table.used(),
    )


def _count_machines(machine: Machine, roles: tuple[RolePlan, ...], shards: int, replicas: int) -> int:
    """Return the machines of roles that run at the same time: one for each replica where one can hold all roles."""
    needs = (
        sum(role.cores for role in roles) / (machine.cores * CPU_SHARE),
        sum(role.memory for role in roles) / (machine.memory * MEMORY_SHARE),
        sum(role.disk for role in roles) / (machine.disk * DISK_SHARE),
        sum(role.bandwidth for role in roles) / (machine.bandwidth * BANDWIDTH_SHARE),
    )
    return replicas if shards == 1 and max(needs) <= 1 else sum(role.machines for role in roles)


def _machines(needs: dict[str, float]) -> tuple[int, str]:
    """Return how many machines the largest of some needs takes, each in machines, and its name."""
    name = max(needs, key=lambda need: needs[need])
    return max(1, math.ceil(needs[name] - 1e-9)), name


def _plan_crawl(workload: Workload, machine: Machine, table: Coefficients) -> RolePlan:
    first, again = fetch_rate(workload)
    rate = max(first, again)
    cores = crawl_cores(workload, table, rate)
    bandwidth = rate * sent_bytes(workload, table) * 8
    processes = math.ceil(cores / CPU_SHARE)
    known = workload.pages * workload.urls_per_page * table["seen_bytes_per_url"]
    memory = known + processes * table["crawl_memory_mb"] * 1e6
    disk = workload.pages * stored_bytes(workload, table)
    machines, limit = _machines(
        {
            "cores": cores / (machine.cores * CPU_SHARE),
            "memory": memory / (machine.memory * MEMORY_SHARE),
            "disk": disk / (machine.disk * DISK_SHARE),
            "bandwidth": bandwidth / (machine.bandwidth * BANDWIDTH_SHARE),
        }
    )
    notes = (
        f"{first:,.0f} pages per second for the first crawl, {again:,.0f} for revisits",
        f"at least {math.ceil(rate):,} hosts under way at a time, with a delay of a second for each",
    )
    return RolePlan("crawl", machines, cores, memory, disk, bandwidth, workload.crawl_days * 24, limit, notes)


def _plan_build(
    workload: Workload, machine: Machine, table: Coefficients, machines: int, exchange: Exchange
) -> RolePlan:
    parts = build_cpu_seconds(workload, table)
    seconds = sum(parts.values())
    cores = machines * machine.cores * BUILD_SHARE
    moved = exchange.anchors + exchange.pagerank_round * exchange.pagerank_rounds + exchange.dictionary
    network = moved * 8 / (machines * machine.bandwidth * BANDWIDTH_SHARE) if machines > 1 else 0.0
    links = workload.pages * workload.links_per_page
    graph = links * table["graph_bytes_per_link"]
    memory = machines * machine.cores * table["build_memory_mb"] * 1e6
    daily = workload.pages * workload.change_per_day * workload.words_per_page * table["build_cpu_us_per_word"] / 1e6
    daily *= 1 + workload.merges_per_page
    notes = (
        *(f"{name}: {value / 3600:,.1f} core-hours" for name, value in parts.items()),
        f"changed pages: {daily / DAY:,.2f} cores all day, merges included",
        f"on the machines of the crawl and of serving; {network / 3600:,.2f} h of it is network",
    )
    hours = seconds / cores / 3600 + network / 3600
    limit = "cores" if network < seconds / cores else "bandwidth"
    return RolePlan(
        "build",
        machines,
        seconds / max(1e-9, hours * 3600),
        memory,
        graph,
        machine.bandwidth * machines * BANDWIDTH_SHARE,
        hours,
        limit,
        notes,
    )


def _plan_serving(workload: Workload, machine: Machine, table: Coefficients) -> tuple[RolePlan, int, int]:
    """Return the plan of serving, the number of shards, and of replicas."""
    hot = workload.pages * workload.words_per_page * table["hot_bytes_per_word"]
    disk = workload.pages * workload.words_per_page * table["index_bytes_per_word"]
    fixed = (table["retrieve_fixed_us"] + table["message_us"]) / 1e6
    per_page = table["retrieve_us_per_million_documents"] / 1e12
    own = table["serve_memory_mb"] * 1e6
    room = machine.memory * MEMORY_SHARE - own
    if room <= 0:
        raise BadInput(
            f"{machine.memory / 1e9:g} GB are too little: a process takes {own / 1e9:.1f} GB before its index.",
            "Give --memory a larger value.",
        )
    needs = {"memory": hot / room, "disk": disk / (machine.disk * DISK_SHARE)}
    shards, limit = _machines(needs)
    budget = machine.cores * CPU_SHARE
    replicas = workload.replicas
    # More shards make each of them smaller, but every one takes the fixed part of every query.
    while True:
        share = workload.queries_per_second / replicas
        left = budget - share * fixed
        if left > 0 and share * per_page * workload.pages / left <= max(shards, 4 * _machines(needs)[0]):
            break
        replicas += 1
        if replicas > MOST_REPLICAS:
            raise BadInput(
                f"{workload.queries_per_second:g} queries per second need more than {MOST_REPLICAS:,} replicas.",
                "Use machines with more cores, or fewer queries per second.",
            )
    by_cores = math.ceil(share * per_page * workload.pages / left)
    if by_cores > shards:
        shards, limit = by_cores, "cores"
    elif replicas > workload.replicas:
        limit = "cores (replicas)"
    cores = workload.queries_per_second * (shards * fixed + per_page * workload.pages)
    machines = shards * replicas
    bandwidth = workload.queries_per_second * shards * table["record_bytes"] * 8
    notes = (
        f"{shards:,} shards of {workload.pages / shards:,.0f} pages, {replicas} replicas",
        f"a query takes {shards * fixed * 1e3 + per_page * workload.pages * 1e3:,.1f} ms of CPU over all shards",
    )
    plan = RolePlan(
        "serving", machines, cores, hot * replicas + own * machines, disk * replicas, bandwidth, 0.0, limit, notes
    )
    return plan, shards, replicas


def _broker_seconds(table: Coefficients, shards: int) -> tuple[float, int, float]:
    """Return what brokers add to a query, how many levels they have, and the CPU time of all of them."""
    wire = table["record_bytes"] * (8 / (10 * _GIGABIT) + table["message_ns_per_byte"] / 1e9 / 2)
    per_part = table["broker_us_per_shard"] / 1e6 + wire + table["message_us"] / 2e6
    fixed = table["broker_fixed_us"] / 1e6 + 2 * _LATENCY

    def merge(parts: int) -> float:
        return fixed + parts * per_part

    choices = [(merge(shards), 1, merge(shards))]
    for levels in (2, 3):
        fan = math.ceil(shards ** (1 / levels))
        if fan > 1:
            merges = sum(math.ceil(shards / fan ** (level + 1)) for level in range(levels))
            choices.append((levels * merge(fan), levels, merges * merge(fan)))
    return min(choices, key=lambda choice: (max(choice[0], _TOO_SLOW), choice[1]))


def _plan_brokers(workload: Workload, machine: Machine, table: Coefficients, shards: int) -> RolePlan:
    _, levels, merging = _broker_seconds(table, shards)
    own = sum(table[name] for name in ("plan_us", "rerank_us", "present_us")) / 1e6 + table["http_cpu_ms"] / 1e3
    cores = workload.queries_per_second * (own + merging)
    dictionary = _dictionary_bytes(workload, table)
    bandwidth = workload.queries_per_second * shards * table["record_bytes"] * 8
    needs = {
        "cores": cores / (machine.cores * CPU_SHARE),
        "bandwidth": bandwidth / (machine.bandwidth * BANDWIDTH_SHARE),
        "memory": 0.0,
    }
    machines, limit = _machines(needs)
    least = 2 if workload.pages > 1e6 and shards > 1 else 1
    if machines < least:
        machines, limit = least, "one may fail"
    processes = math.ceil(cores / CPU_SHARE / machines) * machines
    memory = processes * table["serve_memory_mb"] * 1e6 + machines * dictionary
    notes = (
        f"{levels} level{'s' if levels > 1 else ''} of brokers",
        f"dictionary of {dictionary / 1e9:,.2f} GB on each",
    )
    return RolePlan("brokers", machines, cores, memory, 0.0, bandwidth, 0.0, limit, notes)


def _dictionary_bytes(workload: Workload, table: Coefficients) -> float:
    """Return the size of the collection's dictionary, by Heaps' law."""
    growth = math.pow(workload.pages / table["dictionary_documents"], table["heaps_exponent"])
    return table["dictionary_bytes"] * growth


def _exchange(workload: Workload, table: Coefficients, shards: int) -> Exchange:
    leaving = (1 - 1 / shards) * workload.pages * workload.links_per_page * workload.external_links
    numbers = min(leaving, workload.pages * table["rank_numbers_per_page"])
    dictionary = 0.0
    if shards > 1:
        share = (workload.pages / shards / table["dictionary_documents"]) ** table["heaps_exponent"]
        dictionary = shards * table["dictionary_compressed_bytes"] * share
    return Exchange(
        leaving * table["outlink_bytes"],
        leaving * table["anchor_bytes"],
        numbers * NUMBER_BYTES,
        int(table["pagerank_rounds"]),
        dictionary,
    )


def _between(table: Coefficients, name: str, shards: int) -> float:
    """Return a simulated latency for any number of shards: between those simulated, by the logarithm of the number."""
    place = min(math.log(shards, 4), len(_FAN_OUT_SHARDS) - 1.0)
    low = min(int(place + 1e-9), len(_FAN_OUT_SHARDS) - 2)
    below, above = (table[f"{name}_{_FAN_OUT_SHARDS[n]}"] for n in (low, low + 1))
    return below + (above - below) * (place - low)


def _latency(workload: Workload, table: Coefficients, shards: int) -> Latency:
    """Return simulated times of the slowest shard, scaled by the size of shards, with planning, brokers, presenting."""
    documents = workload.pages / shards
    fixed, per_million = table["retrieve_fixed_us"], table["retrieve_us_per_million_documents"]
    size = (fixed + per_million * documents / 1e6) / (fixed + per_million * table["shard_documents"] / 1e6)
    # Work grows with the shard; what the machine adds to it does not.
    usual, slow = ((size - 1) * table[name] / 1e3 for name in ("shard_cpu_p50_us", "shard_cpu_p99_us"))
    seconds, levels, _ = _broker_seconds(table, shards)
    broker = seconds * 1e3 if shards > 1 else 0.0
    own = sum(table[name] for name in ("plan_us", "rerank_us", "present_us")) / 1e3
    p50, p99, hedged = (_between(table, name, shards) for name in ("fan_out_p50", "fan_out_p99", "hedged_p99"))
    p50, p99, hedged = p50 + usual, p99 + slow, hedged + slow
    return Latency(p50 + own + broker, p99 + own + broker, hedged + own + broker, broker, levels, documents)


def _freshness(revisits: float) -> float:
    """Return the expected share of current copies, (1 - e^-x) / x with x random changes between two visits."""
    if revisits <= 0:
        return 0.0
    changes = 1 / revisits
    return (1 - math.exp(-changes)) / changes


def _assumptions(workload: Workload) -> tuple[str, ...]:
    return (
        f"{workload.words_per_page:,.0f} words and {workload.page_bytes / 1e3:,.0f} kB of HTML per page",
        f"{workload.links_per_page:g} links per page, {workload.external_links:.0%} of them to other sites",
        f"{workload.urls_per_page:g} known URLs for each page that is fetched",
        f"{workload.revisits_per_change:g} visits for each change of a page; changes are random",
        f"merges write a page {workload.merges_per_page:g} times",
        f"machines are loaded to {CPU_SHARE:.0%} of cores, {MEMORY_SHARE:.0%} of memory, {DISK_SHARE:.0%} of disk and "
        f"{BANDWIDTH_SHARE:.0%} of bandwidth; no result is cached",
        f"network: {_LATENCY * 1e6:.0f} us one way; linear growth beyond the sizes that were measured",
    )
