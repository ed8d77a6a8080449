"""Safe search, folding of near-duplicates, hosts taking turns."""

import itertools
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import visit
from periplus.errors import BadInput
from periplus.index import build_index
from periplus.records import FetchRecord, PageFlag, Query
from periplus.search import Searcher
from periplus.search.presentation.result_selection import (
    CandidateFields,
    ContentSignature,
    SelectionRules,
    excluded_flags,
    select_columns,
    select_results,
)
from periplus.settings import Settings

LONG = "The pilots of this coast know every reef between the two capes and tell nobody. " * 12


def looking(hosts: list[str], texts: list[int]) -> CandidateFields:
    return CandidateFields(lambda row: hosts[row], lambda row: ContentSignature(texts[row] << 8, 1000, texts[row]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=60), st.integers(1, 60), st.integers(0, 3))
def test_pages_of_any_size_are_cut_from_one_order(pages: list[tuple[int, int]], wanted: int, per_host: int) -> None:
    look = looking([f"h{host}" for host, _ in pages], [text for _, text in pages])
    flags = np.zeros(len(pages), np.int64)
    whole = select_results(flags, look, 100, 0, per_host, 0)
    part = select_results(flags, look, wanted, 0, per_host, 0)
    assert part.rows == whole.rows[:wanted]
    folded = [row for rows in whole.similar.values() for row in rows]
    assert sorted(whole.rows + folded) == list(range(len(pages))), "nothing is lost"
    assert len({pages[row][1] for row in whole.rows}) == len(whole.rows), "every text once"


_CANDIDATE = st.tuples(
    st.integers(1, 4),  # host
    st.sampled_from([0b1, 0b11, 0b111 << 20, 0b1111 << 20, 1 << 50]),  # simhash
    st.sampled_from([0, 30, 60, 200, 230, 1000]),  # bytes of text
    st.sampled_from([0, 0, 0, int(PageFlag.ADULT), int(PageFlag.UNTRUSTED), int(PageFlag.PAYWALL)]),
)


@given(
    st.lists(_CANDIDATE, max_size=120),
    st.integers(0, 40),
    st.integers(0, 2),
    st.integers(0, 3),
    st.integers(-1, 2),
)
def test_selection_by_columns_is_the_same(
    candidates: list[tuple[int, int, int, int]], wanted: int, safe: int, per_host: int, bits: int
) -> None:
    hosts, simhashes, lengths, flags = (
        (list(column) for column in zip(*candidates, strict=True)) if candidates else [[]] * 4
    )
    short: list[int] = []

    def signature(row: int) -> ContentSignature:
        if lengths[row] < 200:
            short.append(row)
            return ContentSignature(0, lengths[row], 1 + row)
        return ContentSignature(simhashes[row], lengths[row], 0)

    rules = SelectionRules(wanted, excluded_flags(safe), per_host, bits)
    expected = select_results(np.array(flags, np.int64), CandidateFields(hosts.__getitem__, signature), *rules)
    words = [(host, simhash, length | flag << 32) for host, simhash, length, flag in candidates]
    got = select_columns(np.array(words, np.uint64).reshape(-1, 3), rules)
    sizes = [lengths[row] for row in dict.fromkeys(short) if lengths[row]]
    if len(set(sizes)) < len(sizes):
        assert got is None, "texts of one length have to be read"
    else:
        assert got == expected


def test_a_text_without_a_simhash_has_to_be_read() -> None:
    rules = SelectionRules(10, 0, 2, 3)
    assert select_columns(np.array([[1, 0, 200]], np.uint64), rules) is None
    assert select_columns(np.array([[1, 0, 199]], np.uint64), rules) is not None
    assert select_columns(np.array([[1, 0, 200]], np.uint64), rules._replace(bits=-1)) is not None


def test_a_crowded_host_waits_for_others_and_then_comes() -> None:
    hosts = ["big"] * 8 + ["a", "b", "c", "d", "e", "f", "g", "h"]
    look = looking(hosts, list(range(len(hosts))))
    rows = select_results(np.zeros(len(hosts), np.int64), look, 20, 0, 2, 0).rows
    first = [hosts[row] for row in rows[:10]]
    assert first.count("big") == 2
    assert [row for row in rows if hosts[row] == "big"] == list(range(8)), "in their own order"
    assert len(rows) == len(hosts)


@pytest.mark.parametrize(("safe", "kept"), [(0, [0, 1, 2, 3]), (1, [0, 2, 3]), (2, [0, 3])])
def test_safe_search_leaves_out_what_it_says(safe: int, kept: list[int]) -> None:
    flags = np.array([0, PageFlag.ADULT, PageFlag.STUFFED | PageFlag.PAYWALL, PageFlag.PAYWALL], np.int64)
    got = select_results(flags, looking(["h"] * 4, [1, 2, 3, 4]), 10, excluded_flags(safe), 0, 0)
    assert got.rows == kept
    assert (got.hidden, got.examined) == (4 - len(kept), 4)


def flagged(made: FetchRecord, flags: int) -> FetchRecord:
    assert made.page is not None
    return msgspec.structs.replace(made, page=msgspec.structs.replace(made.page, flags=flags))


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder = tmp_path_factory.mktemp("arranged")
    pages = [
        visit("https://coast.test/", "Coast", "reef pilots " + LONG),
        visit("https://mirror.test/coast", "Coast again", "reef pilots " + LONG + "Copied by us."),
        *(visit(f"https://coast.test/reef/{n}", f"Reef {n}", f"reef number {n} " + f"word{n} " * 40) for n in range(6)),
        flagged(visit("https://adult.test/", "Reef after dark", "reef of another kind"), PageFlag.ADULT),
        visit("https://other.test/reef", "Another reef", "a reef far away, with nothing else to say of it"),
    ]
    build_index(pages, folder / "index", Settings().index)
    return Searcher.open(folder, Settings())


def urls(searcher: Searcher, query: Query) -> list[str]:
    return [hit.url for hit in searcher.search(query).hits]


def test_near_duplicates_fold_into_the_better_one(searcher: Searcher) -> None:
    page = searcher.search(Query("reef pilots"))
    similar = {hit.url: hit.similar for hit in page.hits}
    twins = {"https://coast.test/", "https://mirror.test/coast"}
    shown = next(url for url in similar if url in twins)
    assert set(similar) & twins == {shown}
    assert similar[shown] == (next(iter(twins - {shown})),)
    assert set(urls(searcher, Query("reef pilots", folded=False))) >= twins


def test_safe_search_and_its_count(searcher: Searcher) -> None:
    assert "https://adult.test/" in urls(searcher, Query("reef"))
    page = searcher.search(Query("reef", safe=1))
    assert "https://adult.test/" not in {hit.url for hit in page.hits}
    assert (page.hidden, page.examined) == (1, 10)


def test_requests_are_narrowed(searcher: Searcher) -> None:
    assert urls(searcher, Query("reef", site="other.test")) == ["https://other.test/reef"]
    assert len(urls(searcher, Query("reef", site="coast.test"))) == 7, "a site asked for may crowd the page"
    assert urls(searcher, Query("reef", language="ja")) == []
    assert urls(searcher, Query("reef", kinds=("application/pdf",))) == []
    assert len(urls(searcher, Query("reef", kinds=("application/pdf", "text/html"), folded=False))) == 10
    assert urls(searcher, Query("reef", days=1)) == [], "the made pages are old"


def test_a_home_page_has_links_into_its_site(searcher: Searcher) -> None:
    hit = searcher.search(Query("coast reef pilots", folded=False)).hits[0]
    assert hit.url == "https://coast.test/"
    assert len(hit.links) == 4
    assert all(url.startswith("https://coast.test/reef/") for _, url in hit.links)


def test_stages_are_timed_and_the_generation_named(searcher: Searcher) -> None:
    page = searcher.search(Query("reef"))
    assert [name for name, _ in page.timings] == ["query", "retrieve", "rerank", "present", "suggest"]
    assert sum(seconds for _, seconds in page.timings) <= page.seconds
    assert page.generation > 0


def test_every_page_of_results_joins(searcher: Searcher) -> None:
    whole = urls(searcher, Query("reef", size=20))
    parts = itertools.chain.from_iterable(urls(searcher, Query("reef", start=n, size=3)) for n in range(0, 21, 3))
    assert list(parts) == whole


def test_opened_indexes_know_where_they_are(searcher: Searcher, tmp_path: Path) -> None:
    assert searcher.page_status("https://other.test/reef").indexed
    assert not searcher.page_status("https://other.test/nowhere").indexed
    parts = searcher.index_parts()
    assert parts is not None
    assert parts.documents == 10
    assert Searcher.open(tmp_path, Settings(), may_be_empty=True).index_parts() is None


def test_other_weights_can_be_tried_without_being_kept(searcher: Searcher) -> None:
    names = [weight.name for weight in searcher.weights()]
    assert "static_weight" in names
    assert all(weight.help for weight in searcher.weights())
    plain = searcher.search(Query("reef pilots"))
    same = searcher.preview(Query("reef pilots"), {weight.name: weight.value for weight in searcher.weights()})
    assert [hit.score for hit in same.hits] == [hit.score for hit in plain.hits]
    other = searcher.preview(Query("reef pilots"), {"all_words_bonus": 9.0})
    assert other.hits[0].score > plain.hits[0].score
    assert searcher.search(Query("reef pilots")).hits == plain.hits
    for wrong in ({"static_weight": -1.0}, {"nonsense": 1.0}, {"rerank": 0.5}, {"static_weight": float("nan")}):
        with pytest.raises(BadInput):
            searcher.preview(Query("reef"), wrong)
