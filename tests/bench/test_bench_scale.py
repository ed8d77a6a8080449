"""The simulation of many shards: percentiles, hedging, trees of brokers, and volumes of exchange."""

from pathlib import Path

import numpy as np
import pytest

from exchange_volumes import rank_exchange, volumes
from fanout_model import BrokerCost, ShardTimes, best_tree, fan_out, fit_line, rows_needed

TIMES = ShardTimes(np.array([[0.001, 0.002], [0.003, 0.004]]), np.array([*[0.0] * 99, 0.1]))
SIZES = {
    "links_per_page": 10.0,
    "external_share": 0.2,
    "outlink_bytes": 50.0,
    "anchor_bytes": 20.0,
    "numbers_per_page": 0.5,
    "rounds": 50.0,
    "dictionary_bytes": 1000.0,
    "dictionary_documents": 100.0,
    "statistics_bytes": 10.0,
    "heaps": 0.5,
}


def test_more_shards_are_slower_and_hedging_removes_rare_delays() -> None:
    one, many = fan_out(TIMES, 1, None), fan_out(TIMES, 256, None)
    assert one.p50 < 0.005 < many.p50
    assert many.p50 == pytest.approx(0.1, abs=0.01)
    hedged = fan_out(TIMES, 256, 0.005)
    assert hedged.p50 < 0.01
    assert 0.005 < hedged.hedged < 0.02


def test_a_query_is_as_slow_as_the_slowest_of_its_shards() -> None:
    quiet = ShardTimes(np.array([[0.001, 0.005]]), np.zeros(1))
    assert fan_out(quiet, 64, None).p50 == pytest.approx(0.005)
    assert fan_out(quiet, 64, 0.002).p50 == pytest.approx(0.005)  # A second replica may be as slow.


def test_brokers_form_a_tree_where_one_is_too_slow() -> None:
    cost = BrokerCost(1e-4, 5e-5, 30_000, 5e-5, 1.25e9)
    assert best_tree(cost, 16).levels == 1
    tree = best_tree(cost, 4096)
    assert tree.levels > 1
    assert tree.seconds < cost.of(4096) / 10
    assert tree.fan_in**tree.levels >= 4096


def test_rows_needed_are_all_of_one_shard_and_few_of_many() -> None:
    assert rows_needed(1, 100) == 100
    counts = [rows_needed(shards, 100) for shards in (2, 16, 256, 4096)]
    assert counts == sorted(counts, reverse=True)
    random = np.random.default_rng(1)
    most = [np.bincount(random.integers(0, 16, 100), minlength=16).max() for _ in range(2_000)]
    assert np.mean(np.array(most) > rows_needed(16, 100)) <= 0.002


def test_a_line_is_fitted_and_never_negative() -> None:
    assert fit_line([1, 2, 3], [3.0, 5.0, 7.0]) == pytest.approx((1.0, 2.0))
    assert fit_line([1, 2, 4], [1.0, 2.2, 5.0])[0] == 0.0


def test_nothing_is_exchanged_by_one_shard_and_links_leave_many() -> None:
    assert volumes(1, 1e6, SIZES)["outlinks"] == 0
    two, many = volumes(2, 1e6, SIZES), volumes(4096, 1e6, SIZES)
    assert two["outlinks"] == pytest.approx(1e6 * 10 * 0.2 * 50 / 2)
    assert many["pagerank_round"] == 1e6 * 0.5 * 8
    assert many["messages_round"] == 4096 * 4095


def test_numbers_of_a_round_are_distinct_targets_of_each_shard(tmp_path: Path) -> None:
    path = tmp_path / "edges.tsv"
    # Pages 0 to 63 are one block, 64 to 127 another: two links of one block to the same page count once.
    path.write_text("0\t100\n1\t100\n100\t0\n2\t3\n")
    one, many = rank_exchange(path, [1, 4096])
    assert one["numbers_per_round"] == one["crossing_links"] == 0
    assert (many["crossing_links"], many["numbers_per_round"]) == (3, 2)
