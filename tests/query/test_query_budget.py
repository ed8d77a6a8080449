"""Bounds of one query: what it may ask for, what it may cost, and that nothing changes below the bounds."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from index.made_pages import HOSTS, random_visits, visit
from naive.filters import frequent_numbers, frequent_terms, site_pages
from periplus.index import Index, Segment, build_index
from periplus.query import (
    And,
    AndNot,
    BagOfWords,
    Link,
    MatchAll,
    Near,
    NumberRange,
    Or,
    Phrase,
    Prefix,
    QueryBudget,
    Scoring,
    Site,
    Word,
    find_candidates,
    parse_query,
    plan_query,
)
from periplus.query.filter_sets import FilterCache, given_sets
from periplus.query.kernels import match
from periplus.query.query_budget import LIMITS
from periplus.query.query_limits import limit_tree
from periplus.query.term_lookups import TermSet
from periplus.records import Candidates
from periplus.settings import IndexSettings


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("budget")
    build_index(random_visits(3, 900), folder, IndexSettings())
    return Index.open(folder)


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of many words and numbers, each in as many pages as a seeded draw says."""
    folder, chance = tmp_path_factory.mktemp("wordy"), random.Random(4)
    letters = "abcz"
    words = ["".join(chance.choice(letters) for _ in range(chance.randint(1, 6))) for _ in range(3_000)]
    numbers = [str(chance.randrange(10 ** chance.randint(1, 7))) for _ in range(3_000)] + ["0042", "9" * 30]
    pages = [
        visit(f"https://words.test/{n}", text=" ".join(chance.sample(words, 40) + chance.sample(numbers, 40)))
        for n in range(300)
    ]
    build_index(pages, folder, IndexSettings())
    return Index.open(folder)


def members(documents: npt.NDArray[np.uint64]) -> list[int]:
    bits = np.unpackbits(documents.view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


def found(index: Index, words: str, budget: QueryBudget | None = None) -> Candidates:
    tree = parse_query(words).tree
    assert tree is not None
    return find_candidates(index, plan_query(index, tree, Scoring()), 1_000, budget)


def frequencies(segment: Segment) -> dict[bytes, int]:
    terms = segment.terms()
    starts = terms.start.tolist()
    names = [terms.blob[a:b].tobytes() for a, b in pairwise(starts)]
    return dict(zip(names, terms.frequency.tolist(), strict=True))


@pytest.mark.parametrize("most", [1, 7, 100, 100_000])
def test_frequent_terms_are_those_of_the_naive_twin(wordy: Index, most: int) -> None:
    segment = wordy.segments[0]
    counts = frequencies(segment)
    for prefix in (b"a", b"ab", b"abc", b"z", b"zz", b"q", b"zzzzzzzz", b"1", min(counts), max(counts)):
        assert segment.frequent_terms(prefix, most) == frequent_terms(counts, prefix, most)
    for low, high in ((0, 10), (42, 42), (0, 10**18), (1_000, 999), (500, 700_000)):
        assert segment.frequent_numbers(low, high, most) == frequent_numbers(counts, low, high, most)


def test_documents_of_terms_are_those_that_have_one(index: Index) -> None:
    segment = index.segments[0]
    for terms in ([b"sea"], [b"sea", b"12", b"nowhere"], sorted(frequencies(segment))):
        documents, work = segment.documents_with_terms(terms, 1 << 62)
        wanted = {doc for term in terms for doc in members(segment.documents_with_terms([term], 1 << 62)[0])}
        assert members(documents) == sorted(wanted)
        assert work > 0
    first, work = segment.documents_with_terms([b"sea", b"fog", b"12"], 1)
    assert members(first) == members(segment.documents_with_terms([b"sea"], 1 << 62)[0])
    assert work <= segment.documents


@pytest.mark.parametrize("host", [*HOSTS, "test", "nowhere.test", "oast.test"])
@pytest.mark.parametrize("path", ["", "/a", "/a/", "/b/1", "/c"])
def test_pages_of_a_site_are_those_of_the_naive_twin(index: Index, host: str, path: str) -> None:
    segment = index.segments[0]
    urls = [segment.string("url", n) for n in range(segment.documents)]
    documents, work = segment.documents_of_site(host.encode(), path.encode())
    assert members(documents) == site_pages(urls, host, path)
    assert work <= 2 * segment.documents + len(HOSTS)


def test_a_page_without_a_path_is_below_the_root_only(tmp_path: Path) -> None:
    build_index([visit("https://bare.test", text="bare"), visit("bare.test/x", text="x")], tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    urls = [segment.string("url", n) for n in range(segment.documents)]
    for path in ("/", "/x", "x"):
        assert members(segment.documents_of_site(b"bare.test", path.encode())[0]) == site_pages(urls, "bare.test", path)


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (" ".join(f"w{n}" for n in range(300)), "256 words"),
        (" OR ".join(f"w{n}" for n in range(300)), "64 parts"),
        (" ".join(f'"a{n} b{n}"' for n in range(40)), "16 phrases"),
        ('"' + " ".join(f"a{n}" for n in range(100)) + '"', "64 words of phrases"),
        (" NEAR ".join(f"a{n}" for n in range(100)), "64 words of phrases"),
        (" OR ".join(f"site:h{n}.test/x" for n in range(40)), "16 filters"),
        (" ".join(f"after:{year}" for year in range(1950, 2020)), "16 filters"),
        (" OR ".join(f"link:h{n}.test" for n in range(40)), "8 links"),
        ("sea " + " ".join(f"-w{n}" for n in range(200)), "64 parts"),
    ],
)
def test_a_query_beyond_a_bound_says_what_was_used(words: str, note: str) -> None:
    parsed = parse_query(words)
    assert any(note in told for told in parsed.notes), parsed.notes
    assert parsed.tree is not None
    assert limit_tree(parsed.tree) == (parsed.tree, ())


def test_a_tree_within_its_limits_is_returned_as_it_is() -> None:
    tree = And((Word("a"), Or((Phrase(("a", "b")), AndNot(Prefix("a"), Site("a.test"))))))
    assert limit_tree(tree) == (tree, ())
    assert limit_tree(tree)[0] is tree


def test_parts_that_are_left_out_are_left_out_of_their_operator() -> None:
    limits = LIMITS._replace(filters=1, phrases=1, parts=3, links=0)
    phrases = (Phrase(("a", "b")), Near(("c", "d"), 3))
    assert limit_tree(And(phrases), limits)[0] == phrases[0]
    assert limit_tree(Or(phrases), limits)[0] == phrases[0]
    assert limit_tree(AndNot(*phrases), limits)[0] == phrases[0]
    assert limit_tree(AndNot(Or((Link("x.test"),)), Word("a")), limits)[0] == MatchAll()
    assert limit_tree(Or((Site("a"), Site("b"), Site("a"))), limits)[0] == Site("a")
    assert limit_tree(And(tuple(Word(c) for c in "abcdef")), limits)[0] == And((Word("a"), Word("b"), Word("c")))
    assert limit_tree(BagOfWords(("a",) * 1_000), limits)[0] == BagOfWords(("a",) * 1_000)


def test_equal_filters_are_made_once(index: Index) -> None:
    tree = parse_query("(se* OR sea) (se* OR 1..99) site:coast.test/a site:coast.test/a 1..99").tree
    assert tree is not None
    plan = plan_query(index, tree, Scoring())
    assert len(plan.filters) == len(set(plan.filters)) == 3


def test_a_prefix_stands_for_its_most_frequent_words_and_the_answer_says_so(wordy: Index) -> None:
    counts = frequencies(wordy.segments[0])
    plan = plan_query(wordy, And((Prefix("a"), NumberRange(0, 10**9))), Scoring())
    words = frequent_terms(counts, b"a", LIMITS.prefix_terms)
    numbers = frequent_numbers(counts, 0, 10**9, LIMITS.range_terms)
    assert plan.filters == (TermSet(tuple(t for t, _ in words[0])), TermSet(tuple(t for t, _ in numbers[0])))
    assert plan.notes == (
        f"a* stands for its 256 most frequent words of {words[1]:,}.",
        f"0..1000000000 stands for its 1,024 most frequent numbers of {numbers[1]:,}.",
    )


def test_all_expansions_of_a_query_together_are_bounded(wordy: Index) -> None:
    tree = Or(tuple(NumberRange(n, 10**9) for n in range(30)))
    plan = plan_query(wordy, tree, Scoring())
    assert sum(len(wanted.terms) for wanted in plan.filters if isinstance(wanted, TermSet)) <= LIMITS.expansions
    assert len(plan.notes) <= 5


def test_terms_of_a_prefix_are_the_same_in_one_segment_and_in_several(tmp_path: Path) -> None:
    pages = random_visits(8, 300)
    build_index(pages, tmp_path / "one", IndexSettings())
    build_index(pages[:100], tmp_path / "many", IndexSettings())
    for part in (pages[100:120], pages[120:]):
        build_index(part, tmp_path / "many", IndexSettings(), append=True)
    for words in ("s*", "1..2000", "sa* -12..15"):
        answers = []
        for name in ("one", "many"):
            opened = Index.open(tmp_path / name)
            matches = found(opened, words)
            pairs = zip(matches.segments.tolist(), matches.documents.tolist(), strict=True)
            answers.append(Counter(opened.segments[s].string("url", d) for s, d in pairs))
        assert answers[0] == answers[1]


def test_words_without_room_are_left_out_of_or_and_of_exclusions(index: Index) -> None:
    """Once they matched everything: an OR of forty words gave all pages, forty exclusions gave none."""
    everything = len(index.segments[0].is_live)
    either = found(index, " OR ".join(["fog", *(f"w{n}" for n in range(60))]))
    assert 0 < either.total < everything
    assert either.total == found(index, "fog OR w1").total
    without = found(index, "fog " + " ".join(f"-w{n}" for n in range(60)))
    assert without.total == found(index, "fog").total


QUERIES = (
    "sea ship",
    "+sea +ship",
    '"sea ship"',
    "sea OR fog NEAR tide",
    "s* -fog",
    "12..2000 sea",
    "sea -site:coast.test/a",
)


@pytest.mark.parametrize("words", QUERIES)
def test_work_is_charged_in_kernels_and_bounds_the_answer(
    index: Index, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    whole_budget = QueryBudget()
    whole = found(index, words, whole_budget)
    assert whole_budget.spent > 0
    exact = found(index, words, QueryBudget(work=whole_budget.spent + 1))
    assert not exact.partial
    assert exact.documents.tolist() == whole.documents.tolist()
    assert exact.scores.tolist() == whole.scores.tolist()
    scores = dict(zip(whole.documents.tolist(), whole.scores.tolist(), strict=True))
    for share in (0.05, 0.3, 0.6):
        budget = QueryBudget(work=max(1, int(share * whole_budget.spent)))
        part = found(index, words, budget)
        assert set(part.documents.tolist()) <= set(scores)
        assert all(scores[doc] == score for doc, score in zip(part.documents, part.scores, strict=True))
        assert part.partial or part.documents.tolist() == whole.documents.tolist()
        assert budget.spent <= whole_budget.spent + index.segments[0].documents


def test_a_turn_of_the_kernel_ends_after_its_work(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []

    class Recorder(QueryBudget):
        def late(self, work: int = 0) -> bool:
            turns.append(work)
            return super().late(work)

    monkeypatch.setattr(match, "TURN", 200)
    found(index, '"sea ship" OR "the sea" OR fog', Recorder())
    block = 64 * 3 + 64 * 16 * 8  # what opening one block may take beyond the end of its turn
    assert len(turns) > 5
    assert max(turns[2:]) <= 200 + block


def test_phrases_stop_within_a_block_when_the_work_is_used_up(tmp_path: Path) -> None:
    """One block whose phrases take far more than the budget: the kernel looks at the work for every document."""
    pages = [visit(f"https://long.test/{n}", text="to be or not to be " * 400) for n in range(60)]
    build_index(pages, tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    whole = QueryBudget()
    assert found(index, '"to be or not"', whole).total == 60
    budget = QueryBudget(work=whole.spent // 10)
    part = found(index, '"to be or not"', budget)
    assert part.partial
    assert 0 < part.total < 60
    assert budget.spent < whole.spent // 5


def test_filters_that_the_budget_is_used_up_for_end_the_query(index: Index) -> None:
    budget = QueryBudget(work=1)
    budget.charge(1)
    part = found(index, "sea site:nowhere-before.test/x", budget)
    assert part.partial
    assert not len(part.documents)
    assert given_sets(index.segments[0], [Site("never-seen.test", "/y")], budget) is None
    assert given_sets(index.segments[0], [Site("never-seen.test", "/y")]) is not None


def test_sets_of_filters_are_cached_up_to_a_size(index: Index) -> None:
    segment = index.segments[0]
    size = segment.live.nbytes
    cache = FilterCache(3 * size)
    for n in range(5):
        cache.put(segment, Site(f"{n}.test"), np.zeros_like(segment.live))
        assert cache.get(segment, Site("0.test")) is not None or n > 2
    assert cache.get(segment, Site("1.test")) is None
    assert cache.get(segment, Site("4.test")) is not None
    FilterCache(1).put(segment, Site("a.test"), np.zeros_like(segment.live))


def test_a_budget_counts_time_and_work_and_records_what_was_skipped() -> None:
    now = [100.0]
    budget = QueryBudget(2.0, 10, clock=lambda: now[0])
    assert not budget.late(9)
    assert not budget.skips("spelling")
    assert budget.seconds_left() == 2.0
    now[0] = 102.5
    assert budget.skips("spelling")
    assert list(budget.skipped) == ["spelling"]
    now[0] = 100.0
    assert budget.late(1)
    assert budget.spent == 10
