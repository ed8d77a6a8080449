"""The kernels of placement against their naive twins, and against distances that are known."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.sites import Place, distance_between
from periplus.sites.placement.kernels import geography, page_scores


def _load_naive(name):
    path = Path(__file__).parents[2] / "naive" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"naive_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


naive = _load_naive("placement")
places = st.tuples(st.floats(-90, 90), st.floats(-180, 180))
kilometres = st.one_of(st.just(math.nan), st.integers(0, 200).map(float))


def test_distances_of_cities():
    zurich, madrid, sydney = Place(47.3769, 8.5417), Place(40.4168, -3.7038), Place(-33.8688, 151.2093)
    assert distance_between(zurich, madrid) == pytest.approx(1247, abs=3)
    assert distance_between(zurich, sydney) == pytest.approx(16_560, abs=40)
    assert distance_between(Place(0, 0), Place(0, 180)) == pytest.approx(math.pi * geography.EARTH_RADIUS)
    assert distance_between(Place(10, 179), Place(10, -179)) == pytest.approx(219.0, abs=1)


@given(places, places)
def test_distances_equal_the_naive_ones(first, second):
    # Near antipodes the haversine formula has half of the digits.
    assert distance_between(Place(*first), Place(*second)) == pytest.approx(naive.great_circle(first, second), abs=0.1)


@given(st.lists(st.tuples(kilometres, kilometres), min_size=1, max_size=6))
def test_choices_equal_the_naive_ones(columns):
    distances, times = (np.array([column], np.float64) for column in zip(*columns, strict=True))
    chosen, tied = np.zeros(1, np.int64), np.zeros(1, np.uint64)
    reasons = np.zeros(1, np.uint8)
    geography.choose_sites(distances, times, 25.0, 1.0, chosen, tied, reasons)
    best, equals, reason = naive.nearest(distances[0].tolist(), times[0].tolist(), 25.0, 1.0)
    assert int(chosen[0]) == best
    assert {site for site in range(64) if int(tied[0]) >> site & 1} == equals
    assert ("hash", "distance", "time")[reasons[0]] == reason


def test_moves_need_a_factor_and_a_margin():
    distances = np.array([[1000.0, 690.0], [1000.0, 710.0], [250.0, 100.0], [1000.0, 100.0], [math.nan, 5.0]])
    times = np.full_like(distances, math.nan)
    owners, chosen = np.array([0, 0, 0, -1, 0]), np.ones(5, np.int64)
    reasons, moves = np.full(5, geography.BY_DISTANCE, np.uint8), np.zeros(5, np.bool_)
    geography.find_moves(distances, times, owners, chosen, reasons, 0.7, 200.0, 5.0, moves)
    assert moves.tolist() == [True, False, False, True, True]


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8), st.integers(1, 8))
def test_keys_of_prefixes_equal_the_naive_ones(words, letters):
    raw = [word.encode("utf-8", "replace") for word in words]
    starts = np.cumsum([0, *map(len, raw)]).astype(np.int64)
    keys = np.zeros(len(raw), np.uint64)
    page_scores.hash_prefixes(np.frombuffer(b"".join(raw), np.uint8), starts, 0, letters, keys)
    assert keys.tolist() == [naive.prefix_key(word.decode(), letters) for word in raw]


@given(st.integers(1, 5), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_scores_equal_the_naive_ones(sites, tokens, seed):
    rng = np.random.default_rng(seed)
    rows, words, pages = 12, 20, 3
    keys = np.unique(rng.integers(1, 2**63, rows, np.uint64) | np.uint64(1))
    slots, slot_rows = np.zeros(64, np.uint64), np.zeros(64, np.int32)
    page_scores.fill_slots(keys, slots, slot_rows)
    ratios = rng.normal(size=(len(keys), sites)).astype(np.float32)
    table = page_scores.PlacementTable(slots, slot_rows, ratios, rng.normal(size=sites).astype(np.float32))
    found = np.zeros(len(keys) + 1, np.int32)
    page_scores.find_rows(table, np.append(keys, np.uint64(2)), found)
    assert found.tolist() == [*range(len(keys)), -1]
    word_rows = rng.integers(-1, len(keys), words).astype(np.int32)
    lengths = rng.multinomial(tokens, [1 / pages] * pages).astype(np.int32)
    text = rng.integers(0, words, tokens).astype(np.int32)
    evidence = rng.integers(-1, len(keys), (pages, 2)).astype(np.int32)
    weights = np.array([0.5, 2.0], np.float32)
    closeness = rng.random((pages, sites)).astype(np.float32)
    scores, matched = np.zeros((pages, sites), np.float32), np.zeros(pages, np.int32)
    ranking = np.zeros((pages, sites), np.int64)
    stamps = np.full(words, -1, np.int32)
    page_scores.score_pages(
        table, text, lengths, word_rows, 1.5, evidence, weights, closeness, np.zeros(pages, np.int64), stamps,
        np.zeros(words, np.int32), scores, matched, ranking,
    )  # fmt: skip
    assert (stamps == -1).all()
    position = 0
    for page in range(pages):
        own = text[position : position + lengths[page]].tolist()
        position += lengths[page]
        pairs = list(zip(evidence[page].tolist(), weights.tolist(), strict=True))
        expected = naive.page_scores(own, word_rows, ratios, table.priors, 1.5, pairs, closeness[page])
        assert scores[page] == pytest.approx(expected, abs=1e-3)
        assert ranking[page].tolist() == sorted(range(sites), key=lambda site: -scores[page, site])


def test_equal_scores_prefer_one_site():
    table = page_scores.PlacementTable(
        np.zeros(2, np.uint64), np.zeros(2, np.int32), np.zeros((0, 3), np.float32), np.zeros(3, np.float32)
    )
    ranking = np.zeros((2, 3), np.int64)
    page_scores.score_pages(
        table, np.zeros(0, np.int32), np.zeros(2, np.int32), np.zeros(0, np.int32), 1.0, np.zeros((2, 0), np.int32),
        np.zeros(0, np.float32), np.zeros((2, 3), np.float32), np.array([2, 1]), np.zeros(0, np.int32),
        np.zeros(0, np.int32), np.zeros((2, 3), np.float32), np.zeros(2, np.int32), ranking,
    )  # fmt: skip
    assert ranking.tolist() == [[2, 0, 1], [1, 0, 2]]
