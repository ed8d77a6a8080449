"""The features of candidates against counting them in lists of words."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import Ranks, random_visits
from naive.engine import in_body, split_body
from naive.features import FIELDS, features
from periplus.index import Index, build_index
from periplus.query import BagOfWords, Scoring, find_candidates, parse_query, plan_query
from periplus.rank import feature_rows as measuring
from periplus.rank.external_signals import ExternalSignals
from periplus.rank.feature_rows import ALL_FEATURES, FeatureExtractor, complete_features, without_static_similarity
from periplus.rank.feature_scorer import FeatureScorer, feature_weights
from periplus.rank.kernels.document_features import url_depths
from periplus.rank.ranker import Ranker
from periplus.rank.ranking_model import FEATURES
from periplus.records import FetchRecord
from periplus.score.kernels.weighting import weigh_features
from periplus.settings import IndexSettings, RankSettings
from periplus.text import split_text, terms_of

WORDS = ("sea", "chart", "ship", "harbour", "light", "fog", "bell", "tide", "wind", "rope", "sail", "coast")


def fields_of(visit: FetchRecord) -> dict[str, list[str]]:
    page = visit.page
    assert page is not None
    texts = (
        page.title,
        in_body(page, page.headings),
        visit.url.partition("://")[2].removeprefix("www."),
        "",
        in_body(page, page.emphasis),
        split_body(page)[0],
    )
    return {
        name: [term.decode() for term in terms_of(split_text(text), "en")]
        for name, text in zip(FIELDS, texts, strict=True)
    }


@pytest.mark.parametrize("count", [1, 70, 400])
def test_features_are_what_counting_gives(tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    visits = random_visits(count, count)
    build_index(visits, tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    by_url = {visit.url: visit for visit in visits}
    measured = FeatureExtractor(index, ExternalSignals())
    chance = random.Random(count)
    for _ in range(12):
        asked = chance.sample(WORDS, chance.randint(1, 5))
        for _ in range(chance.randint(0, 3)):
            asked.insert(chance.randint(0, len(asked)), "the")
        tree = parse_query(" ".join(asked)).tree
        assert tree is not None
        plan = plan_query(index, tree, Scoring())
        found = find_candidates(index, plan, 20)
        bonds = [chance.choice((0.0, 0.4, 1.0)) for _ in plan.words]
        monkeypatch.setattr(measuring, "_bonds", lambda *_, bonds=bonds: np.array(bonds))
        rows = measured.extract(plan, found)
        query = [(word.terms[0].decode(), word.weight, word.place) for word in plan.words]
        for row, number, document in zip(rows, found.segments, found.documents, strict=True):
            segment = index.segments[number]
            url, title = segment.string("url", int(document)), segment.string("title", int(document))
            expected = features(query, fields_of(by_url[url]), title, url, bonds)
            given = dict(zip(FEATURES, row.tolist(), strict=True))
            assert {name: given[name] for name in expected} == pytest.approx(expected, abs=1e-9), (url, asked)


def test_a_feature_is_the_same_whether_others_are_measured_or_not(tmp_path: Path) -> None:
    build_index(random_visits(5, 200), tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    extractor = FeatureExtractor(index, ExternalSignals())
    tree = parse_query("sea the chart ship").tree
    assert tree is not None
    plan = plan_query(index, tree, Scoring())
    found = find_candidates(index, plan, 20)
    whole = extractor.measure(plan, found)
    for column, name in enumerate(FEATURES):
        own = extractor.measure(plan, found, 1 << column)
        assert own[:, column].tolist() == whole[:, column].tolist(), name


def test_features_without_weight_are_not_measured(tmp_path: Path) -> None:
    build_index(random_visits(5, 200), tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    ranker = Ranker(index, RankSettings(), changes={"passage.long": 0.1})
    near, passage = FEATURES.index("near"), FEATURES.index("passage")
    for words, long in (("sea chart", False), ("sea chart ship harbour light fog bell tide", True)):
        tree = parse_query(words).tree
        assert tree is not None
        plan = ranker.plan(tree)
        found = find_candidates(index, plan, 20)
        rows, all_rows = ranker.measure_features(plan, found), ranker.measure_features(plan, found, ALL_FEATURES)
        assert all_rows[:, near].any()
        assert not rows[:, near].any()
        assert rows[:, passage].any() == long  # It has a weight for long queries only.
        scorer = ranker.model.scorer
        assert scorer.score_candidates(rows).tolist() == scorer.score_candidates(all_rows).tolist()


class _Linked(Ranks):
    """Signals with anchor text for some pages."""

    def anchors(self, key: int) -> str:
        return "sea chart" if key % 3 == 0 else ""


@pytest.mark.parametrize("linked", [False, True])
def test_a_field_that_no_document_has_is_not_looked_up(tmp_path: Path, linked: bool) -> None:
    """Without anchor text nothing has to be looked up for short queries; scores are those of all features."""
    visits = random_visits(5, 200)
    build_index(visits, tmp_path, IndexSettings(), _Linked({}) if linked else Ranks({}))
    index = Index.open(tmp_path)
    ranker = Ranker(index, RankSettings())
    plan = ranker.plan(BagOfWords(("sea", "chart")))
    found = find_candidates(index, plan, 20)
    anchor, title = FEATURES.index("anchor"), FEATURES.index("title")
    rows, every = ranker.measure_features(plan, found), ranker.measure_features(plan, found, ALL_FEATURES)
    assert every[:, title].any()
    assert rows[:, anchor].tolist() == every[:, anchor].tolist()
    assert rows[:, anchor].any() == linked
    assert rows[:, title].any() == linked
    assert ranker.model.scorer.score_candidates(rows).tolist() == ranker.model.scorer.score_candidates(every).tolist()


@given(st.lists(st.text("/?a=.:", max_size=12), max_size=8))
def test_the_parts_of_a_path_are_counted(paths: list[str]) -> None:
    urls = [f"https://a.test/{path}".encode() for path in paths]
    start = np.cumsum([0, *map(len, urls)], dtype=np.int64)
    blob = np.frombuffer(b"".join(urls) or b"\0", np.uint8)
    start.flags.writeable = False
    expected = [sum(bool(part) for part in url.split(b"?")[0].split(b"/")[3:]) for url in urls]
    assert url_depths(blob, start).tolist() == expected


@pytest.mark.parametrize("similar", [False, True])
def test_scores_of_candidates_are_sums_of_weighed_features(similar: bool) -> None:
    chance = np.random.default_rng(3)
    weights = feature_weights("", {name: float(chance.normal()) for name in FEATURES if name != "query_titles"})
    for count in (1, 9, 100):
        rows = chance.random((count, len(FEATURES)))
        rows[:, FEATURES.index("query_words")] = 5.0
        rows[chance.random(count) < 0.3, FEATURES.index("static_similarity")] = np.nan
        complete = complete_features(rows)
        if not similar:
            complete = without_static_similarity(complete)
        scorer = FeatureScorer(weights)
        assert scorer.score_candidates(rows, similar=similar) == pytest.approx(scorer.score(complete), rel=1e-13)
    titled = FeatureScorer(feature_weights("", {"query_titles": 1.0}))
    assert titled.score_candidates(rows) == pytest.approx(titled.score(complete_features(rows)), rel=1e-13)


def test_weighing_is_shape_times_weight() -> None:
    rows = np.array([[4.0] * 6, [0.0] * 6])
    shapes = np.arange(6, dtype=np.int32)
    parts = weigh_features(rows, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0]), shapes)
    assert parts[0].tolist() == pytest.approx([4.0, 16.0, 2.0, np.log(5.0), 0.2, 2.0])
    assert parts[1].tolist() == pytest.approx([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
