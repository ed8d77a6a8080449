"""`periplus plan`: machines, memory, disk, bandwidth and time for a web of any size, from measured coefficients."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from periplus.cli.console import echo, echo_json, format_count, print_table
from periplus.cli.options import AsJson

if TYPE_CHECKING:
    from periplus.app import CapacityPlan

__all__ = ["plan"]

_SHOWN_PRESSURES = 5


def _option(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text)


def plan(
    pages: Annotated[str, _option("--pages", "Pages to fetch, index and search: 1e9, 100M, 1bn.")],
    queries_per_second: Annotated[
        str, _option("--queries-per-second", "Queries per second at the busiest time; none is answered from a cache.")
    ] = "10",
    change_per_day: Annotated[str, _option("--change-per-day", "Share of the pages that change in a day.")] = "5%",
    cores: Annotated[int, _option("--cores", "Cores of a machine.")] = 16,
    memory: Annotated[str, _option("--memory", "Memory of a machine.")] = "64GB",
    disk: Annotated[str, _option("--disk", "Disk of a machine.")] = "4TB",
    bandwidth: Annotated[str, _option("--bandwidth", "Network of a machine.")] = "10Gbit",
    replicas: Annotated[int, _option("--replicas", "Copies of each index shard; more if queries need them.")] = 2,
    crawl_days: Annotated[
        str, _option("--crawl-days", "Days in which all pages are fetched for the first time.")
    ] = "30",
    page_size: Annotated[
        str | None, _option("--page-size", "HTML of a page.  [default: that of the crawl benchmark]")
    ] = None,
    words_per_page: Annotated[str, _option("--words-per-page", "Words of a page that are indexed.")] = "500",
    links_per_page: Annotated[
        str | None, _option("--links-per-page", "Links of a page.  [default: those of a real crawl, cnr-2000]")
    ] = None,
    external_links: Annotated[
        str, _option("--external-links", "Share of the links that lead to other sites, which may be on other shards.")
    ] = "20%",
    urls_per_page: Annotated[
        str, _option("--urls-per-page", "URLs that the frontier knows for each page that is fetched.")
    ] = "4",
    revisits_per_change: Annotated[
        str, _option("--revisits-per-change", "Visits of a page for each of its changes: more keep copies fresher.")
    ] = "1",
    sources: Annotated[
        bool, _option("--sources", "List every coefficient with the file in bench/results and the field it is from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Plan a search engine: machines, cores, memory, disk, bandwidth and time for crawl, build and serving.

    Example: `periplus plan --pages 1e9 --queries-per-second 100 --change-per-day 5%`

    Speeds and sizes are coefficients that the benchmarks of Periplus measured on one machine; --sources lists them.
    What no benchmark can know (words of a page, links, how often pages change) is an assumption with an option.
    The result is arithmetic on these: times of larger shards and of many shards are modelled, not measured. Machines
    are loaded to one half. docs/scale.md explains the model and shows plans for 1 M to 10 bn pages.
    """
    from periplus.app import describe_machine, describe_workload, plan_capacity

    texts = {
        "pages": pages,
        "queries_per_second": queries_per_second,
        "change_per_day": change_per_day,
        "page_bytes": page_size,
        "words_per_page": words_per_page,
        "links_per_page": links_per_page,
        "external_links": external_links,
        "urls_per_page": urls_per_page,
        "crawl_days": crawl_days,
        "revisits_per_change": revisits_per_change,
    }
    workload = describe_workload({name: text for name, text in texts.items() if text is not None}, replicas)
    result = plan_capacity(workload, describe_machine(cores, memory, disk, bandwidth))
    echo_json(result) if as_json else _print_plan(result, sources)


def _print_plan(plan: "CapacityPlan", sources: bool) -> None:
    from periplus.app import format_amount, format_hours

    workload, machine = plan.workload, plan.machine
    echo(
        f"{format_amount(workload.pages)} pages, {workload.queries_per_second:g} queries per second, "
        f"{workload.change_per_day:.3g} of the pages changed per day: {format_count(plan.machines, 'machine')} of "
        f"{machine.cores} cores, {format_amount(machine.memory, 'B')}, {format_amount(machine.disk, 'B')} of disk, "
        f"{format_amount(machine.bandwidth, 'bit/s')}"
    )
    echo()
    rows = [
        [
            role.role,
            f"{role.machines:,}",
            f"{role.cores:,.1f}",
            format_amount(role.memory, "B"),
            format_amount(role.disk, "B") if role.disk else "-",
            format_amount(role.bandwidth, "bit/s"),
            format_hours(role.hours) if role.hours else "always",
            role.limited_by,
        ]
        for role in plan.roles
    ]
    print_table(["", "machines", "busy cores", "memory", "disk", "bandwidth", "time", "limited by"], rows)
    for role in plan.roles:
        echo()
        echo(f"{role.role}:")
        for note in role.notes:
            echo(f"  {note}")
    _print_rest(plan)
    _print_sources(plan, sources)


def _print_rest(plan: "CapacityPlan") -> None:
    from periplus.app import format_amount

    latency, exchange = plan.latency, plan.exchange
    echo()
    echo(
        f"latency, modelled: p50 {latency.p50:.1f} ms, p99 {latency.p99:.1f} ms, {latency.hedged_p99:.1f} ms if late "
        f"replicas are hedged; {latency.broker:.1f} ms of it for brokers and network"
    )
    echo(
        f"exchange between shards: outlinks {format_amount(exchange.outlinks, 'B')}, anchors "
        f"{format_amount(exchange.anchors, 'B')}, PageRank {exchange.pagerank_rounds} rounds of "
        f"{format_amount(exchange.pagerank_round, 'B')}, dictionaries {format_amount(exchange.dictionary, 'B')}"
    )
    echo(f"freshness: {plan.freshness:.0%} of the copies are current, on average")
    echo()
    echo("what breaks first, as a multiple of one machine:")
    for pressure in plan.pressures[:_SHOWN_PRESSURES]:
        echo(f"  {pressure.ratio:>10,.2f}  {pressure.resource}: {pressure.remedy}")
    echo()
    echo("assumed:")
    for line in plan.assumptions:
        echo(f"  {line}")


def _print_sources(plan: "CapacityPlan", sources: bool) -> None:
    echo()
    dates = sorted({row.date for row in plan.coefficients})
    if not sources:
        echo(f"{len(plan.coefficients)} measured coefficients, {dates[0]} to {dates[-1]}; --sources lists them")
        return
    rows = [
        [row.name, f"{row.value:,.4g} {row.unit}".rstrip(), row.date, f"{row.file} {row.field}"]
        for row in plan.coefficients
    ]
    print_table(["measured coefficient", "value", "date", "bench/results"], rows)
