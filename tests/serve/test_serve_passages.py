"""Passages, pages and checks of quotations over HTTP."""

import hashlib
import re
from urllib.parse import quote, urlencode

import pytest
from asgi_caller import Answer, get
from fake_searcher import FakeSearcher, hit
from hypothesis import given
from hypothesis import strategies as st

from periplus.parse import TextBlock
from periplus.records import Query
from periplus.serve import make_app
from periplus.serve.api.passages_api import find_quotation
from periplus.serve.pages.markdown_pages import render_markdown
from periplus.settings import ServeSettings

SEARCHER = FakeSearcher()
APP = make_app(SEARCHER, ServeSettings(threads=2))
KNOWN = hit(0, Query("salt"))
KEY = f"{KNOWN.key:016x}"


def ask(path: str, **parameters: object) -> Answer:
    return get(APP, f"{path}?{urlencode(parameters)}")


def test_passages_carry_their_evidence() -> None:
    answer = ask("/api/passages", q="salt harbour", tokens=300).json
    assert len(answer["passages"]) == 3
    first = answer["passages"][0]
    assert first["key"] == KEY
    assert first["link"].startswith(KNOWN.url + "#:~:text=")
    assert (first["content"], first["headings"], first["begin"]) == ("ab" * 32, ["Top"], 3)
    assert SEARCHER.asked[-1].size == 20


def test_an_empty_index_has_no_passages_and_says_so() -> None:
    answer = get(make_app(FakeSearcher(0, documents=0), ServeSettings(threads=1)), "/api/passages?q=salt")
    assert answer.status == 200
    assert answer.json["passages"] == []
    assert "Nothing is indexed yet" in answer.json["notes"][0]


@pytest.mark.parametrize("wrong", ["tokens=0", "tokens=99999999", "tokens=x", "count=0", "safesearch=9"])
def test_invalid_requests_for_passages(wrong: str) -> None:
    answer = get(APP, f"/api/passages?q=salt&{wrong}")
    assert (answer.status, set(answer.json)) == (400, {"error", "hint"})


def test_a_page_as_markdown_text_and_json() -> None:
    SEARCHER.blocks = (
        TextBlock("heading", "Tides", 2),
        TextBlock("item", "high *water*", 1),
        TextBlock("item", "low", 2),
    )
    try:
        markdown = ask("/api/page", key=KEY)
        assert markdown.headers["content-type"].startswith("text/markdown")
        assert "### Tides\n\n- high \\*water\\*\n  - low\n" in markdown.text
        as_json = ask("/api/page", key=KEY, format="json").json
    finally:
        SEARCHER.blocks = ()
    text = ask("/api/page", key=KEY, format="text")
    assert text.text.startswith("First paragraph.")
    assert as_json["content"] == hashlib.sha256(text.body).hexdigest() == text.headers["x-content-hash"]
    assert (as_json["part"], as_json["parts"]) == (1, 1)
    assert ask("/api/page", key="0" * 16).status == 404
    for wrong in ({}, {"key": "zz"}, {"key": KEY, "format": "pdf"}, {"key": KEY, "part": 2}, {"key": KEY, "part": "x"}):
        assert ask("/api/page", **wrong).status == 400


def test_quotations_are_checked_against_the_store() -> None:
    found = ask("/api/verify", key=KEY, text="The salt  pans\ndry in the sun.").json
    text = ask("/api/page", key=KEY, format="text").text
    assert text[found["begin"] : found["end"]] == "The salt pans dry in the sun."
    assert ask("/api/verify", key=KEY, text="x", content=found["content"]).json["unchanged"] is True
    changed = ask("/api/verify", key=KEY, text="The salt pans melt.", content="00").json
    assert (changed["found"], changed["unchanged"], changed["begin"]) == (False, False, -1)
    assert ask("/api/verify", key=KEY, text=" ").status == 400
    assert get(APP, f"/api/verify?key={KEY}&text={quote('(((((' * 100)}").json["found"] is False


def test_markdown_of_tables_and_code_cannot_be_broken_by_their_text() -> None:
    blocks = (
        TextBlock("table", level=1, rows=(("a|b", "c"), ("1",))),
        TextBlock("code", "x = 1\n```\n"),
        TextBlock("quote", "<b>bold</b>"),
    )
    assert render_markdown(blocks, "T # 1", "") == (
        "# T \\# 1\n\n| a\\|b | c |\n| --- | --- |\n| 1 |  |\n\n````\nx = 1\n```\n\n````\n\n> \\<b\\>bold\\</b\\>\n"
    )
    assert render_markdown((), "", "one\n\n two") == "one\n\ntwo\n"


@given(st.text("ab \n", max_size=40), st.text("ab ", max_size=6).map(lambda words: " ".join(words.split())))
def test_a_quotation_is_found_where_a_pattern_finds_it(text: str, quotation: str) -> None:
    match = re.search(r"\s+".join(quotation.split()), text) if quotation else None
    if quotation:
        assert find_quotation(text, quotation) == (match.span() if match else None)


def test_a_long_quotation_that_nearly_repeats_the_text_is_no_work() -> None:
    assert find_quotation("a " * 250_000, "a " * 4_999 + "b") is None
