"""Write what follows from bench/results: coefficients of `periplus plan`, docs/scale.md and tables of decision 054.

.venv/bin/python scripts/write_scale.py [--coefficients]

Run by `make bench-scale` and `make scale-page`. A test fails while the page or the table differs from the results.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from partitioning_tables import tables
from scale_coefficients import RESULTS, coefficients_text, read_results
from scale_plots import Series, draw_lines

from periplus.app.capacity.capacity_model import plan_capacity
from periplus.app.capacity.capacity_records import CapacityPlan
from periplus.app.capacity.coefficients import COEFFICIENTS_FILE, _rows
from periplus.app.capacity.quantities import format_amount, format_bytes, format_hours
from periplus.app.capacity.workload_defaults import DEFAULT_MACHINE, make_workload

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "scale.md"
DECISION: Final = ROOT / "docs" / "decisions" / "054-document-partitioning.md"
PICTURES: Final = ROOT / "docs" / "pictures"
SIZES: Final = ((1e6, 1), (1e8, 10), (1e9, 100), (1e10, 1000))
"""Pages, and queries per second."""
NAMES: Final = {1e6: "1 M", 1e8: "100 M", 1e9: "1 bn", 1e10: "10 bn"}


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def plans() -> list[CapacityPlan]:
    """Return the plans of all sizes."""
    return [
        plan_capacity(make_workload(pages=pages, queries_per_second=rate, change_per_day=0.05), DEFAULT_MACHINE)
        for pages, rate in SIZES
    ]


def plan_table(all_plans: list[CapacityPlan]) -> str:
    """Return machines, memory, disk, bandwidth and time for all sizes."""
    rows: list[list[str]] = [
        ["queries per second", *(f"{p.workload.queries_per_second:,.0f}" for p in all_plans)],
        ["**machines**", *(f"**{p.machines:,}**" for p in all_plans)],
        ["index shards x replicas", *(f"{p.shards:,} x {p.replicas}" for p in all_plans)],
    ]
    for number, role in enumerate(("crawl", "build", "serving", "brokers")):
        roles = [p.roles[number] for p in all_plans]
        if role != "build":
            rows.append([f"{role}: machines", *(f"{r.machines:,} ({r.limited_by})" for r in roles)])
        rows.append([f"{role}: busy cores", *(f"{r.cores:,.1f}" for r in roles)])
        rows.append([f"{role}: memory", *(format_bytes(r.memory) for r in roles)])
        if role != "brokers":
            rows.append([f"{role}: disk", *(format_bytes(r.disk) for r in roles)])
        if role != "build":
            rows.append([f"{role}: bandwidth", *(format_amount(r.bandwidth, "bit/s") for r in roles)])
        if roles[0].hours:
            rows.append([f"{role}: time", *(format_hours(r.hours) for r in roles)])
    latencies = [p.latency for p in all_plans]
    rows += [
        ["latency p50, modelled", *(f"{latency.p50:.1f} ms" for latency in latencies)],
        ["latency p99, hedged, modelled", *(f"{latency.hedged_p99:.1f} ms" for latency in latencies)],
        ["levels of brokers", *(str(latency.broker_levels) for latency in latencies)],
    ]
    return _table(["pages", *(NAMES[p.workload.pages] for p in all_plans)], rows)


def pressure_table(all_plans: list[CapacityPlan]) -> str:
    """Return what breaks first at each size: needs as multiples of one machine."""
    names = [pressure.resource for pressure in all_plans[-1].pressures]
    rows = []
    for name in names:
        ratios = [next(pr for pr in plan.pressures if pr.resource == name) for plan in all_plans]
        first = [plan.pressures[0].resource == name for plan in all_plans]
        cells = [f"**{pr.ratio:,.2f}**" if top else f"{pr.ratio:,.2f}" for pr, top in zip(ratios, first, strict=True)]
        rows.append([name, *cells, ratios[-1].remedy])
    return _table(["need, in machines", *(NAMES[p.workload.pages] for p in all_plans), "what is done"], rows)


def fan_out_table(figures: dict[str, Any]) -> str:
    """Return latency by number of shards."""
    rows = []
    for row in figures["fan_out"]:
        measured, paused, tree, small = (row[n] for n in ("measured", "with_pauses", "tree", "tree_with_rows_needed"))
        rows.append(
            [
                f"{row['shards']:,}",
                f"{measured['p50_ms']:.2f} / {measured['p99_ms']:.2f}",
                f"{measured['hedged_p50_ms']:.2f} / {measured['hedged_p99_ms']:.2f}",
                f"{paused['p50_ms']:.2f} / {paused['p99_ms']:.2f}",
                f"{paused['hedged_p50_ms']:.2f} / {paused['hedged_p99_ms']:.2f}",
                f"{row['one_broker_ms']:.2f}",
                f"{tree['ms']:.2f} ({tree['levels']} x {tree['fan_in']})",
                f"{row['rows_needed']} rows, {small['ms']:.2f}",
            ]
        )
    head = [
        "shards",
        "p50 / p99",
        "hedged",
        "pauses assumed",
        "hedged",
        "one broker",
        "tree (levels x fan-in)",
        "fewer rows",
    ]
    return _table(head, rows)


def exchange_table(figures: dict[str, Any]) -> str:
    """Return volumes by number of shards."""
    rows = [
        [
            f"{row['shards']:,}",
            *(format_bytes(row[name]) for name in ("outlinks", "anchors", "pagerank_round", "dictionary")),
            f"{row['messages_round']:,}",
        ]
        for row in figures["exchange"]["volumes"]
    ]
    head = ["shards", "outlinks, one crawl", "anchors", "a PageRank round", "dictionaries", "vectors of a round"]
    return _table(head, rows)


def coefficient_table() -> str:
    """Return all coefficients with their sources."""
    rows = [
        [row.name, f"{row.value:,.4g} {row.unit}".rstrip(), f"`{row.file}`", f"`{row.field}`", row.date, row.meaning]
        for row in _rows()
        if not row.name.startswith(("fan_out_", "hedged_"))
    ]
    return _table(["coefficient", "value", "file in bench/results", "field", "measured", "what"], rows)


def write_section(page: str, name: str, body: str) -> str:
    """Return a page with a section between its markers replaced."""
    begin, end = f"<!-- {name}: written by `make scale-page` -->", f"<!-- end of {name} -->"
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    if not rest or not tail:
        raise SystemExit(f"The page lacks the markers of {name}.")
    return f"{head}{begin}\n\n{body}\n\n{end}{tail}"


def scale_page(page: str) -> str:
    """Return docs/scale.md with all of its tables."""
    figures = read_results()["scale"]["figures"]
    all_plans = plans()
    shard, build = figures["shard"], figures["build"]
    facts = (
        f"{shard['shards']} shards of {shard['documents']:,} documents "
        f"({figures['corpus']}, {build['documents']:,} in all), "
        f"{shard['queries']} queries of the log, {shard['calls']:,} calls of the whole retrieve stage: "
        f"{shard['cpu_mean_us'] / 1e3:.2f} ms of CPU on average, p99 {shard['cpu_p99_us'] / 1e3:.2f} ms; on the clock "
        f"p50 {shard['clock_p50_us'] / 1e3:.2f}, p95 {shard['clock_p95_us'] / 1e3:.2f}, "
        f"p99 {shard['clock_p99_us'] / 1e3:.2f} ms. "
        f"An answer has {shard['record_bytes'] / 1e3:.1f} kB. Load average of the machine: {figures['load_average']}."
    )
    for name, body in (
        ("plans", plan_table(all_plans)),
        ("pressures", pressure_table(all_plans)),
        ("shards", facts),
        ("fan-out", fan_out_table(figures)),
        ("exchange", exchange_table(figures)),
        ("coefficients", coefficient_table()),
    ):
        page = write_section(page, name, body)
    return page


def decision_page(page: str) -> str:
    """Return the decision on partitioning with its tables."""
    figures = json.loads((RESULTS / "partitioning.json").read_text("utf-8"))["figures"]
    for name, body in tables(figures).items():
        page = write_section(page, name, body)
    return page


def pictures() -> dict[str, str]:
    """Return the drawings by file name."""
    figures = read_results()["scale"]["figures"]
    rows = figures["fan_out"]
    shards = [float(row["shards"]) for row in rows]
    many = [10 ** (6 + n / 4) for n in range(17)]
    all_plans = [
        plan_capacity(make_workload(pages=pages, queries_per_second=pages / 1e7, change_per_day=0.05), DEFAULT_MACHINE)
        for pages in many
    ]
    roles = ("crawl", "serving", "brokers")
    return {
        "scale-fan-out.svg": draw_lines(
            [
                Series("p99", shards, [row["measured"]["p99_ms"] for row in rows]),
                Series("p99, hedged", shards, [row["measured"]["hedged_p99_ms"] for row in rows]),
                Series("p50", shards, [row["measured"]["p50_ms"] for row in rows]),
                Series("one broker", shards, [row["one_broker_ms"] for row in rows]),
                Series("tree of brokers", shards, [row["tree"]["ms"] for row in rows]),
            ],
            "shards",
            "ms",
            "Time of the slowest shard and of brokers, by the number of shards",
        ),
        "scale-machines.svg": draw_lines(
            [
                Series(
                    role, many, [float(next(r for r in plan.roles if r.role == role).machines) for plan in all_plans]
                )
                for role in roles
            ],
            "pages",
            "machines",
            "Machines for crawl, serving and brokers, by the number of pages",
        ),
        "scale-exchange.svg": draw_lines(
            [
                Series(name, shards[1:], [row[field] / 1e9 for row in figures["exchange"]["volumes"][1:]])
                for name, field in (
                    ("outlinks", "outlinks"),
                    ("anchors", "anchors"),
                    ("PageRank round", "pagerank_round"),
                    ("dictionaries", "dictionary"),
                )
            ],
            "shards",
            "GB",
            "What shards send each other for a billion pages, by the number of shards",
        ),
    }


def main() -> None:
    """Write the table of coefficients, the page and its pictures."""
    COEFFICIENTS_FILE.write_text(coefficients_text(), "utf-8")
    _rows.cache_clear()
    if "--coefficients" in sys.argv[1:]:
        return
    DECISION.write_text(decision_page(DECISION.read_text("utf-8")), "utf-8")
    PAGE.write_text(scale_page(PAGE.read_text("utf-8")), "utf-8")
    for name, drawing in pictures().items():
        (PICTURES / name).write_text(drawing, "utf-8")


if __name__ == "__main__":
    main()
