"""Rows of terms that are kept: the same as looked up, and bounded."""

from pathlib import Path

import numpy as np
import pytest

from index.made_pages import random_visits
from periplus.index import Index, build_index, term_rows
from periplus.settings import IndexSettings


def test_kept_rows_are_those_of_the_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(random_visits(1, 50), tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    table = segment.valid_terms()
    names = [table.blob[a:b].tobytes() for a, b in zip(table.start[:-1], table.start[1:], strict=True)][:40]
    names.insert(3, b"absent")
    rows = np.stack([segment.find_terms([name])[0] for name in names])
    assert rows[3, 0] == 0
    assert rows[4:, 0].tolist() == table.frequency[3 : len(names) - 1].tolist()
    assert (segment.find_terms(names) == rows).all()
    assert segment.find_term(names[0]) == tuple(rows[0].tolist())
    assert segment.find_term(b"absent") is None
    assert segment.find_terms([]).shape == (0, rows.shape[1])
    monkeypatch.setattr(term_rows, "_MAX_TERMS", 7)
    cache = term_rows.TermRowCache(segment.packed_terms, segment._postings_arrays)
    for _ in range(2):
        for number, name in enumerate(names):
            assert cache.row(name) == tuple(rows[number].tolist())
            assert len(cache._rows) <= 7
    assert (cache.rows(names) == rows).all()  # More than are kept.
    assert len(cache._rows) <= 7


def test_the_impact_of_a_term_is_that_beside_its_positions(tmp_path: Path) -> None:
    build_index(random_visits(2, 30), tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    table = segment.valid_terms()
    names = [table.blob[a:b].tobytes() for a, b in zip(table.start[:-1], table.start[1:], strict=True)]
    for name in names[::5]:
        entry = segment.find_term(name)
        assert entry is not None
        for document in range(segment.documents):
            impact = segment.impact(entry, np.array([document], np.int32))
            assert impact == segment.positions(entry, document)[1]
