"""The PageRank kernel against its naive twin, and on a real web graph."""

import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.kernels import pagerank

CNR = Path(__file__).parents[3] / "shared" / "data" / "graphs" / "cnr-2000" / "edges.tsv.zst"


def _load_naive():
    path = Path(__file__).parents[1] / "naive" / "pagerank.py"
    spec = importlib.util.spec_from_file_location("naive_pagerank", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


naive = _load_naive()


def rank(links, nodes, damping=0.85, tolerance=1e-12):
    sources, targets, weights = zip(*links, strict=True) if links else ((), (), ())
    found = pagerank.collect_in_links(
        np.array(sources, np.int32), np.array(targets, np.int32), np.array(weights, np.float32), nodes
    )
    return pagerank.pagerank(found, damping, tolerance, 500)


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 25))
    node = st.integers(0, nodes - 1)
    weight = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])
    return nodes, draw(st.lists(st.tuples(node, node, weight), max_size=80))


@settings(deadline=None)
@given(graphs(), st.sampled_from([0.1, 0.5, 0.85, 0.95]))
def test_it_agrees_with_the_naive_twin(graph, damping):
    nodes, links = graph
    found = rank(links, nodes, damping)
    wanted = naive.pagerank(links, nodes, damping, 1e-12, 500)
    assert np.abs(found.ranks - wanted).sum() < 1e-9
    assert found.ranks.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_known_answer():
    # Two pages that link to each other, and one that links to the first: 1 - d over 3, and so on by hand.
    found = rank([(0, 1, 1), (1, 0, 1), (2, 0, 1)], 3).ranks
    floor = 0.15 / 3
    first = (floor + 0.85 * floor + 0.85 * floor) / (1 - 0.85**2)
    assert found == pytest.approx([first, floor + 0.85 * first, floor], abs=1e-10)


def test_no_nodes_and_no_links():
    assert len(rank([], 0).ranks) == 0
    assert rank([], 4).ranks == pytest.approx([0.25] * 4)


def test_rounds_are_bounded():
    found = pagerank.pagerank(
        pagerank.collect_in_links(np.array([0], np.int32), np.array([1], np.int32), np.ones(1, np.float32), 3),
        0.99,
        0.0,
        7,
    )
    assert found.rounds == 7


def test_warming_up_compiles_what_is_used():
    pagerank.warm()


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not CNR.exists(), reason="../shared/data/graphs/cnr-2000 is absent")
def test_a_real_graph_agrees_with_plain_power_iteration():
    with CNR.open("rb") as file:
        raw = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(file.read())).read()
    edges = np.fromstring(raw, np.int32, sep=" ").reshape(-1, 2)
    sources, targets = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
    nodes = int(edges.max()) + 1
    weights = np.where(targets % 3 == 0, 0.3, 1.0).astype(np.float32)
    found = pagerank.pagerank(pagerank.collect_in_links(sources, targets, weights, nodes), 0.85, 1e-9)
    assert found.ranks.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.abs(found.ranks - plain_iteration(sources, targets, weights, nodes)).sum() < 1e-6


def plain_iteration(sources, targets, weights, nodes):
    out = np.bincount(sources, weights, nodes)
    ranks = np.full(nodes, 1.0 / nodes)
    share = weights / out[sources]
    for _ in range(100):
        pulled = np.bincount(targets, ranks[sources] * share, nodes)
        ranks = (1 - 0.85) / nodes + 0.85 * (pulled + ranks[out == 0].sum() / nodes)
    return ranks
