"""Own fields, facets, orders and passages over shards are those of one index over the same pages."""

from pathlib import Path

import msgspec
import pytest

from index.made_pages import Ranks, visit
from periplus.errors import BadInput
from periplus.index import write_schema
from periplus.publish import DocumentConverter
from periplus.records import FetchRecord, Query
from periplus.search import LocalShards, Searcher, ShardedSearcher
from periplus.settings import FieldSettings
from search.shard_pairs import assert_same, build_both

SCHEMA = {
    "colour": FieldSettings("keyword"),
    "price": FieldSettings("number"),
    "new": FieldSettings("boolean"),
    "day": FieldSettings("date"),
}
Both = tuple[Searcher, ShardedSearcher, LocalShards]


def documents() -> list[FetchRecord]:
    """Return documents of which some lack each field, and many have the same values."""
    converter = DocumentConverter(SCHEMA)
    made = []
    for n in range(60):
        own = {"colour": ["red", "blue", f"c{n % 7}"][: n % 4], "price": n * 7 % 13 / 2, "new": n % 3 == 0}
        own["day"] = f"2024-01-{1 + n % 28:02}"
        own = {name: value for place, (name, value) in enumerate(own.items()) if (n + place) % 5}
        words = "sail boat" if n % 2 else "sail harbour"
        made.append(
            converter.convert(msgspec.json.encode({"id": n, "title": f"Sail {n}", "text": words * (n % 4), **own}))
        )
    return made


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, made = tmp_path_factory.mktemp("fields"), documents()
    for name in ("one", "shard-00", "shard-01", "shard-02"):
        write_schema(folder / name / "index", SCHEMA)
    parts = [made[:10], made[10:35], made[35:]]
    return build_both(folder, parts, Ranks({}))


@pytest.mark.parametrize(
    "query",
    [
        Query("sail colour:red"),
        Query("sail", filter="price>=2 AND new:true"),
        Query("sail", facets=("colour", "price", "new", "day")),
        Query("", facets=("colour",)),
        Query("boat", sort="price:asc", size=40),
        Query("boat", sort="price:desc", size=7),
        Query("sail", sort="colour", size=60, facets=("price",)),
        Query("sail", sort="day:desc", start=10, size=10),
        Query("", sort="new:desc", filter="colour:blue", size=20),
        Query("harbour", every_word=True, filter="colour:nothing"),
    ],
    ids=repr,
)
def test_own_fields_are_filtered_counted_and_sorted_alike(both: Both, query: Query) -> None:
    page = assert_same(*both[:2], query)
    assert page.total or "nothing" in query.filter


def test_what_results_are_sorted_by_does_not_keep_a_page_out(both: Both) -> None:
    """A page is followed through the query in the order of scores; sorted or not, it matches."""
    own, other = (both[0].search(Query(word)).hits[0].key for word in ("boat", "harbour"))
    for query in (Query("boat", sort="price:asc", start=10), Query("sail boat", sort="day", facets=("colour",))):
        for searcher in both[:2]:
            page, trace = searcher.trace(query, own)
            assert (trace.matched, page.hits[trace.rank - 1].key) == (True, own)
            _, trace = searcher.trace(query, other)
            assert (trace.matched, trace.missing) == (False, ("boat",))


def test_many_values_are_summed_before_the_most_frequent_are_chosen(tmp_path: Path) -> None:
    schema = {"word": FieldSettings("keyword")}
    converter = DocumentConverter(schema)
    made = [
        converter.convert(msgspec.json.encode({"id": n, "title": "Sail", "word": [f"w{n}", f"v{n // 3 % 150}"]}))
        for n in range(600)
    ]
    for name in ("one", "shard-00", "shard-01"):
        write_schema(tmp_path / name / "index", schema)
    whole, broker, _ = build_both(tmp_path, [made[:250], made[250:]], Ranks({}))
    page = assert_same(whole, broker, Query("sail", facets=("word",)))
    assert len(page.facets[0][1]) == 100


def test_fields_that_are_not_declared_are_refused_alike(both: Both) -> None:
    for query in (Query("sail", sort="weight"), Query("sail", facets=("weight",)), Query("sail", filter="weight>1")):
        with pytest.raises(BadInput) as one:
            both[0].search(query)
        with pytest.raises(BadInput) as many:
            both[1].search(query)
        assert str(many.value) == str(one.value)


def test_passages_are_those_of_one_index(tmp_path: Path) -> None:
    texts = {
        "keeper": "The keeper lights the lamp at dusk. " * 8 + "Ships pass far out. " * 40 + "The lamp burns oil. " * 9,
        "lamp": "A lamp of brass. " * 30 + "The keeper cleans the lamp of the lighthouse every morning. " * 4,
        "coast": "Rocks and fog along the coast. " * 50 + "A lighthouse keeper waits. " * 3,
    }
    parts = [[visit(f"https://{name}.test/", name.title(), text)] for name, text in texts.items()]
    for count in (1, 3):
        own = [[page for part in parts for page in part]] if count == 1 else parts
        whole, broker, group = build_both(tmp_path / str(count), own, Ranks({}))
        for query, tokens in ((Query("lighthouse keeper lamp"), 400), (Query("lamp"), 60), (Query("zebra"), 100)):
            group.calls.clear()
            page, passages = whole.passages(query, tokens)
            answer, found = broker.passages(query, tokens)
            assert found == passages, query
            assert [hit.key for hit in answer.hits] == [hit.key for hit in page.hits]
            assert len(passages) > 0 or not page.hits
