"""Mixed programs over words with several forms: matched by sets of documents, compared with one document at a time."""

import random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit

from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index
from periplus.index.kernels.postings_reader import get_postings
from periplus.query import (
    QueryPlan,
    Scoring,
    ScratchPool,
    find_candidates,
    parse_query,
    plan_query,
    plan_segment,
)
from periplus.query.kernels import match
from periplus.query.kernels.block_bounds import SLACK, bound_of
from periplus.query.kernels.block_finder import find_blocks
from periplus.query.kernels.plan import get_plan, get_scratch
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import IndexSettings
from periplus.text import LANGUAGES, language_number, split_text, terms_of

WORDS = ["cares", "running", "houses", "maisons", "corriendo", "casas", "babe", "bebe", "leaves"]
CODES = {language_number(code): code for code in ("", *LANGUAGES)}
RARE = [f"rareness{n}" for n in range(40)]
QUERIES = [
    "+cares +running",
    "+cares +rareness3",
    '"cares running"',
    '"running houses"',
    '"babe cares rareness1"',
    "+casas +corriendo +leaves",
    "+houses -running",
    "cares running",
    "rareness7 babe",
    "babe bebe casas",
    "(cares OR houses) +bebe",
    "+babe intitle:cares",
    '+bebe "maisons casas"',
    "+rareness5 +rareness6",
]


class Text(NamedTuple):
    """A document as the naive engine sees it."""

    language: int
    terms: list[bytes]
    title: set[bytes]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of pages in four languages, most of them in one; some words are in most blocks, some in few."""
    folder, chance = tmp_path_factory.mktemp("forms"), random.Random(9)
    visits = []
    for number in range(2_500):
        code = chance.choice(["en"] * 6 + ["es", "es", "fr", "tr"])
        words = [chance.choice(WORDS) for _ in range(chance.randint(1, 12))]
        words += [chance.choice(RARE)] if number % 9 == 0 else []
        url = f"https://{code}.test/{number}"
        page = Page(url, title=chance.choice(["", "", words[0]]), text=" ".join(words), language=code)
        visits.append(FetchRecord(url, fingerprint_text(url), Outcome.OK, 0.0, 200, page=page))
    build_index(visits, folder, IndexSettings())
    return Index.open(folder)


def texts_of(index: Index) -> list[Text]:
    segment = index.segments[0]
    texts = []
    for number in range(segment.documents):
        language = int(segment.column("language")[number])
        code = CODES[language]
        body, title = segment.text(number).decode(), segment.string("title", number)
        texts.append(Text(language, terms_of(split_text(body), code), set(terms_of(split_text(title), code))))
    return texts


def has_leaf(plan: QueryPlan, number: int, text: Text) -> bool:
    leaf = plan.leaves[number]
    counts = leaf.languages is None or (isinstance(leaf.languages, frozenset) and text.language in leaf.languages)
    everywhere = leaf.fields == 255
    return counts and (leaf.term in text.title or (everywhere and leaf.term in text.terms))


def has_phrase(plan: QueryPlan, number: int, text: Text) -> bool:
    leaves = plan.phrases[number].leaves
    wanted = [plan.leaves[leaf].term for leaf in leaves]
    if not all(has_leaf(plan, leaf, text) for leaf in leaves):
        return False
    return any(text.terms[at : at + len(wanted)] == wanted for at in range(len(text.terms)))


def matches(plan: QueryPlan, text: Text) -> bool:
    """Run the program of a plan on one document."""
    stack: list[bool] = []
    for operation, argument in plan.program:
        if operation == match.LEAF:
            stack.append(has_leaf(plan, argument, text))
        elif operation == match.PHRASE:
            stack.append(has_phrase(plan, argument, text))
        else:
            right, left = stack.pop(), stack.pop()
            joined = {match.AND: left and right, match.OR: left or right, match.WITHOUT: left and not right}
            stack.append(joined[operation])
    return stack[0]


@pytest.mark.parametrize("words", QUERIES)
def test_sets_of_documents_match_what_one_at_a_time_does(index: Index, words: str) -> None:
    tree = parse_query(words).tree
    assert tree is not None
    plan = plan_query(index, tree, Scoring(all_words_bonus=0.3, short_query=3))
    expected = {number for number, text in enumerate(texts_of(index)) if matches(plan, text)}
    every = find_candidates(index, plan, 2_500)
    assert every.exact
    assert set(every.documents.tolist()) == expected
    assert every.total == len(expected)
    few = find_candidates(index, plan, 7)
    assert few.documents.tolist() == every.documents[:7].tolist()
    assert few.scores.tolist() == every.scores[:7].tolist()
    assert few.total == len(expected)


def test_words_have_forms_that_count_in_some_documents(index: Index) -> None:
    tree = parse_query("+cares +running").tree
    assert tree is not None
    plan = plan_query(index, tree, Scoring())
    assert len(plan.leaves) > 2
    assert any(leaf.languages for leaf in plan.leaves)


def _find(lists_at: Any, plan_at: Any, desk_at: Any, sums: Any) -> Any:
    """Find the blocks that can match, and add up the bounds of the leaves in each; return how many they are."""
    lists, own, arrays = get_postings(lists_at), get_plan(plan_at), get_scratch(desk_at)
    count = find_blocks(lists, own, arrays)
    for n in range(count):
        block = arrays.order[0, n]
        for leaf in range(len(own.leaves)):
            if (arrays.have[block] >> np.uint64(leaf)) & np.uint64(1):
                sums[block] += bound_of(lists, own, arrays, leaf, block)
    return count


find: Any = njit(_find)


def block_bounds(index: Index, plan: QueryPlan) -> tuple[list[int], npt.NDArray[np.float32], list[float]]:
    """Return the blocks that can match, by block the bound of all scores, and the sum of the bounds of its leaves."""
    segment, desk = index.segments[0], ScratchPool()
    laid_out = plan_segment(segment, plan)
    scratch = desk.get(len(segment.live), laid_out, 1)
    sums = np.zeros(len(segment.live))
    count = find(segment.pinned_postings.addresses, laid_out.addresses, scratch.addresses, sums)
    arrays = scratch.arrays
    return arrays.order[0, :count].tolist(), arrays.bound[: len(segment.live)].copy(), sums.tolist()


def test_no_score_exceeds_the_bound_of_its_block_and_that_is_not_the_sum_of_all_forms(index: Index) -> None:
    lower = 0
    for words in QUERIES:
        tree = parse_query(words).tree
        assert tree is not None
        plan = plan_query(index, tree, Scoring())
        blocks, bound, sums = block_bounds(index, plan)
        every = find_candidates(index, plan, 2_500)
        for document, score in zip(every.documents.tolist(), every.scores.tolist(), strict=True):
            assert document >> 6 in blocks
            assert score <= bound[document >> 6] * SLACK
        assert all(bound[block] <= sums[block] * SLACK for block in blocks)
        lower += sum(bound[block] < 0.9 * sums[block] for block in blocks)
    assert lower > 50
