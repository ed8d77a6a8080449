"""Rules of a query and of the server: ten results stay ten, and shards answer as one index does."""

from pathlib import Path

import pytest

from index.made_pages import Ranks, random_visits
from periplus.errors import BadInput, NothingHere
from periplus.records import Query
from periplus.result_rules import RuleStore
from periplus.search import Searcher, ShardedSearcher
from search.shard_pairs import SETTINGS, assert_same, build_both, split_by_host

TEXT = "block deep.coast.test\nraise mountain.test/a/ 6\nlower www.coast.test 3\n/b\\/\\d*3$/"


@pytest.mark.parametrize("shards", [1, 3])
def test_shards_answer_as_one_index_does(tmp_path: Path, shards: int) -> None:
    visits = random_visits(7, 300)
    parts = split_by_host(visits, shards, 3) if shards > 1 else [visits]
    whole, broker, group = build_both(tmp_path, parts, Ranks({}))
    rules = RuleStore(tmp_path / "one")
    own = rules.add(TEXT).id
    broker = ShardedSearcher(group, SETTINGS, rules=rules)
    broker.load_spelling()
    for words in ("sea", "sea chart", "ship light", '"the sea"', "fog -bell"):
        plain = whole.search(Query(words, size=50, folded=False))
        page = assert_same(whole, broker, Query(words, size=50, folded=False, rules=(own,)))
        blocked = [hit for hit in plain.hits if "deep.coast" in hit.url or (hit.url.endswith("3") and "/b/" in hit.url)]
        assert blocked
        assert not {hit.url for hit in page.hits} & {hit.url for hit in blocked}
        assert page.total < plain.total
    retrieved = [count for method, count in group.calls if method == "retrieve"]
    assert sum(retrieved) == len(parts) * 6  # Each shard was sent the text of the rules once.


def test_ten_stay_ten(tmp_path: Path) -> None:
    whole, _, _ = build_both(tmp_path, [random_visits(9, 200)], Ranks({}))
    first = whole.search(Query("sea", folded=False))
    store = RuleStore(tmp_path / "one")
    own = store.add("\n".join(hit.url for hit in first.hits)).id
    page = whole.search(Query("sea", folded=False, rules=(own,)))
    assert len(first.hits) == len(page.hits) == 10
    assert not {hit.url for hit in first.hits} & {hit.url for hit in page.hits}
    assert page.total == first.total - 10


def test_rules_of_the_server_count_for_everybody(tmp_path: Path) -> None:
    whole, _, _ = build_both(tmp_path, [random_visits(9, 60)], Ranks({}))
    store = RuleStore(tmp_path / "one")
    own = store.add("block coast.test").id
    assert not whole.refresh()
    store.set_server_ids([own])
    assert whole.refresh()
    assert {hit.breadcrumbs[0] for hit in whole.search(Query("sea", size=50)).hits} == {"mountain.test"}
    store.set_server_ids([])
    assert whole.refresh()
    assert len({hit.breadcrumbs[0] for hit in whole.search(Query("sea", size=50)).hits}) > 1


def test_unknown_rules_are_noted(tmp_path: Path) -> None:
    whole, broker, _ = build_both(tmp_path, [random_visits(9, 30)], Ranks({}))
    for searcher in (whole, broker):
        assert isinstance(searcher, Searcher | ShardedSearcher)
        assert "rules of this search are not on this server" in str(
            searcher.search(Query("sea", rules=("0" * 32,))).notes
        )


def test_store(tmp_path: Path) -> None:
    store = RuleStore(tmp_path, max_sets=3)
    first = store.add("block a.test", name="mine")
    assert store.get(first.id).name == "mine"
    store.set_server_ids([first.id])
    ids = [store.add(f"block b{number}.test").id for number in range(4)]
    assert store.get(first.id).id == first.id  # Stays, since it counts for everybody.
    assert sum((tmp_path / "rules" / f"{own}.json").exists() for own in ids) == 2
    for wrong in ("", "../keys", "0" * 32):
        with pytest.raises(NothingHere):
            store.get(wrong)
    with pytest.raises(BadInput, match="no rule"):
        store.add("# nothing")
    with pytest.raises(NothingHere):
        store.set_server_ids(["0" * 32])
