"""Building in little memory: the same graph whatever the share, and the old one when a build is killed."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.arrays import ArrayFile
from periplus.errors import BadFile, NothingHere
from periplus.graph import Graph, anchor_text, build_graph, external_sort, plot_ranks, rank_edges
from periplus.graph.external_sort import PairSorter
from periplus.records import FetchRecord, Link, Outcome, Page
from periplus.settings import GraphSettings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

WORDS = ("harbour light", "Harbour Light", "tide tables", "the keeper's log", "ünïcode", "here", "")


def visits_of(rng, pages, hosts):
    """Make a random web: each page with links to others, with some of a few words."""
    urls = [f"http://h{rng.integers(hosts)}.example/{number}" for number in range(pages)]
    for url in urls:
        links = tuple(
            Link(urls[rng.integers(pages)], WORDS[rng.integers(len(WORDS))] + " " * int(rng.integers(2)))
            for _ in range(rng.integers(0, 30))
        )
        yield FetchRecord(url, parse_address(url).key, Outcome.OK, 1.0, 200, page=Page(url, links=links))


def build(folder, visits, **more):
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        for visit in visits:
            store.append(visit)
        build_graph(store, folder / "graph", GraphSettings(**more))
    return ArrayFile(folder / "graph" / "graph.arrays", "graph")


@settings(max_examples=8)
@given(st.integers(0, 1000), st.sampled_from([1, 30, 200]), st.integers(1, 60))
def test_memory_makes_no_difference(tmp_path_factory, seed, pages, room):
    visits = list(visits_of(np.random.default_rng(seed), pages, 7))
    wanted = build(tmp_path_factory.mktemp("much"), visits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "_MEMORY_FACTOR", 10**6)
        patch.setattr(external_sort, "_MIN_PAIRS", room)
        patch.setattr(anchor_text, "_MEMORY_FACTOR", 10**6)
        patch.setattr(anchor_text, "_MIN_CAPACITY", 40 * room)
        found = build(tmp_path_factory.mktemp("little"), visits, memory_mb=1)
    assert found.sizes() == wanted.sizes()
    for name in wanted.sizes():
        assert (found[name] == wanted[name]).all(), name
    assert found.notes == wanted.notes


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40), st.integers(1, 5)), max_size=300),
    st.integers(1, 50),
    st.booleans(),
)
def test_runs_give_every_pair_once_in_order(tmp_path_factory, rows, room, counted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "_MEMORY_FACTOR", 10**6)
        patch.setattr(external_sort, "_MIN_PAIRS", room)
        taken = PairSorter(tmp_path_factory.mktemp("runs"), "pairs", 1, counted)
        pairs = np.array([target << 32 | source for target, source, _ in rows], np.uint64)
        counts = np.array([count for _, _, count in rows], np.uint32)
        taken.add(pairs, counts if counted else None)
        chunks = list(taken.chunks(301, 64))
    wanted = {}
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        wanted[pair] = wanted.get(pair, 0) + count
    assert [pair for chunk in chunks for pair in chunk.pairs.tolist()] == sorted(wanted)
    if counted:
        assert [count for chunk in chunks for count in chunk.counts.tolist()] == [wanted[p] for p in sorted(wanted)]
    assert [chunk.first for chunk in chunks] + [301] == [0] + [chunk.last for chunk in chunks]
    assert all(chunk.first % 64 == 0 for chunk in chunks)


KILLED = """
import os, signal, sys
from pathlib import Path
from periplus import arrays
from periplus.graph import build_graph, graph_builder as build
from periplus.settings import GraphSettings, StoreSettings
from periplus.store import PageStore

def die(*arguments, **more):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "ranking":
    build.compute_scores = die
else:
    arrays.os.fsync = die
folder = Path(sys.argv[1])
with PageStore.open(folder / "store", StoreSettings()) as store:
    build_graph(store, folder / "graph", GraphSettings())
"""


@pytest.mark.parametrize("moment", ["ranking", "writing"])
def test_a_killed_build_leaves_the_last_graph(tmp_path, moment):
    visits = list(visits_of(np.random.default_rng(1), 40, 4))
    build(tmp_path, visits)
    before = (tmp_path / "graph" / "graph.arrays").read_bytes()
    with PageStore.open(tmp_path / "store", StoreSettings(), write=True) as store:
        for visit in visits_of(np.random.default_rng(2), 60, 4):
            store.append(visit)
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), moment], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "graph" / ".building").exists()
    assert (tmp_path / "graph" / "graph.arrays").read_bytes() == before
    Graph.open(tmp_path / "graph").check()
    with PageStore.open(tmp_path / "store", StoreSettings()) as store:
        made = build_graph(store, tmp_path / "graph", GraphSettings())
    assert made.pages == len(Graph.open(tmp_path / "graph")) > 40
    assert not (tmp_path / "graph" / ".building").exists()


def test_a_graph_of_an_earlier_layout_is_asked_to_be_built_again(tmp_path):
    from periplus.arrays import write_arrays

    write_arrays(tmp_path / "graph.arrays", "graph", {"keys": np.zeros(0, np.uint64)})
    with pytest.raises(NothingHere, match="earlier layout"):
        Graph.open(tmp_path)


def test_any_graph_can_be_ranked_from_a_file(tmp_path):
    text = tmp_path / "edges.txt"
    text.write_text("# a comment\n0 1\n1 0\n2\t0\n2 2\n2 0\n")
    arrays = tmp_path / "edges.npz"
    np.savez(arrays, sources=np.array([0, 1, 2, 2]), targets=np.array([1, 0, 0, 2]))
    found = [rank_edges(path, GraphSettings(tolerance=1e-13)) for path in (text, arrays)]
    floor = 0.15 / 3
    first = (floor + 0.85 * floor + 0.85 * floor) / (1 - 0.85**2)
    for one in found:
        assert (one.nodes, one.links) == (3, 3)
        assert one.ranks.shares == pytest.approx([first, floor + 0.85 * first, floor], abs=1e-10)
    picture = plot_ranks(found[0].ranks.shares, found[0].ranks.changes)
    assert picture.startswith("<svg")
    assert picture.count("<polyline") == 2


@pytest.mark.parametrize(
    "lines", ["", "0\n1 2 3 4\n", "0 one\n", "0 -1\n", "0 99999999999\n", "0 900000000\n", "0 1.5\n", "\0\n"]
)
def test_files_that_are_no_graph_are_said(tmp_path, lines):
    path = tmp_path / "edges.txt"
    path.write_text(lines)
    with pytest.raises(BadFile):
        rank_edges(path, GraphSettings())
    path = tmp_path / "edges.npz"
    path.write_bytes(lines.encode())
    with pytest.raises(BadFile):
        rank_edges(path, GraphSettings())
