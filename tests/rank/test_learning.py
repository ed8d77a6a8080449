"""Learning: trees that run as the library runs them, a gate that lets only better ones in, clicks without bias."""

import random
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from naive.trees import add_up as naive_add_up
from periplus.errors import BadInput, CorruptFile
from periplus.rank import (
    FEATURES,
    Sample,
    list_models,
    open_external_signals,
    read_grades,
    save_model,
    select_model,
    train_model,
)
from periplus.rank.kernels.trees import Trees, add_up, attribute
from periplus.rank.ranking_model import TreeModel, read_model, write_model
from periplus.rank.training import flatten
from periplus.settings import RankSettings
from periplus.signals import Click, Judgement, write_click, write_judgement
from periplus.signals.click_model import estimate_relevance
from periplus.url import parse_address


def samples(count: int, told: bool, seed: int = 3) -> list[Sample]:
    """Make queries whose right documents a feature tells, or nothing does."""
    chance = np.random.default_rng(seed)
    made = []
    for number in range(count):
        rows = chance.random((30, len(FEATURES)))
        grades = np.zeros(30, np.int32)
        grades[np.argsort(-rows[:, FEATURES.index("pairs")])[:4] if told else chance.permutation(30)[:4]] = 2
        made.append(Sample(f"q{number}", rows, 0.1 * rows[:, 0], grades, np.sort(grades)[::-1]))
    return made


def of_source(name: str, count: int, sign: float, seed: int, strength: float = 0.02) -> list[Sample]:
    """Make queries of a collection whose right documents have much of a feature, or little of it."""
    found = []
    for sample in samples(count, told=True, seed=seed):
        rows = sample.rows.copy()
        column = FEATURES.index("title_words")
        rows[:, column] = sign * (sample.grades - 1) + np.random.default_rng(seed).random(len(rows))
        rows[:, FEATURES.index("pairs")] = 0.0
        base = 0.1 * rows[:, 0] + strength * sample.grades
        urls = tuple(f"https://{name}.example/{number}" for number in range(len(rows)))
        found.append(sample._replace(rows=rows, base=base, source=name, urls=urls))
    return found


def test_a_model_that_is_worse_on_a_collection_left_out_is_refused() -> None:
    agreeing = train_model([*of_source("a", 40, 1.0, 3), *of_source("b", 40, 1.0, 4)])
    assert [source.source for source in agreeing.left_out] == ["a", "b"]
    assert agreeing.passed
    contrary = train_model([*of_source("a", 80, 1.0, 3), *of_source("b", 30, -1.0, 4, strength=0.04)])
    left_out = {source.source: source for source in contrary.left_out}
    assert left_out["b"].worse
    assert left_out["b"].after < left_out["b"].before
    assert not contrary.passed


@pytest.mark.parametrize(("few", "many"), [(1, 200), (5, 200), (19, 40)])
def test_a_collection_of_few_queries_does_not_decide(tmp_path: Path, few: int, many: int) -> None:
    learned = train_model([*of_source("a", few, -1.0, 4, strength=0.04), *of_source("b", many, 1.0, 3)])
    assert [(source.source, source.queries, source.judged) for source in learned.left_out] == [
        ("a", few, False),
        ("b", many, False),
    ]
    assert not any(source.worse for source in learned.left_out)
    assert learned.passed
    card = save_model(tmp_path, learned, ("a", "b"))
    assert (tmp_path / "models" / f"{card.name}.md").read_text().count("too few to judge") == 2


def test_queries_whose_first_result_changed_are_named(tmp_path: Path) -> None:
    learned = train_model(of_source("a", 40, 1.0, 3))
    assert learned.left_out == ()
    assert learned.examples
    gains = [change.gain for change in learned.examples]
    assert gains == sorted(gains, reverse=True)
    assert all(change.before != change.after and change.query.startswith("q") for change in learned.examples)
    card = save_model(tmp_path, learned, ("a",))
    assert list_models(tmp_path)[0] == [card]
    assert learned.examples[0].after in (tmp_path / "models" / f"{card.name}.md").read_text()


def random_trees(seed: int, features: int) -> Trees:
    chance = random.Random(seed)
    nodes: list[tuple[int, float, int, int, float]] = []
    leaves: list[float] = []

    def lay(depth: int) -> int:
        if depth == 0 or chance.random() < 0.2:
            leaves.append(chance.gauss(0, 1))
            return ~(len(leaves) - 1)
        own = len(nodes)
        nodes.append((0, 0.0, 0, 0, 0.0))
        left, right = lay(depth - 1), lay(depth - 1)
        nodes[own] = (chance.randrange(features), round(chance.random(), 1), left, right, chance.gauss(0, 1))
        return own

    roots = [lay(chance.randint(0, 4)) for _ in range(8)]
    table = np.array(nodes, np.float64).reshape(-1, 5)
    feature, child = table[:, 0].astype(np.int32), table[:, 2:4].astype(np.int32)
    return Trees(
        np.array(roots, np.int32), feature, table[:, 1].copy(), child, table[:, 4].copy(), np.array(leaves, np.float64)
    )


@pytest.mark.parametrize("seed", range(6))
def test_trees_are_walked_as_written(seed: int) -> None:
    trees = random_trees(seed, 5)
    rows = np.round(np.random.default_rng(seed).random((40, 5)), 1)
    sums = add_up(trees, rows)
    assert sums.tolist() == pytest.approx([naive_add_up(trees, row) for row in rows.tolist()])
    assert attribute(trees, rows).sum(axis=1).tolist() == pytest.approx(sums.tolist())


def test_flat_trees_give_what_the_library_gives() -> None:
    made = samples(40, told=True)
    rows = np.concatenate([sample.rows for sample in made])
    data = lightgbm.Dataset(rows, np.concatenate([s.grades for s in made]), group=[30] * 40, params={"verbose": -1})
    booster = lightgbm.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1}, data, 20)
    given = add_up(flatten(booster.dump_model()), rows)
    assert np.abs(given - booster.predict(rows)).max() < 1e-6


def test_a_better_model_passes_and_is_used(tmp_path: Path) -> None:
    learned = train_model(samples(60, told=True))
    assert learned.passed
    assert learned.after > learned.before + 0.1
    assert max(learned.importance, key=lambda name: learned.importance[name]) == "pairs"
    card = save_model(tmp_path, learned, ("made up",))
    assert list_models(tmp_path) == ([card], card.name)
    model = open_external_signals(tmp_path, RankSettings()).model
    assert model is not None
    rows = samples(1, told=True)[0].rows
    assert model.correct(rows).tolist() == learned.model.correct(rows).tolist()
    assert open_external_signals(tmp_path, RankSettings(learned=False)).model is None
    select_model(tmp_path, "")
    assert open_external_signals(tmp_path, RankSettings()).model is None
    with pytest.raises(BadInput):
        select_model(tmp_path, "no-such-model")


def test_a_model_of_nothing_is_refused(tmp_path: Path) -> None:
    learned = train_model(samples(60, told=False))
    assert not learned.passed
    card = save_model(tmp_path, learned, ("noise",))
    assert list_models(tmp_path) == ([card], "")
    assert "refused" in (tmp_path / "models" / f"{card.name}.md").read_text()
    with pytest.raises(BadInput):
        select_model(tmp_path, card.name)


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(BadInput, match="19 queries"):
        train_model(samples(19, told=True))


def test_a_damaged_model_is_refused_and_not_used(tmp_path: Path) -> None:
    path = tmp_path / "one.model"
    write_model(path, TreeModel(random_trees(1, len(FEATURES)), 20.0))
    good = path.read_bytes()
    assert read_model(path).scale == 20.0
    for at in range(0, len(good), max(1, len(good) // 40)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        if path.read_bytes() != good:
            try:
                read_model(path)
            except CorruptFile:
                continue
            assert good[at] == 0, at  # Padding between arrays is not read.
    circle = random_trees(1, 3)
    circle.child[-1, 0] = 0
    write_model(path, TreeModel(circle, 20.0))
    with pytest.raises(CorruptFile):
        read_model(path)


def test_clicks_are_freed_from_their_positions() -> None:
    chance = random.Random(5)
    looks = [1.0, 0.6, 0.35, 0.2, 0.1]
    liking = {f"https://a.example/{n}": like for n, like in enumerate((0.2, 0.8, 0.4, 0.3, 0.6))}
    clicks = []
    for _ in range(6_000):
        shown = list(liking)
        chance.shuffle(shown)
        for place, url in enumerate(shown):
            if chance.random() < looks[place] * liking[url]:
                clicks.append(Click("tides", url, place + 1, tuple(shown)))
                break
    found = estimate_relevance(clicks)
    order = sorted(liking, key=lambda url: -found.pages["tides"][url])
    assert order[:2] == ["https://a.example/1", "https://a.example/4"]
    assert order[-1] == "https://a.example/0"
    assert found.looks[0] == 1.0
    assert (np.diff(found.looks[:5]) < 0).all()


def test_judgements_and_clicks_become_grades(tmp_path: Path) -> None:
    for _ in range(30):
        write_click(tmp_path, Click("tides", "https://a.example/", 1, ("https://a.example/", "https://b.example/")))
    write_judgement(tmp_path, Judgement("tides", "https://b.example/", 4))
    write_judgement(tmp_path, Judgement("tides", "no url at all", 4))
    grades = read_grades(tmp_path)["tides"]
    assert grades[parse_address("https://b.example/").key] == 4
    assert grades[parse_address("https://a.example/").key] >= 2
    assert len(grades) == 2
