"""Plans travel as records: what is restored runs as the plan did, and what no planner writes is refused."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.made_pages import Ranks, queries, random_ranks, random_visits
from periplus.errors import BadInput
from periplus.index import Index, build_index
from periplus.query import (
    And,
    ContentType,
    DateRange,
    FilterRecord,
    Language,
    Link,
    NamedRecord,
    PlanRecord,
    QueryPlan,
    Site,
    TermSet,
    Vertical,
    find_candidates,
    parse_query,
    record_filter,
    record_plan,
    restore_filter,
    restore_plan,
)
from periplus.rank import Ranker
from periplus.search import decode_record, encode_record
from periplus.settings import IndexSettings, RankSettings


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    folder: Path = tmp_path_factory.mktemp("plans") / "index"
    visits = random_visits(2, 120)
    build_index(visits, folder, IndexSettings(), Ranks(random_ranks(2, visits)))
    index = Index.open(folder)
    index.spelling.load()
    return Ranker(index, RankSettings())


def plan_of(ranker: Ranker, words: str) -> QueryPlan | None:
    tree = parse_query(words).tree
    return ranker.plan(tree) if tree is not None else None


def travel(record: PlanRecord) -> PlanRecord:
    return decode_record(encode_record(record), PlanRecord)


@settings(max_examples=200, deadline=None)
@given(words=queries())
def test_any_plan_is_restored_as_it_was(ranker: Ranker, words: str) -> None:
    plan = plan_of(ranker, words)
    if plan is None:
        return
    record = travel(record_plan(plan))
    assert record == record_plan(plan)
    restored = restore_plan(record, ranker.index)
    for name in QueryPlan._fields:
        if name not in ("lookup", "notes", "named", "fixed", "synonyms"):
            assert getattr(restored, name) == getattr(plan, name), name
    assert restored.pairs() == plan.pairs()
    here, there = find_candidates(ranker.index, plan, 50), find_candidates(ranker.index, restored, 50)
    assert here.documents.tolist() == there.documents.tolist()
    assert here.scores.tolist() == there.scores.tolist()


def test_named_documents_are_those_of_the_shard_that_it_still_has(ranker: Ranker) -> None:
    plan = plan_of(ranker, "sea")
    assert plan is not None
    name = ranker.index.segments[0].name
    named = [
        NamedRecord(3, name, 5, 0.5),
        NamedRecord(2, name, 6, 0.5),
        NamedRecord(3, "seg-999999-0000", 7, 0.5),
        NamedRecord(3, name, 100_000, 0.5),
    ]
    restored = restore_plan(travel(record_plan(plan, named)), ranker.index, 3)
    assert [document[:2] for document in restored.named] == [(0, 5)]


def test_what_is_enough_travels(ranker: Ranker) -> None:
    plan = plan_of(ranker, "sea chart")
    assert plan is not None
    assert restore_plan(travel(record_plan(plan._replace(enough=7))), ranker.index).enough == 7


def change(record: PlanRecord, **parts: Any) -> PlanRecord:
    return record._replace(**parts)


def test_what_no_planner_writes_is_refused(ranker: Ranker) -> None:
    plan = plan_of(ranker, '"sea chart" fog site:coast.test')
    assert plan is not None
    record = record_plan(plan)
    leaf, word, phrase = record.leaves[0], record.words[0], record.phrases[0]
    for other in (
        change(record, leaves=record.leaves * 64),
        change(record, leaves=record.leaves[:1]),
        change(record, program=()),
        change(record, program=((0, 0), (0, 1))),
        change(record, program=((0, 0), (1, 0))),
        change(record, program=((0, -1),)),
        change(record, program=((0, len(record.leaves)),)),
        change(record, program=((4, 9),)),
        change(record, program=((6, 9),)),
        change(record, program=((77, 0),)),
        change(record, program=((5, 0), (5, 0), (1, 0)) * 600),
        change(record, phrases=(phrase._replace(leaves=(99,)), *record.phrases[1:])),
        change(record, phrases=(phrase._replace(leaves=()), *record.phrases[1:])),
        change(record, phrases=(phrase._replace(reach=-1), *record.phrases[1:])),
        change(record, leaves=(leaf._replace(fields=1 << 9), *record.leaves[1:])),
        change(record, leaves=(leaf._replace(group=70), *record.leaves[1:])),
        change(record, groups=1_000),
        change(record, enough=-1),
        change(record, words=(word._replace(terms=()), *record.words[1:])),
        change(record, words=record.words * 200),
        change(record, filters=record.filters * 200),
        change(record, filters=(FilterRecord("shell", "rm"),)),
        change(record, filters=(FilterRecord("site", "x" * 100_000),)),
        change(record, filters=(FilterRecord("terms", terms=(b"a",) * 100_000),)),
        change(record, filters=(FilterRecord("dates", after=1 << 40),)),
        change(record, titles=(1 << 70,)),
        change(record, titles=(-1,)),
        change(record, named=(NamedRecord(0, "seg", 1, 0.5),) * 1_000),
    ):
        with pytest.raises(BadInput):
            restore_plan(other, ranker.index)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=300))
def test_bytes_that_are_no_record_are_refused(data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_record(data, PlanRecord)


def test_filters_are_restored() -> None:
    for wanted in (
        Site("a.test", "/x"),
        Language("de"),
        ContentType("pdf"),
        Vertical("news"),
        DateRange(5, 9),
        Link("a.test"),
        TermSet((b"a", b"\xff")),
    ):
        assert restore_filter(decode_record(encode_record(record_filter(wanted)), FilterRecord)) == wanted
    with pytest.raises(AssertionError):
        record_filter(And(()))  # type: ignore[arg-type]
