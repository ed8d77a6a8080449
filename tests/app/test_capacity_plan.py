"""Capacity plans: coefficients are those of bench/results, needs grow with the workload, bad input is refused."""

import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from periplus.app import describe_machine, describe_workload, plan_capacity
from periplus.app.capacity.capacity_records import CapacityPlan
from periplus.app.capacity.coefficients import COEFFICIENTS_FILE, Coefficient, load_coefficients, read_field
from periplus.app.capacity.quantities import (
    format_amount,
    format_hours,
    parse_bandwidth,
    parse_bytes,
    parse_count,
    parse_share,
)
from periplus.app.capacity.workload_defaults import DEFAULT_MACHINE, make_workload
from periplus.errors import BadInput

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
ROWS = msgspec.json.decode(COEFFICIENTS_FILE.read_bytes(), type=list[Coefficient])


def plan(pages: float, rate: float = 10, change: float = 0.05, **more: float) -> CapacityPlan:
    workload = make_workload(pages=pages, queries_per_second=rate, change_per_day=change, **more)  # type: ignore[arg-type]
    return plan_capacity(workload, DEFAULT_MACHINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_coefficient_is_what_its_benchmark_measured(row: Coefficient) -> None:
    record = json.loads((RESULTS / row.file).read_text("utf-8"))
    assert row.value == read_field(record, row.field), "run `make scale-page`"
    assert row.date == record["date"], "run `make scale-page`"


def _writer() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location("write_scale", ROOT / "scripts" / "write_scale.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


def test_the_page_and_its_pictures_are_up_to_date() -> None:
    writer = _writer()
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    assert page == writer.scale_page(page), "run `make scale-page`"
    decision = writer.DECISION.read_text("utf-8")
    assert decision == writer.decision_page(decision), "run `make scale-page`"
    for name, drawing in writer.pictures().items():
        assert (ROOT / "docs" / "pictures" / name).read_text("utf-8") == drawing, "run `make scale-page`"


def test_a_field_that_is_not_there_is_named() -> None:
    assert read_field({"figures": {"web": [{"cpu": 2}]}}, "figures.web.0.cpu") == 2
    with pytest.raises(KeyError, match=r"figures\.web\.1\.cpu"):
        read_field({"figures": {"web": [{"cpu": 2}]}}, "figures.web.1.cpu")


def test_a_plan_names_the_coefficients_that_it_used() -> None:
    used = {row.name for row in plan(1e9, 100).coefficients}
    assert {"build_cpu_us_per_word", "crawl_pages_per_cpu_second", "broker_us_per_shard"} <= used
    assert used <= {row.name for row in ROWS}


def test_build_time_is_the_arithmetic_of_its_coefficients() -> None:
    table = load_coefficients()
    result = plan(1e8, links_per_page=10, words_per_page=300)
    links = 1e9
    seconds = (
        1e8 * 300 * table["build_cpu_us_per_word"] / 1e6
        + links * table["graph_build_cpu"] / table["graph_links"]
        + links * table["pagerank_rounds"] * table["pagerank_ns_per_link_round"] / 1e9
    )
    build = result.roles[1]
    assert build.cores * build.hours * 3600 == pytest.approx(seconds, rel=1e-6)


def test_machines_fit_what_they_hold() -> None:
    for pages in (1e6, 1e8, 1e9, 1e10):
        result = plan(pages, pages / 1e7)
        for role in result.roles:
            if role.role != "build":
                assert role.memory <= role.machines * DEFAULT_MACHINE.memory
                assert role.disk <= role.machines * DEFAULT_MACHINE.disk
                assert role.cores <= role.machines * DEFAULT_MACHINE.cores


def test_needs_grow_with_the_workload() -> None:
    small, large = plan(1e8), plan(1e9)
    assert large.machines > small.machines
    assert large.exchange.pagerank_round > small.exchange.pagerank_round
    assert plan(1e9, 50_000).replicas > large.replicas
    assert plan(1e9, change=0.5).roles[0].cores > large.roles[0].cores
    assert plan(1e9, revisits_per_change=3).freshness > large.freshness == pytest.approx(1 - math.exp(-1))
    assert plan(1e10, 1000).latency.broker_levels > 1


def test_a_small_web_takes_a_machine_for_each_replica() -> None:
    result = plan(1e5, 1)
    assert (result.machines, result.shards) == (2, 1)
    assert result.exchange.outlinks == 0
    assert all(pressure.ratio < 1 for pressure in result.pressures)
    assert plan(1e5, 1, replicas=1).machines == 1


def test_what_breaks_first_comes_first() -> None:
    ratios = [pressure.ratio for pressure in plan(1e10).pressures]
    assert ratios == sorted(ratios, reverse=True)


def test_machines_that_can_never_suffice_are_refused() -> None:
    with pytest.raises(BadInput, match="replicas"):
        plan_capacity(
            make_workload(pages=1e9, queries_per_second=1e7, change_per_day=0),
            describe_machine(1, "64GB", "4TB", "10Gbit"),
        )
    with pytest.raises(BadInput, match="too little"):
        plan_capacity(
            make_workload(pages=1e9, queries_per_second=1, change_per_day=0),
            describe_machine(1, "100MB", "4TB", "10Gbit"),
        )


def test_quantities_as_people_write_them() -> None:
    assert [parse_count(text, "Pages") for text in ("1e9", "1bn", "1,000,000,000", "1000M", "1_000m")] == [1e9] * 5
    assert parse_share("5%", "Change") == parse_share("0.05", "Change") == 0.05
    assert parse_bytes("64GB", "Memory") == 64e9
    assert parse_bytes("1 GiB", "Memory") == 2**30
    assert parse_bandwidth("10Gbit/s", "Bandwidth") == 10e9
    assert [format_amount(value, "B") for value in (12, 1500, 2.5e13)] == ["12 B", "1.5 kB", "25 TB"]
    assert [format_hours(hours) for hours in (0.001, 0.5, 5, 240)] == ["3.6 s", "30 min", "5 h", "10 days"]


@pytest.mark.parametrize("text", ["", "many", "-5", "1e", "1e999", "nan", "inf", "0", "1e14", "5 apples", "1" * 400])
def test_what_is_not_a_count_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="Pages"):
        parse_count(text, "Pages")


@pytest.mark.parametrize(
    ("name", "text"),
    [("change_per_day", "5 percent"), ("external_links", "200%"), ("crawl_days", "0"), ("page_bytes", "5 pages")],
)
def test_a_workload_that_cannot_be_is_refused(name: str, text: str) -> None:
    texts = {"pages": "1e6", "queries_per_second": "1", "change_per_day": "1%"}
    with pytest.raises(BadInput):
        describe_workload(texts | {name: text})
    with pytest.raises(BadInput, match="Replicas"):
        describe_workload(texts, replicas=0)
    with pytest.raises(BadInput, match="Cores"):
        describe_machine(0, "1GB", "1TB", "1Gbit")
