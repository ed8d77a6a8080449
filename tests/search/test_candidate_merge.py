"""Candidates of several shards are merged as a plain sort would, and their columns are found again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.candidate_merge import Candidate, merge
from periplus.errors import BadInput
from periplus.rank import FEATURES
from periplus.search import RetrievedCandidates, merge_shards
from periplus.search.kernels.candidate_merge import find_rows
from periplus.search.sharding.merged_columns import MergedColumns
from periplus.search.sharding.shard_records import RetrieveReply

NAME = FEATURES.index("name")
SCORES = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, 3.0, float("nan")])
CANDIDATE_ROWS = st.builds(Candidate, st.integers(0, 2), st.integers(0, 30), SCORES, st.sampled_from([0.0, 0.0, 0.7]))


@st.composite
def made_shards(draw: st.DrawFn) -> list[tuple[int, list[Candidate]]]:
    shards = []
    for _ in range(draw(st.integers(2, 4))):
        rows = draw(st.lists(CANDIDATE_ROWS, max_size=25, unique_by=lambda row: row[:2]))
        measured = draw(st.integers(0, len(rows)))
        shards.append((3, rows[:measured] + [row._replace(name=None) for row in rows[measured:]]))
    return shards


def retrieved(segments: int, rows: list[Candidate]) -> RetrievedCandidates:
    measured = [row for row in rows if row.name is not None]
    features = np.zeros((len(measured), len(FEATURES)))
    features[:, NAME] = [row.name for row in measured]
    features[:, 0] = [row.segment * 100 + row.document for row in measured]
    return RetrievedCandidates(
        np.array([row.segment for row in rows], np.int32),
        np.array([row.document for row in rows], np.int32),
        np.array([row.score for row in rows], np.float32),
        np.array([row.segment * 1000 + row.document for row in rows], np.uint64),
        features,
        1.0,
        len(rows),
        True,
        False,
        segments,
        np.zeros(0, np.int32),
        np.zeros(0, np.float32),
        None,
        None,
        None,
    )


@given(made_shards())
def test_shards_are_merged_as_a_plain_sort_does(shards: list[tuple[int, list[Candidate]]]) -> None:
    merged, expected = merge_shards([retrieved(*shard) for shard in shards]), merge(shards)
    places = list(zip(merged.segments.tolist(), merged.documents.tolist(), strict=True))
    assert places == [(segment, document) for _, segment, document in expected]
    assert merged.keys.tolist() == [(segment % 3) * 1000 + document for _, segment, document in expected]
    known = {
        (sum(n for n, _ in shards[:number]) + row.segment, row.document): row
        for number, (_, rows) in enumerate(shards)
        for row in rows
    }
    np.testing.assert_array_equal(merged.scores, np.array([known[place].score for place in places], np.float32))
    measured = [known[place].name is not None for place in places]
    count = measured.index(False) if False in measured else len(measured)
    assert merged.features[:, 0].tolist() == [(s % 3) * 100 + d for s, d in places[:count]]
    assert merged.features[:, NAME].tolist() == [known[place].name for place in places[:count]]


def test_columns_of_different_lengths_are_refused() -> None:
    parts = [retrieved(1, [Candidate(0, n, 1.0, 0.0) for n in range(3)]) for _ in range(2)]
    for name in ("segments", "documents", "scores", "keys"):
        wrong = parts[1]._replace(**{name: getattr(parts[1], name)[:2]})
        with pytest.raises(BadInput, match="long"):
            merge_shards([parts[0], wrong])
        with pytest.raises(BadInput):
            MergedColumns({0: RetrieveReply(wrong, np.zeros(0, np.uint8), np.zeros((3, 24), np.uint8), 1, 0, ())})


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**31 - 1)), max_size=60, unique=True))
def test_rows_are_found_by_segment_and_document(places: list[tuple[int, int]]) -> None:
    pairs = np.array(places, np.int32).reshape(-1, 2)
    words = np.arange(3 * len(pairs), dtype=np.uint64).reshape(-1, 3)
    order = np.random.default_rng(len(places)).permutation(len(pairs))
    segments, documents = pairs[:, 0].copy(), pairs[:, 1].copy()
    found = find_rows(segments, documents, words, segments[order], documents[order])
    np.testing.assert_array_equal(found, words[order])
    missing = find_rows(segments, documents, words, np.array([9], np.int32), np.array([1], np.int32))
    assert not missing.any()
