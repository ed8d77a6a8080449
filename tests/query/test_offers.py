"""Offers for words that are found and do not go with the others of their query."""

from pathlib import Path

import pytest

from index.made_pages import visit
from periplus.index import Index, build_index
from periplus.query import correct_spelling, parse_query, suggest_alternatives
from periplus.rank import Ranker
from periplus.settings import Settings

FILLER = ("harbour", "lantern", "compass", "anchor", "tide", "vessel", "rope", "sailor", "current", "beacon", "quay")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Pages in which 'notre' goes with 'cathedral', and 'note' with other words."""
    folder: Path = tmp_path_factory.mktemp("offers")

    def filler(n: int) -> str:
        return " ".join(FILLER[(n + k) % len(FILLER)] for k in range(4))

    pages = [
        visit(f"https://n{n}.test/", f"Notre {n}", f"{filler(n)} notre dame {n} cathedral towers") for n in range(20)
    ]
    pages += [visit(f"https://m{n}.test/", f"Note {n}", f"a note on {filler(n)} number {n}") for n in range(30)]
    pages += [visit(f"https://o{n}.test/", f"Other {n}", f"{filler(n)} and {filler(3 * n)} {n}") for n in range(400)]
    build_index(pages, folder, Settings().index)
    opened = Index.open(folder)
    opened.spelling.load()
    return opened


def offered(index: Index, said: str, complete: bool = False) -> tuple[str, ...]:
    tree = parse_query(said).tree
    assert tree is not None
    words = Ranker(index, Settings().rank).plan(tree).words
    assert correct_spelling(index, said, words, complete) == (), "these are words that are found"
    return suggest_alternatives(index, said, words, complete)


def test_a_word_that_does_not_go_with_the_others_gets_an_offer(index: Index) -> None:
    assert offered(index, "note dame cathedral") == ("notre dame cathedral",)
    assert offered(index, "Note Dame, towers?") == ("notre Dame, towers?",), "the rest stays as it was said"


@pytest.mark.parametrize(
    "said", ["notre dame cathedral", "note harbour", "note on lantern", "note", "harbour lantern", "", "note 12"]
)
def test_words_that_go_together_are_left_alone(index: Index, said: str) -> None:
    assert not said or offered(index, said) == ()


def test_what_one_result_has_all_of_needs_no_offer(index: Index) -> None:
    assert offered(index, "note dame cathedral", complete=True) == ()


def test_long_queries_are_bounded(index: Index) -> None:
    assert offered(index, "note dame cathedral " + "note " * 200) == ()
    several = "note dame cathedral " + " ".join(FILLER)
    assert len(offered(index, several)) <= 1
