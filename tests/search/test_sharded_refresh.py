"""What a broker knows of its shards: refreshed as they change, in pieces, and by one clock."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from index.made_pages import Ranks, random_ranks, random_visits, visit
from periplus.index import DictionaryAssembler, LiveIndex, cut_piece
from periplus.query import QueryBudget, parse_query
from periplus.records import Query
from periplus.search import IndexShard, ShardedSearcher
from periplus.search.sharding import index_shard, sharded_collection
from periplus.text import LANGUAGES
from search.shard_pairs import SETTINGS, answers_of, assert_same, build_both, split_by_host


def test_live_changes_reach_the_broker_when_it_is_refreshed(tmp_path: Path) -> None:
    visits = random_visits(7, 80)
    parts = split_by_host(visits, 3, 1)
    whole, broker, group = build_both(tmp_path, parts, Ranks({}))
    new = visit("https://live.coast.test/kraken", "Kraken", "the kraken rises from the deep sea " * 9)
    gone = parts[1][3].url
    for folder in ("one", "shard-01"):
        with LiveIndex(tmp_path / folder / "index", SETTINGS.index, background=False) as live:
            live.add(new)
            live.delete(gone)
            live.publish()
    assert not broker.refresh()
    shard = group._shards[1]
    assert isinstance(shard, IndexShard)
    assert shard.refresh()
    assert broker.refresh()
    assert not broker.refresh()
    found = broker.search(Query("kraken"))
    assert [hit.url for hit in found.hits] == [new.url]
    assert whole.refresh()
    one = whole.search(Query("kraken"))
    assert [hit.url for hit in one.hits] == [new.url]
    assert found.hits[0].score == pytest.approx(one.hits[0].score)


def test_a_refresh_without_changes_sends_nothing_of_segments(tmp_path: Path) -> None:
    visits = random_visits(7, 200)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    shard = group._shards[0]
    assert isinstance(shard, IndexShard)
    with LiveIndex(tmp_path / "shard-00" / "index", SETTINGS.index, background=False) as live:
        for segment in shard.index.segments:
            for document in range(0, segment.documents, 2):
                live.delete(segment.string("url", document))
        live.publish()
    assert shard.refresh()
    group.calls.clear()
    assert broker.refresh()
    assert group.calls == [("describe", 2)], "the dictionary of a segment with new deletions is the same"
    group.calls.clear()
    group.bytes = 0
    assert not broker.refresh()
    assert group.calls == [("describe", 2)]
    assert group.bytes < 600


def test_dictionaries_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_shard, "cut_piece", functools.partial(cut_piece, most=500))
    monkeypatch.setattr(sharded_collection, "DictionaryAssembler", lambda: DictionaryAssembler(500))
    visits = random_visits(4, 80)
    whole, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    assert sum(method == "dictionary" for method, _ in group.calls) > 6
    for words in ("sea chart", "harbuor", '"fog bell"', "coast.test"):
        assert_same(whole, broker, Query(words, size=50))


def test_a_shard_whose_segment_is_gone_stays_as_it_was(tmp_path: Path) -> None:
    """Between describing itself and sending a dictionary, it may have merged the segment into another."""
    visits = random_visits(7, 60)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    before = broker.search(Query("sea ship"))
    shard = group._shards[0]
    assert isinstance(shard, IndexShard)
    with LiveIndex(tmp_path / "shard-00" / "index", SETTINGS.index, background=False) as live:
        live.add(visit("https://live.coast.test/kraken", "Kraken", "the kraken rises " * 9))
    assert shard.refresh()
    call = group.call
    group.call = lambda method, *rest: {} if method == "dictionary" else call(method, *rest)  # type: ignore[method-assign]
    assert not broker.refresh()
    assert answers_of(broker.search(Query("sea ship"))) == answers_of(before)
    group.call = call  # type: ignore[method-assign]
    assert broker.refresh()
    assert broker.search(Query("kraken")).total == 1


def test_all_shards_score_by_the_clock_of_the_broker(tmp_path: Path) -> None:
    visits = random_visits(3, 120)
    whole, broker, group = build_both(tmp_path, split_by_host(visits, 3, 1), Ranks(random_ranks(3, visits)))
    sessions = [shard._sessions[-1] for shard in group._shards if isinstance(shard, IndexShard)]
    own = [assert_same(whole, broker, Query(words, size=100, explain=True)) for words in ("sea chart", "ship")]
    for number, session in enumerate(sessions):
        session.signals._today = 3_000.0 * number
    assert sessions[1].ranker.features._outside.today == 3_000.0
    for words, before in zip(("sea chart", "ship"), own, strict=True):
        after = assert_same(whole, broker, Query(words, size=100, explain=True))
        assert answers_of(after) == answers_of(before)


@pytest.mark.parametrize("column", ["feature_columns", "columns"])
def test_what_cannot_be_read_of_candidates_makes_a_shard_missing(tmp_path: Path, column: str) -> None:
    visits = random_visits(7, 60)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    call = group.call

    def change_columns(method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        replies = call(method, requests, seconds)
        if method == "retrieve":
            wrong = replies[1].feature_columns + np.uint8(200) if column == "feature_columns" else np.zeros(9, np.uint8)
            replies[1] = replies[1]._replace(**{column: wrong})
        return replies

    group.call = change_columns  # type: ignore[method-assign]
    page = broker.search(Query("sea ship"))
    assert page.hits
    assert page.notes[-1] == "1 of 2 shards did not answer."


def test_a_query_that_began_on_the_last_generation_ends_on_it(tmp_path: Path) -> None:
    visits = random_visits(7, 60)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    shard = group._shards[0]
    assert isinstance(shard, IndexShard)
    expected = broker.search(Query("sea ship"))
    call = group.call

    def refresh_before_present(method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        if method == "present":
            with LiveIndex(tmp_path / "shard-00" / "index", SETTINGS.index, background=False) as live:
                live.add(visit(f"https://live.coast.test/{len(group.calls)}", "Sea ship", "sea ship " * 20))
                live.publish()
            shard.refresh()
        return call(method, requests, seconds)

    group.call = refresh_before_present  # type: ignore[method-assign]
    page = broker.search(Query("sea ship", explain=True))  # nothing is presented early
    assert group.calls[-1][0] == "present"
    assert [hit.url for hit in page.hits] == [hit.url for hit in expected.hits]


def test_shards_that_do_not_answer_are_named(tmp_path: Path) -> None:
    visits = random_visits(7, 90)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 3, 1), Ranks({}))
    complete = broker.search(Query("sea", size=100))
    assert not complete.partial
    call, silent = group.call, {"retrieve": {1}, "present": set[int]()}

    def call_some(method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        answering = {shard: item for shard, item in requests.items() if shard not in silent.get(method, ())}
        return call(method, answering, seconds)

    group.call = call_some  # type: ignore[method-assign]
    page = broker.search(Query("sea", size=100))
    assert page.partial
    assert page.notes[-1] == "1 of 3 shards did not answer."
    assert 0 < len(page.hits) < len(complete.hits)
    silent |= {"retrieve": set(), "present": {0}}
    page = broker.search(Query("sea", size=100, explain=True))  # nothing is presented early
    assert page.partial
    assert 0 < len(page.hits) < len(complete.hits)
    silent |= {"retrieve": {0, 1, 2}}
    page = broker.search(Query("sea"))
    assert (page.hits, page.partial, page.notes[-1]) == ((), True, "3 of 3 shards did not answer.")


def test_counts_are_kept_only_if_all_shards_have_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that was late once does not make counts too low from then on, and the answer is partial."""
    monkeypatch.setattr("periplus.search.sharding.sharded_collection.MAX_RARE", 0)
    visits = random_visits(7, 90)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    language = frozenset({LANGUAGES.index("en")})
    terms = [b"sea", b"ship", b"wind", b"chart", b"fog"]

    def count(of: ShardedSearcher) -> tuple[list[int], list[bool]]:
        collection = of.collection
        present = collection.have_terms(terms, [0] * len(terms), [language]).tolist()
        return collection.count_together(b"sea", [b"ship", b"wind"]), present

    expected = count(ShardedSearcher(group, SETTINGS))
    assert min(expected[0]) > 0
    call, silent = group.call, {0, 1}

    def call_some(method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        late = silent if method == "statistics" else set()
        return call(method, {shard: item for shard, item in requests.items() if shard not in late}, seconds)

    group.call = call_some  # type: ignore[method-assign]
    assert count(broker) == ([0, 0], [False] * len(terms))
    page = broker.search(Query("sea link:https://nowhere.test/"))
    assert (page.partial, page.notes[-1]) == (True, "2 of 2 shards did not answer.")
    silent.clear()
    assert count(broker) == expected
    assert not broker.search(Query("sea link:https://nowhere.test/")).partial


def test_the_query_as_typed_has_its_card_after_a_correction_was_tried(tmp_path: Path) -> None:
    made = visit("https://coast.test/pharos", "Pharos", "The lighthouse of Pharos.")
    _, broker, group = build_both(tmp_path, [[made]], Ranks({}))
    backend = broker._backend(broker.collection, SETTINGS, broker._model, Query("pharos"))
    asked: list[Any] = []
    call = group.call
    group.call = lambda method, requests, seconds: asked.extend(requests.values()) or call(method, requests, seconds)  # type: ignore
    plans = {}
    for words in ("pharos", "pharaohs"):
        parsed = parse_query(words)
        plans[words] = backend.plan(parsed, Query(words))
    for words in ("pharaohs", "pharos"):
        backend.retrieve(plans[words], 10, QueryBudget(60.0), "off")
        assert asked[-1].early.words == words, "which card is wanted is decided by the words of this query"
