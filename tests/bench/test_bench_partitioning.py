"""Splitting by terms and by documents gives the answers of one index; the models of load do as they say."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from corpus import Asked, make_passages, make_queries, tokenise
from partition_load import LATENCY, MessageCost, latency, loaded_latency, messages, node_seconds
from partitioning import place_balanced, place_by_hash
from partitions import DocumentPartition, Evaluation, TermPartition, Visit, WholeIndex, is_plain

TEXTS = list(tokenise(p.text for p in islice(make_passages(60, 400, 8), 1_200)))
QUERIES = [*make_queries(TEXTS, 20), Asked("union", ("nowhere", TEXTS[0].split(" ")[0]), "")]
FREE = MessageCost(0.0, 0.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> WholeIndex:
    return WholeIndex(TEXTS, tmp_path_factory.mktemp("partitioning") / "whole", 10)


@pytest.mark.parametrize("gather", [False, True], ids=["pipelined", "gathered"])
@pytest.mark.parametrize("nodes", [2, 5])
def test_terms_on_several_nodes_give_the_answers_of_one_index(whole: WholeIndex, nodes: int, gather: bool) -> None:
    plans = [plan for plan in map(whole.plan, QUERIES) if is_plain(plan)]
    several = 0
    for place in (place_by_hash(nodes), place_balanced(whole, plans[::2], nodes)):
        split = TermPartition(whole, nodes, place, "terms", gather=gather)
        for plan in plans:
            _, right, _ = whole.run(plan, 0)
            evaluation = split.evaluate(plan, 0)
            several += len(evaluation.visits) > 1
            np.testing.assert_allclose(evaluation.scores, right.scores, rtol=1e-4)
    assert several > len(plans) / 2


def test_documents_on_several_nodes_give_the_answers_of_one_index(whole: WholeIndex, tmp_path: Path) -> None:
    split = DocumentPartition(whole, 3, tmp_path)
    for plan in map(whole.plan, QUERIES[:20]):
        _, right, _ = whole.run(plan, 0)
        evaluation = split.evaluate(plan, 0)
        assert len(evaluation.visits) == 3
        np.testing.assert_allclose(evaluation.scores, right.scores, rtol=1e-4)
        assert len(split.evaluate(plan, 0, without=0).visits) == 2


def test_messages_and_latency_of_a_route_add_up() -> None:
    visits = (Visit(0, 0.001, 5, 1000), Visit(1, 0.002, 5, 80))
    empty = np.zeros(0, np.float32), np.zeros(0, np.int64)
    route = Evaluation(visits, 50, *empty)
    fan = Evaluation(visits, 50, *empty, merge=0.0005, sequential=False)
    assert messages(route)[0] == 3
    assert messages(fan)[0] == 4
    assert latency(route, FREE) == pytest.approx(0.003 + 3 * LATENCY, rel=0.01)
    assert latency(fan, FREE) == pytest.approx(0.0025 + 2 * LATENCY, rel=0.01)
    assert node_seconds(route, MessageCost(2e-6, 0.0)) == [(0, pytest.approx(0.001002)), (1, pytest.approx(0.002002))]


def test_a_loaded_node_makes_queries_wait_and_an_overloaded_one_has_no_latency() -> None:
    visits = (Visit(0, 0.001, 5, 0), Visit(1, 0.0005, 5, 0))
    route = Evaluation(visits, 0, np.zeros(0, np.float32), np.zeros(0, np.int64))
    idle, busy, over = (loaded_latency([route], FREE, 2, rate) for rate in (1.0, 800.0, 1001.0))
    assert idle["p99_ms"] < busy["p50_ms"] < busy["p99_ms"]
    assert busy["busiest"] == pytest.approx(0.8)
    assert over["p99_ms"] is None
