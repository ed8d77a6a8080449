"""Packed adjacency and PageRank against their naive twins, and on a real web graph."""

import importlib.util
import io
import math
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.errors import CorruptFile
from periplus.graph.adjacency import Adjacency, pack_pairs
from periplus.graph.external_sort import PairSorter
from periplus.graph.kernels import adjacency, cross_part_links, pagerank
from periplus.graph.kernels.adjacency import HostLayout
from periplus.graph.ranking import pagerank_solver
from periplus.graph.ranking.pagerank_solver import PagerankSolver

CNR = Path(__file__).parents[3] / "shared" / "data" / "graphs" / "cnr-2000" / "edges.tsv.zst"


def _load_naive(name):
    path = Path(__file__).parents[1] / "naive" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"naive_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


naive = _load_naive("pagerank")
naive_adjacency = _load_naive("adjacency")
naive_cross_part_links = _load_naive("cross_part_links")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("links")


def as_pairs(links):
    joined = [target << 32 | source for source, target in links]
    return np.array(joined, np.uint64)


def packed(folder, links, nodes, memory=1, counted=False, hosts=None):
    """Build an adjacency of (source, target) pairs; `hosts` has the host of each node, in order."""
    runs = PairSorter(folder, "test", memory, counted)
    pairs = as_pairs(links)
    runs.add(pairs, np.ones(len(pairs), np.uint32) if counted else None)
    places = (hosts, np.searchsorted(hosts, np.arange(hosts.max() + 2)).astype(np.int64)) if hosts is not None else ()
    host_layout = HostLayout(*places) if places else HostLayout(np.zeros(0, np.int32), np.zeros(0, np.int64))
    return pack_pairs(runs, nodes, folder / "stream", counted, host_layout=host_layout)


def rank(links, nodes, near=1.0, damping=0.85, tolerance=1e-13, memory=10**9, workers=1):
    return PagerankSolver(links, near, memory, workers).solve(np.full(nodes, (1 - damping) / nodes), damping, tolerance)


@st.composite
def graphs(draw, most=150):
    nodes = draw(st.integers(1, most))
    node = st.integers(0, nodes - 1)
    links = draw(st.lists(st.tuples(node, node).filter(lambda link: link[0] != link[1]), max_size=120))
    hosts = np.sort(np.array(draw(st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes)), np.int32))
    return nodes, links, np.unique(hosts, return_inverse=True)[1].astype(np.int32).reshape(-1)


@settings(max_examples=40)
@given(graphs(), st.booleans())
def test_links_are_packed_as_the_twin_packs_them(scratch, graph, counted):
    nodes, links, _ = graph
    made = packed(scratch, links, nodes, counted=counted)
    counts = {}
    for source, target in links:
        counts[target, source] = counts.get((target, source), 0) + 1
    wanted = naive_adjacency.pack(sorted(counts), nodes, counts if counted else None)
    assert bytes(made.packed.stream) == wanted
    assert made.links == len(counts)
    assert len(made.packed.block_bytes) == -(-nodes // 64) + 1


@settings(max_examples=40)
@given(graphs(), st.sampled_from([0.1, 0.5, 0.85, 0.95]), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([1, 40]))
def test_ranks_agree_with_the_naive_twin(scratch, graph, damping, near, part):
    nodes, links, hosts = graph
    weighed = {(a, b): near if hosts[a] == hosts[b] else 1.0 for a, b in links}
    wanted = naive.pagerank([(a, b, w) for (a, b), w in weighed.items()], nodes, damping, 1e-14, 2000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagerank_solver, "_PART_LINKS", part)
        patch.setattr(pagerank_solver, "_BATCH_LINKS", 10)
        made = packed(scratch, links, nodes, hosts=hosts)
        found = [
            rank(made, nodes, near, damping, memory=memory, workers=workers)
            for memory, workers in ((10**9, 1), (10**9, 3), (0, 2))
        ]
    assert np.abs(found[0].shares - wanted).sum() < 1e-9
    assert (found[0].ranks == found[1].ranks).all(), "threads make no difference, to the last bit"
    assert found[0].ranks == pytest.approx(found[2].ranks, abs=1e-12), "nor does memory, but for the last bits"


@settings(max_examples=40)
@given(graphs(most=400), st.sampled_from([0.3, 1.0]), st.integers(1, 60))
def test_links_between_parts_bring_what_the_twin_says(scratch, graph, near, part):
    nodes, links, hosts = graph
    links = sorted(set(links))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagerank_solver, "_PART_LINKS", part)
        solver = PagerankSolver(packed(scratch, links, nodes, hosts=hosts), near, 10**9, 1)
    spans = [(batches[0].first, batches[-1].last) for batches in solver._parts]
    shares = np.random.default_rng(nodes).random(2 * nodes)
    sums = np.zeros(nodes)
    for number in range(len(spans)):
        cross_part_links.send_shares(solver._cross_links, shares, number)
    for number in range(len(spans)):
        cross_part_links.receive_shares(solver._cross_links, solver._kind_weights, number, sums)

    def part_of(node):
        return next(number for number, (first, last) in enumerate(spans) if first <= node < last)

    wanted = naive_cross_part_links.received_shares(links, part_of, lambda node: hosts[node], shares, near)
    assert sums == pytest.approx([wanted.get(node, 0.0) for node in range(nodes)], abs=1e-6)
    within = sum(len(batches[0].links.share_slots) for batches in solver._parts)
    assert within + len(solver._cross_links.sources) == len(links)


@settings(max_examples=40)
@given(graphs())
def test_counted_links_weigh_by_the_logarithm(scratch, graph):
    nodes, links, _ = graph
    counts = {link: links.count(link) for link in links}
    wanted = naive.pagerank([(a, b, math.log2(1 + n)) for (a, b), n in counts.items()], nodes, 0.85, 1e-14, 2000)
    found = rank(packed(scratch, links, nodes, counted=True), nodes)
    # Weights are kept with 24 bits.
    assert np.abs(found.shares - wanted).sum() < 1e-6


def test_a_known_answer(scratch):
    # Two pages that link to each other, and one that links to the first: 1 - d over 3, and so on by hand.
    found = rank(packed(scratch, [(0, 1), (1, 0), (2, 0)], 3), 3).shares
    floor = 0.15 / 3
    first = (floor + 0.85 * floor + 0.85 * floor) / (1 - 0.85**2)
    assert found == pytest.approx([first, floor + 0.85 * first, floor], abs=1e-10)


def test_no_links(scratch):
    assert rank(packed(scratch, [], 4), 4).shares == pytest.approx([0.25] * 4)


def test_personal_ranks_add_up(scratch):
    # The system is linear: what comes of two halves of a base is what comes of the whole.
    links = packed(scratch, [(0, 1), (1, 2), (2, 0), (3, 0), (3, 4)], 5)
    solver = PagerankSolver(links, 1.0, 10**6, 1)
    halves = [np.array([0.1, 0.2, 0, 0, 0]), np.array([0, 0, 0.3, 0.2, 0.2])]
    parts = [solver.solve(half, 0.85, 1e-14).ranks for half in halves]
    assert sum(parts) == pytest.approx(solver.solve(sum(halves), 0.85, 1e-14).ranks, abs=1e-12)


def test_the_tolerance_is_kept_to_in_sum(scratch):
    rng = np.random.default_rng(3)
    links = [(int(a), int(b)) for a, b in rng.integers(0, 400, (3000, 2)) if a != b]
    made = packed(scratch, links, 400)
    exact = rank(made, 400, tolerance=1e-15).shares
    for tolerance in (1e-3, 1e-6, 1e-9):
        # The error is at most d / (1 - d) times the last change, for nodes with links; sinks and the sum double it.
        assert np.abs(rank(made, 400, tolerance=tolerance).shares - exact).sum() < 2 * 0.85 / 0.15 * tolerance


def test_damaged_links_are_an_error(scratch):
    rng = np.random.default_rng(5)
    links = [(int(a), int(b)) for a, b in rng.integers(0, 200, (900, 2)) if a != b]
    made = packed(scratch, links, 200)
    raw = bytes(made.packed.stream)
    refused = 0
    for place in range(0, len(raw), 7):
        for value in (0, 127, 255):
            stream = np.frombuffer(raw[:place] + bytes([value]) + raw[place + 1 :], np.uint8)
            hurt = Adjacency(made.packed._replace(stream=stream), 200)
            try:
                rank(hurt, 200, tolerance=1e-2)
            except CorruptFile:
                refused += 1
    assert refused > 100


def test_warming_up_compiles_what_is_used():
    adjacency.warm()
    pagerank.warm()
    cross_part_links.warm()


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not CNR.exists(), reason="../shared/data/graphs/cnr-2000 is absent")
def test_a_real_graph_agrees_with_plain_power_iteration(scratch):
    with CNR.open("rb") as file:
        raw = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(file.read())).read()
    edges = np.fromstring(raw, np.int64, sep=" ").reshape(-1, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    nodes = int(edges.max()) + 1
    hosts = (np.arange(nodes) // 1000).astype(np.int32)
    runs = PairSorter(scratch, "cnr", 20_000_000)
    runs.add((edges[:, 1] << 32 | edges[:, 0]).astype(np.uint64))
    first = np.append(np.arange(0, nodes, 1000), nodes)
    links = pack_pairs(runs, nodes, scratch / "cnr", host_layout=HostLayout(hosts, first))
    found = PagerankSolver(links, 0.3, 10**9, 2).solve(np.full(nodes, 0.15 / nodes), 0.85, 1e-9)
    sources, targets = edges[:, 0], edges[:, 1]
    weights = np.where(hosts[sources] == hosts[targets], np.float32(0.3), 1.0)
    assert np.abs(found.shares - plain_iteration(sources, targets, weights, nodes)).sum() < 1e-6


def plain_iteration(sources, targets, weights, nodes):
    out = np.bincount(sources, weights, nodes)
    ranks = np.full(nodes, 1.0 / nodes)
    share = weights / out[sources]
    for _ in range(100):
        pulled = np.bincount(targets, ranks[sources] * share, nodes)
        ranks = (1 - 0.85) / nodes + 0.85 * (pulled + ranks[out == 0].sum() / nodes)
    return ranks
