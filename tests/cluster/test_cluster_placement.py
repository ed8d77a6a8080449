"""Placement of units: replicas apart, load even, and nothing moves without need."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.cluster.control.placement import NodeView, Unit, parse_unit, place_units


def nodes(numbers: set[int]) -> list[NodeView]:
    return [NodeView(f"id-{number}", f"node-{number}", "127.0.0.1") for number in numbers]


def units(shards: int, replicas: int, brokers: int) -> list[Unit]:
    every = [Unit("crawl", number) for number in range(shards)]
    every += [Unit("replica", number, copy) for copy in range(replicas) for number in range(shards)]
    return every + [Unit("broker", number) for number in range(brokers)]


@given(
    st.sets(st.integers(0, 7), min_size=1),
    st.sets(st.integers(0, 7)),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_placement_keeps_its_rules(first: set[int], second: set[int], shards: int, replicas: int, brokers: int) -> None:
    wanted = units(shards, replicas, brokers)
    before = place_units(wanted, nodes(first), {})
    after = place_units(wanted, nodes(second), before)
    for alive, placed in ((first, before), (second, after)):
        assert set(placed.values()) <= {f"id-{number}" for number in alive}
        copies = [(unit.number, node) for unit, node in placed.items() if unit.kind == "replica"]
        assert len(copies) == len(set(copies)), "two replicas of a shard are on one node"
        assert len(copies) == shards * min(replicas, len(alive)), "a replica is missing although there is a node"
        assert sum(unit.kind != "replica" for unit in placed) == ((shards + brokers) if alive else 0)
    for unit, node in before.items():
        if node in {f"id-{number}" for number in second}:
            assert after[unit] == node, "a unit has moved although its node lives"


def test_units_are_spread_evenly() -> None:
    placed = place_units(units(4, 2, 1), nodes({0, 1, 2}), {})
    for kind in ("crawl", "replica"):
        load = Counter(node for unit, node in placed.items() if unit.kind == kind)
        assert max(load.values()) - min(load.values()) <= 1


def test_a_build_runs_beside_the_crawl_of_its_shard() -> None:
    crawls = place_units([Unit("crawl", number) for number in range(4)], nodes({0, 1, 2}), {})
    builds = [Unit("build", number) for number in range(4)]
    placed = place_units(builds, nodes({0, 1, 2}), crawls)
    assert [placed[unit] for unit in builds] == [crawls[Unit("crawl", number)] for number in range(4)]


@pytest.mark.parametrize("unit", [Unit("crawl", 3), Unit("replica", 12, 1), Unit("broker", 0), Unit("build", 4095)])
def test_a_name_leads_back_to_its_unit(unit: Unit) -> None:
    assert parse_unit(unit.name) == unit


@pytest.mark.parametrize("name", ["", "coordinator", "crawl", "crawl-", "crawl-1-2", "replica-1", "other-1", "crawl-x"])
def test_other_names_are_no_units(name: str) -> None:
    assert parse_unit(name) is None
