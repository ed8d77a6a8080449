"""Mixed programs over words with several forms: matched by sets of documents, compared with one document at a time."""

import random
from typing import NamedTuple

import pytest

from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index
from periplus.query import QueryPlan, Scoring, find_candidates, parse_query, plan_query
from periplus.query.kernels import match
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
