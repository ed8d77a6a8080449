"""Reranking: scores that add up, weights that count, external signals."""

from pathlib import Path

import numpy as np
import pytest

from index.made_pages import Ranks, random_ranks, random_visits, visit
from periplus.arrays import write_arrays
from periplus.errors import BadFile, BadInput, CorruptFile
from periplus.index import Index, build_index
from periplus.query import find_candidates, parse_query
from periplus.rank import FEATURES, ExternalSignals, Ranker, feature_weights, open_external_signals
from periplus.rank.external_signals import read_popularity
from periplus.rank.feature_scorer import FeatureScorer
from periplus.rank.kernels.trees import Trees
from periplus.rank.ranking_model import TreeModel, read_model
from periplus.records import PageFlag
from periplus.search import RerankedCandidates, rerank, retrieve
from periplus.settings import IndexSettings, RankSettings
from periplus.signals import Click, write_click


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("rank") / "index"
    visits = random_visits(5, 200)
    for start in (0, 80):
        ranks = Ranks(random_ranks(5, visits))
        build_index(visits[start : start + 120], folder, IndexSettings(), ranks, append=start > 0)
    return Index.open(folder)


def ask(ranker: Ranker, words: str, k: int = 20) -> RerankedCandidates:
    tree = parse_query(words).tree
    assert tree is not None
    return rerank(retrieve(ranker, ranker.plan(tree), k), ranker.model, k)


def one_leaf(value: float) -> TreeModel:
    """Make a model that gives every row the same."""
    none, no = np.zeros(0, np.int32), np.zeros(0)
    return TreeModel(Trees(np.array([-1], np.int32), none, no, none.reshape(0, 2), no, np.array([value])), 1.0)


@pytest.mark.parametrize("model", [None, one_leaf(0.25)], ids=["weights", "model"])
@pytest.mark.parametrize("words", ["sea chart", "the ship of fog", '"harbour light" bell', "wind", "rope -sail tide"])
def test_the_parts_of_a_score_add_up(index: Index, words: str, model: TreeModel | None) -> None:
    ranker = Ranker(index, RankSettings(), signals=ExternalSignals(model=model))
    tree = parse_query(words).tree
    assert tree is not None
    plan = ranker.plan(tree)
    found = ask(ranker, words)
    assert len(found.documents)
    assert (np.diff(found.scores) <= 0).all()
    for segment, document, score in zip(found.segments, found.documents, found.scores, strict=True):
        reasons = ranker.explain(plan, int(segment), int(document))
        assert sum(value for _, value in reasons) == pytest.approx(float(score), abs=2e-3)
        assert "first" not in dict(reasons) or model is not None


def test_without_reranking_the_first_stage_decides(index: Index) -> None:
    alone, full = Ranker(index, RankSettings(rerank=0)), Ranker(index, RankSettings())
    first = ask(alone, "sea chart", 200)
    both = ask(full, "sea chart", 200)
    pairs = {(int(s), int(d)) for s, d in zip(first.segments, first.documents, strict=True)}
    assert pairs == {(int(s), int(d)) for s, d in zip(both.segments, both.documents, strict=True)}
    assert first.documents.tolist() != both.documents.tolist()
    looked = ask(Ranker(index, RankSettings(rerank=10)), "sea chart", 200)
    assert looked.documents[10:].tolist() == first.documents[10:].tolist()
    assert set(looked.documents[:10].tolist()) == set(first.documents[:10].tolist())
    assert (np.diff(looked.scores) <= 0).all()


def test_fixed_phrases_that_stand_together_can_count(tmp_path: Path) -> None:
    pages = [visit(f"https://{n}.test/", f"Page {n}", f"ferry to hong kong harbour {n} tide") for n in range(30)]
    pages += [visit(f"https://q{n}.test/", f"Page q{n}", f"quay {n} bell rope") for n in range(60)]
    pages.append(visit("https://apart.test/", "Lights", "hong lights kong lights lanterns lanterns"))
    pages.append(visit("https://together.test/", "Lights", "hong kong lights lights lanterns lanterns"))
    build_index(pages, tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    index.spelling.load()
    tree = parse_query("hong kong lanterns").tree
    assert tree is not None

    def fixed(ranker: Ranker) -> dict[str, float]:
        plan = ranker.plan(tree)
        assert [pair.first for pair in plan.pairs()] == [0]
        candidates = find_candidates(index, plan, 100)
        rows = ranker.features.extract(plan, candidates)
        column = FEATURES.index("fixed")
        urls = [index.segments[s].string("url", int(d)) for s, d in zip(*candidates[:2], strict=True)]
        return dict(zip(urls, rows[:, column].tolist(), strict=True))

    plain = Ranker(index, RankSettings())
    assert not plain.needs_words
    found = fixed(plain)
    assert found["https://together.test/"] > 0.1
    assert found["https://apart.test/"] == 0.0
    keen = Ranker(index, RankSettings(), changes={"fixed": 1.0, "pairs": 0.0})
    assert keen.needs_words
    best = ask(keen, "hong kong lanterns", 1)
    assert index.segments[best.segments[0]].string("url", int(best.documents[0])) == "https://together.test/"


def test_a_model_of_fewer_features_is_read_by_their_names(tmp_path: Path) -> None:
    names = ["first", "clicks"]
    arrays = {
        "root": np.array([0], np.int32),
        "feature": np.array([1], np.int32),
        "threshold": np.array([0.5]),
        "child": np.array([[-1, -2]], np.int32),
        "value": np.array([0.0]),
        "leaf": np.array([0.0, 2.0]),
    }
    write_arrays(tmp_path / "old.model", "ranking-model", arrays, {"features": names, "scale": 1.0})
    rows = np.zeros((2, len(FEATURES)))
    rows[1, FEATURES.index("clicks")] = 1.0
    assert read_model(tmp_path / "old.model").correct(rows).tolist() == [0.0, 2.0]
    for bad in (["first", "nonsense"], ["first"], None, []):
        write_arrays(tmp_path / "bad.model", "ranking-model", arrays, {"features": bad, "scale": 1.0})
        with pytest.raises(CorruptFile):
            read_model(tmp_path / "bad.model")


def test_changed_weights_change_the_order(index: Index) -> None:
    plain = Ranker(index, RankSettings(), changes=dict.fromkeys(FEATURES[1:], 0.0))
    first = Ranker(index, RankSettings(rerank=0))
    assert ask(plain, "sea chart").documents.tolist() == ask(first, "sea chart").documents.tolist()
    deep = Ranker(index, RankSettings(), changes={"title_words": 5.0})
    best = ask(deep, "sea chart", 1)
    title = index.segments[best.segments[0]].string("title", int(best.documents[0]))
    assert len(title.split()) == 5
    for changes in ({"nonsense": 1.0}, {"title": float("nan")}):
        with pytest.raises(BadInput):
            feature_weights("", changes)


def test_long_queries_have_weights_of_their_own() -> None:
    weights = feature_weights("", {**dict.fromkeys(FEATURES[1:], 0.0), "title": 0.2, "title.long": 0.8})
    scorer = FeatureScorer(weights)
    rows = np.zeros((1, len(FEATURES)))
    rows[0, FEATURES.index("title")] = 1.0
    scores = []
    for words in (0, 1, 2, 5, 8, 60):
        rows[0, FEATURES.index("query_words")] = words
        scores.append(scorer.score(rows)[0])
    assert scores == pytest.approx([0.2, 0.2, 0.2, 0.5, 0.8, 0.8])


def test_features_say_what_kind_of_query_it_is(index: Index) -> None:
    ranker = Ranker(index, RankSettings())
    tree = parse_query("the chart of the sea").tree
    assert tree is not None
    plan = ranker.plan(tree)
    rows = ranker.features.extract(plan, find_candidates(index, plan, 10))
    kind = {name: rows[:, FEATURES.index(name)] for name in FEATURES if name.startswith("query_")}
    assert set(kind["query_words"].tolist()) == {5.0}
    assert kind["query_stop_words"][0] == pytest.approx(0.6)
    assert 0.5 <= kind["query_rarest"][0] <= 1.0
    assert kind["query_titles"][0] == pytest.approx(rows[:, FEATURES.index("title")].mean())


def small(folder: Path) -> Index:
    """Index four pages that say the same."""
    same = {"title": "Tide tables", "text": "tide tables of the whole coast, hour by hour"}
    visits = [visit(f"https://{host}.example/tides", **same) for host in "abc"]
    spam = visit("https://spam.example/tides", flags=int(PageFlag.STUFFED), **same)
    build_index([spam, *visits], folder / "index", IndexSettings())
    return Index.open(folder / "index")


def urls(index: Index, found: RerankedCandidates) -> list[str]:
    return [
        index.segments[s].string("url", int(d)).split("/")[2].split(".")[0]
        for s, d in zip(found.segments, found.documents, strict=True)
    ]


def test_spam_comes_last_and_what_is_known_from_outside_counts(tmp_path: Path) -> None:
    index = small(tmp_path)
    assert urls(index, ask(Ranker(index, RankSettings()), "tide tables"))[-1] == "spam"
    listed = tmp_path / "popular.csv"
    listed.write_text("1,c.example\n2,www.b.example\n3,other.example\n")
    popular = RankSettings(popularity=str(listed))
    assert urls(index, ask(Ranker(index, popular), "tide tables")) == ["c", "b", "a", "spam"]
    shown = tuple(f"https://{host}.example/tides" for host in "abc")
    for _ in range(20):
        write_click(tmp_path, Click("tables of the tide", shown[1], 2, shown))
    signals = open_external_signals(tmp_path, RankSettings())
    assert urls(index, ask(Ranker(index, RankSettings(), signals=signals), "tide tables"))[0] == "b"
    assert urls(index, ask(Ranker(index, RankSettings(), signals=signals), "tide hour"))[0] == "a"


def test_lists_of_popular_hosts(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("first.example\n\nSecond.example\n3,third.example\nfirst.example\n")
    ranks = read_popularity(path)
    assert list(ranks) == ["first.example", "second.example", "third.example"]
    assert 1.0 == ranks["first.example"] > ranks["second.example"] > ranks["third.example"] > 0
    signals = ExternalSignals(ranks)
    assert signals.popularity("www.first.example") == 1.0
    assert signals.popularity("nowhere.example") == 0.0
    for bad in ("https://a.example/\n", "two words\n", "x" * 400):
        path.write_text(bad)
        with pytest.raises(BadFile):
            read_popularity(path)
