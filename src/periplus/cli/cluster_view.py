"""The state of a cluster, as tables."""

from collections.abc import Iterable
from typing import Any

from periplus.cli.console import clean, echo, format_count, print_table

__all__ = ["echo_cluster"]


def echo_cluster(status: dict[str, Any]) -> None:
    """Print what runs where, and what is missing."""
    units = list(status["units"].values())
    activity = [name for name in ("crawling", "building", "serving") if status[name]]
    echo(
        f"Cluster {status['id'][:8]}, Periplus {status['periplus']}: {', '.join(activity) or 'idle'}; "
        f"generation {status['generation'] or '-'}, coordinator of term {status['coordinator']['term']}."
    )
    rows = [(node["label"], node["address"], _names(units, node["label"])) for node in status["nodes"]]
    rows += [(label, "refused", clean(reason)) for label, reason in status["refused"].items()]
    print_table(("node", "address", "units"), rows)
    print_table(
        ("shard", "state", "pages", "crawl", "replicas"),
        [_shard_row(shard, status, units) for shard in status["shards"]],
    )
    for unit in units:
        if url := unit["description"].get("url"):
            echo(f"Broker {unit['number']} on {unit['label']}: {url}")
    missing = status["missing"]
    if missing:
        echo(f"Missing: {', '.join(missing)}")
        for name in missing:
            if fault := status["units"][name]["fault"]:
                echo(f"  {name}: {clean(fault)}")
    if fault := status.get("coordinator_fault") or status.get("crawl", {}).get("fault"):
        echo(f"Fault: {clean(fault)}")


def _names(units: Iterable[dict[str, Any]], label: str) -> str:
    """Return how many units of each kind are on a node."""
    kinds = [unit["kind"] for unit in units if unit["label"] == label and unit["state"] != "wanted"]
    counts = [f"{kinds.count(kind)} {kind}" for kind in ("crawl", "build", "replica", "broker") if kind in kinds]
    return ", ".join(counts) or "-"


def _shard_row(shard: dict[str, Any], status: dict[str, Any], units: list[dict[str, Any]]) -> tuple[str, ...]:
    number = shard["number"]
    crawl = status.get("crawl", {}).get("shards", {}).get(str(number), {})
    replicas = [
        f"{unit['label']}{'' if unit['state'] == 'running' else ' (' + unit['state'] + ')'}"
        for unit in units
        if unit["kind"] == "replica" and unit["number"] == number
    ]
    place = next((unit["label"] for unit in units if unit["kind"] == "crawl" and unit["number"] == number), "")
    activity = f"{crawl.get('state', 'starting')} on {place}" if place else "-"
    pages = format_count(crawl.get("pages", 0), "page") if crawl else "-"
    return str(number), shard["state"], pages, activity, ", ".join(replicas) or "-"
