"""Knowledge cards: of the page that a query names, with what it states."""

from pathlib import Path

import msgspec
import pytest

from index.made_pages import visit
from periplus.index import build_index
from periplus.records import Hit, Page, Query
from periplus.search import Searcher
from periplus.search.presentation.cards import make_card, may_have_card, names_page
from periplus.settings import Settings
from periplus.store import PageStore

FACTS = (("og:title", "Pharos"), ("Height", "103 m"), ("Built", "280 BC"), ("@type", "Place"), ("Long", "x" * 500))


@pytest.mark.parametrize(
    ("words", "title", "named"),
    [
        ("pharos", "Pharos", True),
        ("Lighthouse PHAROS", "Pharos lighthouse", True),
        ("pharos", "Pharos – The Coast Encyclopaedia", True),
        ("pharos", "Pharos (lighthouse)", True),
        ("capek", "Čapek", True),
        ("pharos", "The history of Pharos", False),
        ("", "", False),
        ("-- |", "|", False),
    ],
)
def test_when_a_query_names_a_page(words: str, title: str, named: bool) -> None:
    assert names_page(words, title) == named


def test_a_document_that_was_sent_is_not_looked_up_for_a_card() -> None:
    page = Hit("https://coast.test/pharos", "Pharos", (), (), 1.0, 7)
    assert may_have_card("pharos", page)
    assert not may_have_card("coast", page)
    assert not may_have_card("pharos", msgspec.structs.replace(page, own_fields="{}"))


def test_the_page_that_is_named_has_a_card(tmp_path: Path) -> None:
    made = visit("https://coast.test/pharos", "Pharos", "The lighthouse of Pharos.")
    assert made.page is not None
    made = msgspec.structs.replace(made, page=msgspec.structs.replace(made.page, facts=FACTS, preview="A lighthouse."))
    plain = visit("https://coast.test/plain", "Plain", "A page that states nothing.")
    with PageStore.open(tmp_path / "store", Settings().store, write=True) as store:
        store.append(made, None)
        store.append(plain, None)
        store.commit()
    build_index([made, plain], tmp_path / "index", Settings().index)
    searcher = Searcher.open(tmp_path, Settings())
    searcher.search(Query("pharos"))
    searcher._cards.ready()
    card = searcher.search(Query("pharos")).card
    assert card is not None
    assert (card.title, card.url, card.text) == ("Pharos", "https://coast.test/pharos", "A lighthouse.")
    assert card.facts == (("Height", "103 m"), ("Built", "280 BC"))
    assert searcher.search(Query("lighthouse")).card is None
    assert searcher.search(Query("plain")).card is None
    assert searcher.search(Query("pharos", start=10)).card is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A harbour town", "A harbour town"),
        ("It lies by the sea. " * 14 + "Its har", ("It lies by the sea. " * 14).strip()),
        ("word " * 60, "word " * 59 + "…"),
    ],
)
def test_the_text_of_a_card_ends_with_a_sentence_or_a_word(text: str, shown: str) -> None:
    page = Page("https://a.example/", "Port", text, facts=(("a", "b"), ("c", "d")), preview=text)
    card = make_card(page)
    assert card is not None
    assert card.text.rstrip("…").strip() == shown.rstrip("…").strip()
    assert card.text.endswith("…") == shown.endswith("…")


def test_without_a_store_there_are_no_cards(tmp_path: Path) -> None:
    build_index([visit("https://a.test/", "Amber", "x")], tmp_path / "index", Settings().index)
    searcher = Searcher.open(tmp_path, Settings())
    for _ in range(2):
        assert searcher.search(Query("amber")).card is None
    assert searcher.page_status("https://b.test/").reason == "unknown"
