"""`search.enough`: an answer from the pages with the highest static ranks alone says so, in every form it has."""

import random

import msgspec
import pytest
from shard_pairs import SETTINGS, answers_of, assert_same, build_both

from index.made_pages import Ranks, visit
from periplus.records import Query
from periplus.search import LocalShards, Searcher, ShardedSearcher
from periplus.search.request_filters import with_enough

DOCUMENTS = 4_000
NOTE = "Only the pages with the highest ranks were searched: enough of them fit."
WORDS = ("sea", "ship", "fog", "tide", "lighthouse", "buoy")
Both = tuple[Searcher, ShardedSearcher, LocalShards]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    chance = random.Random(3)
    visits = [
        visit(
            f"https://h{number % 97}.test/{number}",
            f"Page {number}",
            " ".join([*chance.choices(WORDS, weights=(9, 9, 5, 5, 1, 1), k=6), f"own{number}", "news" * (number % 2)]),
        )
        for number in range(DOCUMENTS)
    ]
    ranks = Ranks({record.key: chance.random() for record in visits})
    settings = msgspec.structs.replace(SETTINGS, search=msgspec.structs.replace(SETTINGS.search, per_host=0))
    return build_both(tmp_path_factory.mktemp("enough"), [visits[0::2], visits[1::2]], ranks, settings)


def test_nothing_is_left_out_unless_it_is_asked_for(both: Both) -> None:
    for words in ("sea", "sea ship", '"sea ship"', "lighthouse buoy", "own7"):
        page = assert_same(both[0], both[1], Query(words))
        assert page.unsearched == 0
        assert NOTE not in page.notes
        assert answers_of(both[0].search(Query(words, enough=0))) == answers_of(page)


def test_an_answer_says_that_pages_were_not_searched(both: Both) -> None:
    page = assert_same(both[0], both[1], Query("sea ship", enough=100))
    assert len(page.hits) == 10
    assert 0.7 * DOCUMENTS < page.unsearched < 0.76 * DOCUMENTS
    assert not page.exact
    assert NOTE in page.notes
    assert page.total <= both[0].search(Query("sea ship")).total


def test_a_rare_word_is_searched_everywhere(both: Both) -> None:
    for words in ("own7", "sea own7", "+sea +own7", '"sea ship fog tide lighthouse"'):
        page = assert_same(both[0], both[1], Query(words, enough=20))
        assert page.unsearched == 0
        assert answers_of(page) == answers_of(both[0].search(Query(words)))


def test_the_setting_counts_unless_the_query_says_otherwise(both: Both) -> None:
    folder = both[0]._folder.parent
    search = msgspec.structs.replace(SETTINGS.search, per_host=0, enough=100)
    searcher = Searcher.open(folder, msgspec.structs.replace(SETTINGS, search=search))
    assert searcher.search(Query("sea ship")).unsearched
    assert not searcher.search(Query("sea ship", enough=0)).unsearched
    assert not searcher.search(Query("sea ship", enough=1_000_000)).unsearched


def test_news_and_traces_are_of_all_pages(both: Both) -> None:
    assert not both[0].search(Query("sea ship", having="news", enough=100)).unsearched
    for searcher in both[:2]:
        page, _ = searcher.trace(Query("sea ship", enough=100), 1)
        assert not page.unsearched


def test_what_is_counted_or_sorted_is_of_all_pages(both: Both) -> None:
    plan = both[1].plan(Query("sea"))
    assert plan is not None
    assert with_enough(plan, Query("sea", enough=5), 0).enough == 5
    assert with_enough(plan, Query("sea"), 7).enough == 7
    for query in (Query("sea", enough=5, facets=("brand",)), Query("sea", enough=5, sort="price:asc")):
        assert with_enough(plan, query, 7).enough == 0
