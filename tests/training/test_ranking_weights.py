"""Learning the weights of ranking: nDCG as counted by hand, features that help and that hurt, weights in files."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from periplus.rank import FEATURES, feature_weights

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "training" / "ranking"))
pytest.importorskip("bm25s", reason="the extra 'bench' is not installed")

from candidate_dump import CandidateDump
from fusion_search import GRID, STATIC_GRID, choose_fusion, choose_static, fusion_table, static_table
from learn_weights import override_file, ship
from ranking_objective import ndcg_at_ten
from weight_search import LearnedWeight, choose_features, learn_weights, prepare


def naive_ndcg(scores: np.ndarray, grades: np.ndarray, ideal: float) -> float:
    order = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:10]
    return sum(grades[row] / math.log2(rank + 2) for rank, row in enumerate(order)) / ideal


def test_the_kernel_counts_ndcg_as_sorting_does() -> None:
    chance = np.random.default_rng(1)
    sizes = [0, 1, 9, 10, 11, 40]
    offsets = np.cumsum([0, *sizes])
    scores = chance.integers(0, 6, offsets[-1]).astype(float)
    grades, ideal = chance.integers(0, 4, offsets[-1]).astype(float), chance.random(len(sizes)) + 1.0
    expected = [
        naive_ndcg(scores[begin:end], grades[begin:end], best)
        for begin, end, best in zip(offsets[:-1], offsets[1:], ideal, strict=True)
    ]
    assert ndcg_at_ten(scores, grades, offsets, ideal).tolist() == pytest.approx(expected)


def make_dump(name: str, words: int, helps: float, seed: int) -> CandidateDump:
    """Make 60 queries of so many words; titles of right documents have the query, or those of wrong ones do."""
    chance = np.random.default_rng(seed)
    count, rows = 60, 30
    grades = np.tile(np.arange(rows) < 4, count).astype(np.float32)
    features = np.zeros((count * rows, len(FEATURES)), np.float32)
    features[:, 0] = chance.random(count * rows)
    features[:, FEATURES.index("title")] = np.clip(
        0.5 + helps * (grades - 0.5) + 0.2 * chance.random(len(grades)), 0, 1
    )
    features[:, FEATURES.index("query_words")] = words
    similarities = (0.3 * grades + 0.3 * chance.random(len(grades))).astype(np.float32)
    ideal = np.full(count, sum(1 / math.log2(rank + 2) for rank in range(4)), np.float32)
    none = np.zeros(len(grades), bool)
    queries, bm25 = np.zeros((count, 4), np.float32), np.full(count, 0.5, np.float32)
    offsets = np.arange(count + 1) * rows
    return CandidateDump(name, offsets, features, similarities, none, grades, ideal, queries, bm25)


def test_a_feature_that_helps_long_queries_alone_has_weight_for_them_alone() -> None:
    dumps = [make_dump(f"long{n}", 12, 0.8, n) for n in range(3)] + [make_dump(f"short{n}", 2, -0.8, n) for n in (7, 8)]
    weights = feature_weights()
    names = choose_features(dumps)
    assert names == ("title",)
    learned = learn_weights([prepare(dump, weights, names) for dump in dumps], names)
    assert learned["title"].long > 0.0
    assert learned["title"].short == 0.0


def test_a_weight_that_moves_next_to_no_result_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.array([0.0099, 0.0104, 0.3, 0.0])
    monkeypatch.setattr("weight_search._ascend", lambda samples, chance: drawn)
    learned = learn_weights([], ["title", "run"])
    assert learned == {"title": LearnedWeight(0.0, 0.3), "run": LearnedWeight(0.01, 0.0)}


def test_a_feature_that_few_collections_have_is_not_learned() -> None:
    dumps = [make_dump(f"c{n}", 5, 0.8, n) for n in range(4)]
    for dump in dumps[:2]:
        dump.features[:, FEATURES.index("title")] = 0.0
    assert choose_features(dumps) == ()


def test_similarities_that_tell_right_from_wrong_have_weight() -> None:
    table = fusion_table(make_dump("a", 2, 0.0, 3), feature_weights())
    chosen = choose_fusion([table])
    assert chosen.short > 0
    assert table.value(chosen) > table.ndcg[0, 0]
    assert chosen.long in GRID


def test_a_static_similarity_that_tells_right_from_wrong_has_weight_and_one_that_harms_has_none() -> None:
    dump = make_dump("a", 2, 0.0, 3)
    dump.features[:, FEATURES.index("static_similarity")] = dump.grades
    good = static_table(dump, feature_weights())
    assert choose_static([good]).short > 0
    dump.features[:, FEATURES.index("static_similarity")] = -dump.grades
    bad = static_table(dump, feature_weights())
    assert bad[0] == good[0]
    assert choose_static([bad]) == LearnedWeight(0.0, 0.0)
    assert choose_static([good, bad, bad]).short in STATIC_GRID


def test_learned_weights_are_written_into_the_shipped_file(tmp_path: Path) -> None:
    file = tmp_path / "dynamic.toml"
    file.write_text('[title]\nweight = 0.1\nlong = 0.7\nshape = "square"\n\n[run]\nweight = 0.0\nabout = "x"\n')
    ship(file, {"title": LearnedWeight(0.25, 0.25), "run": LearnedWeight(0.0, 0.5)})
    expected = '[title]\nweight = 0.25\nshape = "square"\n\n[run]\nweight = 0\nlong = 0.5\nabout = "x"\n'
    assert file.read_text() == expected
    mine = tmp_path / "mine.toml"
    mine.write_text(override_file({"title": LearnedWeight(0.0, 0.5)}, LearnedWeight(1.5, 1.0)))
    assert feature_weights(str(mine))["title"].weight_of_long == 0.5
