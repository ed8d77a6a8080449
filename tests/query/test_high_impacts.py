"""Documents of high impact: which they are, and that results are the same with them and without."""

import random
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import Ranks, random_ranks, random_visits
from periplus.index import Index, build_index, high_impacts
from periplus.index.kernels.postings_format import BITSET
from periplus.index.kernels.postings_scan import read_postings
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.settings import IndexSettings

WORDS = ("sea", "chart", "ship", "harbour", "light", "fog", "bell", "tide", "wind", "rope", "sail", "coast")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    visits = random_visits(3, 1500)
    build_index(visits, tmp_path, IndexSettings(), Ranks(random_ranks(2, visits)))
    return tmp_path


def open_with_sets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr(high_impacts, "_LEAST_BLOCKS", 1)
    monkeypatch.setattr(high_impacts, "_DENSITY", 1_000)
    return Index.open(folder)


def test_documents_of_high_impact_are_those_above_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = open_with_sets(folder, monkeypatch).segments[0]
    rows = segment.find_terms([word.encode() for word in WORDS])
    segment.high_impacts.prepare(segment.pinned_postings.addresses, rows)
    marked = 0
    for word in WORDS:
        entry = segment.find_term(word.encode())
        if entry is None or entry.encoding != BITSET:
            continue
        documents = np.zeros(entry.frequency, np.int32)
        codes, masks, impacts = (np.zeros(entry.frequency, np.uint8) for _ in range(3))
        read_postings(segment.postings, entry, documents, codes, masks, impacts)
        limit = int(segment.high_impacts.limits[entry.bitset_row])
        bits = np.unpackbits(segment.high_impacts.sets[entry.bitset_row].view(np.uint8), bitorder="little")
        assert np.flatnonzero(bits).tolist() == documents[impacts > limit].tolist()
        assert 8 * bits.sum() <= entry.frequency
        marked += int(bits.sum())
    assert marked


@pytest.mark.parametrize("seed", range(4))
def test_results_are_the_same_with_and_without(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    plain, chance = Index.open(folder), random.Random(seed)
    sharper = open_with_sets(folder, monkeypatch)
    assert not len(plain.segments[0].high_impacts.limits)
    for _ in range(40):
        words = chance.sample(WORDS, chance.randint(2, 4))
        text = chance.choice(["{}", "+{}", '"{}"', "-{}"]).format((" +" if chance.random() < 0.3 else " ").join(words))
        tree = parse_query(text).tree
        assert tree is not None
        found = [
            find_candidates(index, plan_query(index, tree, Scoring()), chance_k)
            for chance_k in [chance.choice([1, 5, 20])]
            for index in (plain, sharper)
        ]
        assert found[0].documents.tolist() == found[1].documents.tolist(), text
        assert found[0].scores.tolist() == found[1].scores.tolist(), text
        assert found[0].total == found[1].total, text
    assert (sharper.segments[0].high_impacts.limits < 255).any()
