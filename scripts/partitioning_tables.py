"""The tables of decision 054, from bench/results/partitioning.json."""

from typing import Any


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _pair(row: dict[str, Any], low: str, high: str) -> str:
    return "overloaded" if row[low] is None else f"{row[low]:.2f} / {row[high]:.2f}"


def split_table(figures: dict[str, Any]) -> str:
    """Return messages, bytes, work, latency and balance of every way to split the index."""
    rows = [
        [
            str(row["nodes"]),
            row["split"],
            f"{row['messages']:.1f}",
            f"{row['bytes_mean'] / 1e3:.1f} / {row['bytes_p99'] / 1e3:.1f}",
            f"{row['work_units'] / 1e3:.1f}",
            f"{row['cpu_us']:.0f}",
            f"{row['cpu_us_busiest']:.0f}",
            f"{row['balance']:.2f}",
            _pair(row, "p50_ms", "p99_ms"),
            *(_pair(load, "p50_ms", "p99_ms") for load in row["loaded"]),
            f"{row['overlap']:.3f}",
        ]
        for row in figures["rows"]
    ]
    head = [
        "nodes",
        "split",
        "messages",
        "kB, mean / p99",
        "work, k units",
        "CPU, us",
        "busiest node, us",
        "max / mean",
        "alone, ms",
        "load 0.3",
        "load 0.6",
        "overlap@10",
    ]
    return _table(head, rows)


def kind_table(figures: dict[str, Any]) -> str:
    """Return bytes, work and latency of each kind of query on the most nodes."""
    nodes = max(row["nodes"] for row in figures["rows"])
    rows = []
    for name, kinds in figures["kinds"].items():
        split, _, count = name.rpartition(", ")
        if int(count) == nodes:
            for kind in ("union", "intersection", "phrase"):
                if row := kinds.get(kind):
                    cells = [f"{row['bytes_mean'] / 1e3:.1f}", f"{row['cpu_us']:.0f}", _pair(row, "p50_ms", "p99_ms")]
                    rows.append([split, kind, *cells])
    return _table([f"split over {nodes} nodes", "kind", "kB", "CPU, us", "p50 / p99, ms"], rows)


def failure_table(figures: dict[str, Any]) -> str:
    """Return what one lost node costs, and what a new document touches."""
    rows = []
    for nodes, splits in figures["one_node_lost"].items():
        for split, lost in splits.items():
            disk = figures["disk"][nodes][split]
            cells = [f"{lost['overlap']:.3f}", f"{lost['unchanged']:.1%}"]
            rows.append([nodes, split, *cells, f"{disk['nodes_of_a_document']:.1f}", f"{disk['disk_balance']:.3f}"])
    head = [
        "nodes",
        "split",
        "overlap@10 while one is lost",
        "answers unchanged",
        "nodes of a new document",
        "disk, max / mean",
    ]
    return _table(head, rows)


def growth_table(figures: dict[str, Any]) -> str:
    """Return bytes and CPU time by the size of the collection: measured, then projected."""
    names = ("documents", "pipelined", "gathered")
    rows = [
        [f"{row['documents']:,}", *(f"{row[f'{n}_bytes'] / 1e3:.1f} kB, {row[f'{n}_cpu_us']:.0f} us" for n in names)]
        for row in figures["growth"]
    ]
    for row in figures["projected"]:
        cells = [f"{row[name]['bytes'] / 1e3:,.1f} kB, {row[name]['cpu_us']:,.0f} us" for name in names]
        rows.append([f"{row['collection']:,.0f} (projected)", *cells])
    powers = figures["growth_exponents"]
    rows.append(["exponent", *(f"{powers[f'{n}_bytes']} of bytes, {powers[f'{n}_cpu_us']} of CPU" for n in names)])
    return _table(["documents", "by documents", "by terms, pipelined", "by terms, gathered"], rows)


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """Return all tables by the names of their sections."""
    return {
        "splits": split_table(figures),
        "kinds": kind_table(figures),
        "failures": failure_table(figures),
        "growth": growth_table(figures),
    }
