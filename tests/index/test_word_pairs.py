"""Lists of frequent word pairs: what is listed, within which limits, and that answers are the same with and without."""

import itertools
import random
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.made_pages import WORDS, random_visits, visit
from naive.engine import NaiveEngine
from naive.phrase_documents import find_phrase_documents
from periplus.arrays import write_arrays
from periplus.errors import CorruptFile
from periplus.index import Index, LiveIndex, Segment, build_index, check_index, find_pair_sets
from periplus.index.index_manifest import SEGMENT_FORMAT
from periplus.index.word_pairs import kernels, pair_lists
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.settings import IndexSettings

SCORING = Scoring(static_weight=0.7, all_words_bonus=0.3, short_query=3)
SETTINGS = IndexSettings()
VISITS = random_visits(11, 700)
FILE = "word_pairs.arrays"


@pytest.fixture
def small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write lists for segments of any size, of all pairs."""
    monkeypatch.setattr(pair_lists, "MIN_DOCUMENTS", 1)
    monkeypatch.setattr(pair_lists, "_BUDGET", 100.0)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_lists, "MIN_DOCUMENTS", 1)
        patch.setattr(pair_lists, "_BUDGET", 100.0)
        build_index(VISITS, folder, SETTINGS)
    return folder


@pytest.fixture(scope="module")
def naive() -> NaiveEngine:
    return NaiveEngine(VISITS, SETTINGS, {})


def documents_of(sets: npt.NDArray[np.uint64]) -> list[int]:
    found: list[int] = np.flatnonzero(np.unpackbits(sets.view(np.uint8), bitorder="little")).tolist()
    return found


def check_lists(segment: Segment, least: int) -> None:
    """Compare all lists with positions of each document; there are at least so many."""
    terms = [b"sea", b"chart", b"the", b"of", b"ship", b"fog", b"12", b"no-such-term"]
    entries = segment.find_terms(terms)
    pairs = list(itertools.product(range(len(terms)), repeat=2))
    rows, sets = find_pair_sets(segment, entries, pairs)
    listed = [(pair, row) for pair, row in zip(pairs, rows, strict=True) if row >= 0]
    assert len(listed) >= least
    for (one, other), row in listed:
        assert documents_of(sets[row]) == find_phrase_documents(segment, (terms[one], terms[other]), 255)


def test_lists_are_what_positions_say(built: Path) -> None:
    index = Index.open(built)
    assert check_index(built) == []
    check_lists(index.segments[0], 9)


WORD = st.sampled_from(WORDS)
PHRASE = st.lists(WORD, min_size=2, max_size=4).map(lambda words: f'"{" ".join(words)}"')
PART = st.one_of(PHRASE, WORD, PHRASE.map("-{}".format), PHRASE.map("intitle:{}".format))
QUERY = st.one_of(
    PHRASE,
    st.lists(PART, min_size=1, max_size=3).map(" ".join),
    st.tuples(PHRASE, PHRASE).map(" OR ".join),
)


@settings(max_examples=150)
@given(words=QUERY, k=st.sampled_from([1, 5, 40, 700]))
def test_answers_are_the_same_with_and_without(built: Path, words: str, k: int) -> None:
    tree = parse_query(words).tree
    assert tree is not None
    with_lists, without = Index.open(built), Index.open(built)
    for segment in without.segments:
        del segment.files["word_pairs"]
    found, expected = (find_candidates(index, plan_query(index, tree, SCORING), k) for index in (with_lists, without))
    assert found.documents.tolist() == expected.documents.tolist()
    assert found.scores.tolist() == expected.scores.tolist()
    assert (found.total, found.exact) == (expected.total, expected.exact)


@settings(max_examples=40)
@given(words=QUERY)
def test_answers_are_those_of_the_naive_engine(built: Path, naive: NaiveEngine, words: str) -> None:
    tree = parse_query(words).tree
    assert tree is not None
    index = Index.open(built)
    found = find_candidates(index, plan_query(index, tree, SCORING), len(VISITS))
    urls = {index.segments[0].string("url", int(number)) for number in found.documents}
    assert urls == set(naive.search(tree, SCORING))


@pytest.mark.usefixtures("small_ones")
def test_tokens_and_positions_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build counts pairs in its tokens, a merge in the positions of a segment, with the same limits."""
    for limit, keys in ((1 << 16, 1 << 22), (2, 1 << 22), (1 << 16, 64), (1 << 16, 1 << 11)):
        monkeypatch.setattr(pair_lists, "_MAX_POSITIONS", limit)
        monkeypatch.setattr(pair_lists, "_MAX_KEYS", keys)
        folder = tmp_path / f"{limit}-{keys}"
        build_index(VISITS, folder, SETTINGS)
        path = next(folder.glob("seg-*")) / FILE
        written = path.read_bytes() if path.exists() else b""
        path.unlink(missing_ok=True)
        assert pair_lists.write_word_pairs(path.parent, len(VISITS)) == bool(written)
        assert (path.read_bytes() if path.exists() else b"") == written


@pytest.mark.usefixtures("small_ones")
def test_a_merge_writes_lists_of_all_documents_that_are_left(tmp_path: Path) -> None:
    for begin in range(0, 700, 70):
        build_index(VISITS[begin : begin + 70], tmp_path, SETTINGS, append=True)
    with LiveIndex(tmp_path, SETTINGS) as live:
        live.delete(VISITS[5].url)
        live.publish()
        while live.merge():
            pass
    index = Index.open(tmp_path)
    assert len(index.segments) == 1
    assert index.documents == 699
    check_lists(index.segments[0], 9)


def test_small_segments_have_none(tmp_path: Path) -> None:
    build_index(VISITS[:300], tmp_path, SETTINGS)
    assert not list(tmp_path.glob(f"seg-*/{FILE}"))
    segment = Index.open(tmp_path).segments[0]
    rows, sets = find_pair_sets(segment, segment.find_terms([b"sea", b"fog"]), [(0, 1)])
    assert (rows, len(sets)) == ([-1], 0)


@pytest.mark.usefixtures("small_ones")
def test_the_budget_is_for_pairs_of_the_most_frequent_terms(
    tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_lists, "_BUDGET", 0.1)
    build_index(VISITS, tmp_path, SETTINGS)
    few, every = (Index.open(folder).segments[0].files["word_pairs"] for folder in (tmp_path, built))
    assert 0 < len(few["pair_key"]) < len(every["pair_key"])
    postings = Index.open(tmp_path).segments[0].postings
    size = len(few["lists"]) + pair_lists._PAIR_BYTES * len(few["pair_key"])
    assert size <= 0.1 * (postings.stream.nbytes + postings.positions.nbytes)
    assert set(few["pair_key"].tolist()) < set(every["pair_key"].tolist())
    check_lists(Index.open(tmp_path).segments[0], 1)


@pytest.mark.usefixtures("small_ones")
def test_pairs_that_few_documents_have_of_many_are_listed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pages have 'sea of fog', a hundredth has 'fog sea': that list is short, and leaves most of them out."""
    monkeypatch.setattr(pair_lists, "_BUDGET", 0.02)
    visits = [
        visit(f"https://sea.test/{number}", text="fog sea of fog" if number % 100 == 0 else "sea of fog")
        for number in range(3_000)
    ]
    build_index(visits, tmp_path, SETTINGS)
    segment = Index.open(tmp_path).segments[0]
    rows, _ = find_pair_sets(segment, segment.find_terms([b"sea", b"of", b"fog"]), [(0, 1), (1, 2), (2, 0)])
    assert rows[:2] == [-1, -1]
    assert rows[2] >= 0


@pytest.mark.usefixtures("small_ones")
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little room, blocks are read one by one; with too little for one, there are no lists, and searches go on."""
    monkeypatch.setattr(pair_lists, "_MAX_KEYS", 1 << 11)
    build_index(VISITS, tmp_path / "few", SETTINGS)
    check_lists(Index.open(tmp_path / "few").segments[0], 9)
    monkeypatch.setattr(pair_lists, "_MAX_KEYS", 64)
    build_index(VISITS, tmp_path / "none", SETTINGS)
    assert not list(tmp_path.glob(f"none/seg-*/{FILE}"))
    index = Index.open(tmp_path / "none")
    tree = parse_query('"sea chart"').tree
    assert tree is not None
    assert find_candidates(index, plan_query(index, tree, SCORING), 10).total > 0


def test_a_damaged_file_is_an_error_and_a_damaged_list_leads_nowhere(tmp_path: Path, built: Path) -> None:
    sets = np.zeros(2, np.uint64)
    chance = random.Random(4)
    for _ in range(300):
        raw = np.array([chance.randrange(256) for _ in range(chance.randint(0, 12))], np.uint8)
        kernels.expand_list(raw, 0, len(raw), sets)
    path = next(built.glob(f"seg-*/{FILE}"))
    whole = path.read_bytes()
    file = Index.open(built).segments[0].files["word_pairs"]
    arrays = {name: file[name].copy() for name in ("pair_key", "list_start", "lists")}
    try:
        for name, bad in (
            ("pair_key", arrays["pair_key"][::-1].copy()),
            ("list_start", arrays["list_start"][:-1].copy()),
            ("list_start", arrays["list_start"] + 1),
        ):
            path.unlink()
            write_arrays(path, "word_pairs", arrays | {name: bad}, format=SEGMENT_FORMAT)
            with pytest.raises(CorruptFile, match=FILE):
                Index.open(built)
        lists = arrays["lists"].copy()
        lists[0] += 1  # another document: nothing that opening an index could notice
        path.unlink()
        write_arrays(path, "word_pairs", arrays | {"lists": lists}, format=SEGMENT_FORMAT)
        assert [fault.partition(": ")[2] for fault in check_index(built)] == ["broken: word pairs agree with positions"]
    finally:
        path.unlink()
        path.write_bytes(whole)
