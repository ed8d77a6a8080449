"""The graphs of several shards say what the graph of one machine says."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_webs import build_parts, build_whole, compare_graphs, split_records, webs

from periplus.errors import NothingHere


@settings(max_examples=60, deadline=None)
@given(webs(), st.integers(1, 5))
def test_graphs_of_shards_equal_the_graph_of_one_machine(records, shards):
    parts = split_records(records, shards)
    with tempfile.TemporaryDirectory() as folder:
        whole, split = Path(folder) / "whole", Path(folder) / "split"
        try:
            one = build_whole(whole, parts)
        except NothingHere:
            with pytest.raises(NothingHere):
                build_parts(split, parts)
            return
        statistics = build_parts(split, parts)
        assert compare_graphs(split, parts, whole) <= 1e-9
    for name in ("pages", "hosts", "links", "mirrors"):
        assert sum(getattr(shard, name) for shard in statistics) == getattr(one, name)
