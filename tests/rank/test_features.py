"""The features of candidates against counting them in lists of words."""

import random
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import random_visits
from naive.engine import in_body, split_body
from naive.features import FIELDS, features
from periplus.index import Index, build_index
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.rank import feature_rows as measuring
from periplus.rank.external_signals import ExternalSignals
from periplus.rank.feature_rows import FeatureExtractor
from periplus.rank.ranking_model import FEATURES
from periplus.records import FetchRecord
from periplus.score.kernels.weighting import weigh_features
from periplus.settings import IndexSettings
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


def test_weighing_is_shape_times_weight() -> None:
    rows = np.array([[4.0] * 6, [0.0] * 6])
    shapes = np.arange(6, dtype=np.int32)
    parts = weigh_features(rows, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0]), shapes)
    assert parts[0].tolist() == pytest.approx([4.0, 16.0, 2.0, np.log(5.0), 0.2, 2.0])
    assert parts[1].tolist() == pytest.approx([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
