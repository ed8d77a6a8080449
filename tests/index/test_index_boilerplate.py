"""Navigation and footers are a field of their own: searchable, of little weight, and in no snippet."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from index.made_pages import visit
from periplus.index import FIELD_NAMES, Field, Index, build_index, check_index, export_index
from periplus.index.document_fields import make_document, split_text
from periplus.index.merge.segment_merger import merge_segments
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.records import FetchRecord, Page
from periplus.settings import IndexSettings

MENU = "Home Lamps Sofas Contact"
STORY = "The keeper trimmed the lantern every evening before the fog came in."
FOOTER = "Copyright of the harbour office"


def framed(url: str, story: str = STORY, **more: object) -> FetchRecord:
    """Return a page with a menu above and a footer below its story."""
    begin = len(MENU) + 1
    return visit(
        url, "Evening", f"{MENU}\n{story}\n{FOOTER}", main=(begin, begin + len(story)), **{"headings": (), **more}
    )


def matches(index: Index, query: str) -> set[str]:
    tree = parse_query(query).tree
    assert tree is not None
    found = find_candidates(index, plan_query(index, tree, Scoring()), 20)
    return {
        index.segments[s].string("url", d)
        for s, d in zip(found.segments.tolist(), found.documents.tolist(), strict=True)
    }


def test_the_body_is_the_main_content_and_the_rest_is_boilerplate() -> None:
    page = framed("https://a.test/").page
    assert page is not None
    assert split_text(page) == (STORY, f"{MENU}\n{FOOTER}")
    assert split_text(Page("https://a.test/", text="all of it")) == ("all of it", "")
    assert split_text(Page("https://a.test/", text="", description="a picture", main=(0, 0))) == ("a picture", "")


def test_a_page_with_hardly_any_main_content_is_body_as_a_whole() -> None:
    page = Page("https://a.test/", text="Home\nA picture\nContact", main=(5, 14))
    assert split_text(page) == (page.text, "")


def test_headings_and_emphasis_of_a_menu_do_not_count_as_such() -> None:
    record = framed("https://a.test/", headings=("Lamps", "lantern"), emphasis=("Sofas", "fog"))
    fields = make_document(record, "en", "").fields
    assert fields[Field.HEADING] == b"lantern"
    assert fields[Field.EMPHASIS] == b"fog"


def test_boilerplate_is_found_with_little_weight_and_not_as_text(tmp_path: Path) -> None:
    pages = [framed(f"https://a.test/{number}") for number in range(5)]
    about = visit("https://b.test/", "Buy", "Our lamps are made by hand, and every one of the lamps is signed.")
    build_index([*pages, about], tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    everywhere = {page.url for page in pages} | {about.url}
    assert matches(index, "lamps") == everywhere
    assert matches(index, "intext:lamps") == {about.url}
    assert matches(index, "intext:lantern") == {page.url for page in pages}
    assert matches(index, '"lamps sofas"') == {page.url for page in pages}, "a phrase matches wherever it is shown"
    segment = index.segments[0]
    term = segment.find_term(b"lamp")
    assert term is not None
    impacts = {segment.string("url", n): segment.positions(term, n)[1] for n in range(segment.documents)}
    assert max(impacts[page.url] for page in pages) * 4 < impacts[about.url]
    assert {segment.text(n).decode() for n in range(5)} >= {STORY}
    assert all(MENU not in segment.text(n).decode() for n in range(segment.documents))


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_a_word_of_body_and_boilerplate_keeps_the_positions_of_both(tmp_path: Path, times: int) -> None:
    """Short postings of the body alone have a code without fields: others must not use it."""
    body = "lantern " * times + "at the end of the long pier in the evening"
    begin = len("lantern menu") + 1
    text = f"lantern menu\n{body}"
    pages = [
        visit("https://a.test/both", "x", text, main=(begin, len(text))),
        visit("https://a.test/body", "x", body),
        visit(
            "https://a.test/rest", "x", text.replace(body, body.replace("lantern", "bell")), main=(begin, begin + 60)
        ),
    ]
    build_index(pages, tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    segment = index.segments[0]
    term = segment.find_term(b"lantern")
    assert term is not None
    fields = {}
    for number in range(segment.documents):
        positions, _, mask = segment.positions(term, number)
        fields[segment.string("url", number).rpartition("/")[2]] = ((positions >> 29).tolist(), mask)
    assert fields["both"] == ([5] * times + [6], 96)
    assert fields["body"] == ([5] * times, 32)
    assert fields["rest"] == ([6], 64)
    assert check_index(tmp_path) == []


def test_segments_without_boilerplate_merge_and_export_with_new_ones(tmp_path: Path) -> None:
    build_index([framed("https://a.test/1"), visit("https://a.test/2", "Old", "plain text")], tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    lengths = index.segments[0].column("length")
    statistics = export_index(index, tmp_path / "statistics.json")
    assert statistics.tokens["boilerplate"] == int(lengths[Field.BOILERPLATE]) == 9
    assert list(statistics.tokens) == list(FIELD_NAMES)
    merge_segments(tmp_path / "seg-000009-0000", index.segments, IndexSettings())
    merged = type(index.segments[0])(tmp_path / "seg-000009-0000")
    assert np.array_equal(merged.column("length"), lengths)
    assert merged.text(0) == index.segments[0].text(0)


def test_an_old_segment_has_six_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index([visit("https://a.test/2", "Old", "plain text")], tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    segment = index.segments[0]
    lengths = segment.column("length")
    monkeypatch.setitem(segment._expanded, "length", lengths[:6])
    assert export_index(index, tmp_path / "statistics.json").tokens["boilerplate"] == 0


def test_ranges_of_main_content_survive_the_store() -> None:
    record = framed("https://a.test/")
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=FetchRecord)
    assert again.page is not None
    assert split_text(again.page) == (STORY, f"{MENU}\n{FOOTER}")
