"""Plans laid out by the kernel, compared with the same made of lists."""

import random
from typing import Any

import numpy as np
import pytest
from numba import njit

from index.made_pages import random_visits
from naive import plan_layout as naive
from periplus.index import Index, build_index
from periplus.query import QueryPlan, Scoring, TermLookup, plan_segment
from periplus.query.kernels import match
from periplus.query.kernels.plan import get_plan
from periplus.query.query_plan import Leaf, PhrasePlan
from periplus.settings import IndexSettings

TERMS = [b"sea", b"chart", b"ship", b"harbour", b"light", b"fog", b"bell", b"tide", b"no-such-term"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("layout")
    build_index(random_visits(5, 300), folder, IndexSettings())
    return Index.open(folder)


def random_plan(index: Index, chance: random.Random) -> QueryPlan:
    """A plan whose program is any that ends with one set."""
    languages = frozenset(range(9))
    leaves = tuple(
        Leaf(
            chance.choice(TERMS),
            chance.random(),
            chance.randint(-1, 2),
            chance.choice([255, 255, 255, 1]),
            languages if chance.random() < 0.1 else None,
        )
        for _ in range(chance.randint(1, 9))
    )
    phrases = tuple(
        PhrasePlan(
            tuple(chance.randrange(len(leaves)) for _ in range(chance.randint(1, 4))), chance.choice([0, 0, 5]), 255
        )
        for _ in range(8)
    )
    joins = chance.choice([(match.AND,), (match.OR,), (match.AND, match.OR, match.WITHOUT)])
    kinds = chance.choice([(match.LEAF,), (match.PHRASE,), (match.LEAF, match.PHRASE, match.ALL)])
    program: list[tuple[int, int]] = []
    depth = 0
    for _ in range(chance.randint(1, 8)):
        kind = chance.choice(kinds)
        used = [argument for operation, argument in program if operation == match.PHRASE]
        program.append((kind, {match.LEAF: chance.randrange(len(leaves)), match.PHRASE: len(used)}.get(kind, 0)))
        depth += 1
        while depth > 1 and chance.random() < 0.5:
            program.append((chance.choice(joins), 0))
            depth -= 1
    program += [(chance.choice(joins), 0)] * (depth - 1)
    synonyms = {b"sea": "sea"} if chance.random() < 0.1 else {}
    scoring = Scoring(static_weight=chance.random())
    return QueryPlan(
        (), leaves, 2, tuple(program), phrases, (), scoring, 0.25, (), (), TermLookup(index), synonyms=synonyms
    )


def test_plans_are_laid_out_as_lists_say(index: Index) -> None:
    def copy_plan(addresses: Any) -> Any:
        return get_plan(addresses)

    read: Any = njit(copy_plan)
    segment, chance, shapes = index.segments[0], random.Random(3), set()
    for _ in range(400):
        plan = random_plan(index, chance)
        made = plan_segment(segment, plan)
        laid: Any = read(made.addresses)
        often = plan.leaf_places(segment)[:, 0].tolist()
        shapes.add(laid.shape)
        assert laid.place.tolist() == plan.leaf_places(segment).tolist()
        assert laid.weight.tolist() == [float(np.float32(leaf.weight / 255)) for leaf in plan.leaves]
        assert [row[:2] for row in laid.leaves.tolist()] == [[leaf.fields, leaf.group] for leaf in plan.leaves]
        assert [row[2] >= 0 for row in laid.leaves.tolist()] == [leaf.languages is not None for leaf in plan.leaves]
        assert [tuple(row) for row in laid.program.tolist()] == list(plan.program)
        assert [row[2:] for row in laid.phrases.tolist()] == [[phrase.reach, 255] for phrase in plan.phrases]
        assert [tuple(row) for row in laid.words.tolist()] == [(*word, -1) for word in naive.words(plan, often)]
        assert laid.paired == 0
        assert laid.order.tolist() == naive.order(plan, often)
        assert laid.shape == naive.shape(plan)
        assert int(laid.required) == sum(1 << leaf for leaf in naive.required(plan))
        assert laid.clauses.tolist() == (naive.clauses(plan, often) if laid.shape == match.MIXED else [])
        assert (laid.groups, laid.static_weight, laid.bonus) == (2, plan.scoring.static_weight, 0.25)
        everywhere = all(leaf.fields == 255 for leaf in plan.leaves)
        assert laid.simple == everywhere * (1 if any(leaf.languages for leaf in plan.leaves) else 2)
        assert (made.leaves, made.steps, made.phrases) == (len(plan.leaves), len(plan.program), len(plan.phrases))
    assert shapes == {match.SOME, match.EVERY, match.QUOTE, match.MIXED}
