"""Documents that other programs made: PDF, Office, OpenDocument and EPUB, whole, damaged and hostile."""

import io
import zipfile

import pytest
import real_files
from hypothesis import given, settings
from hypothesis import strategies as st
from parse_pages import make_result

from periplus.parse import PARSERS, is_supported, parse
from periplus.settings import ParseSettings

OFFICE = "application/vnd.openxmlformats-officedocument."
KINDS = {
    "pdf": "application/pdf",
    "docx": OFFICE + "wordprocessingml.document",
    "xlsx": OFFICE + "spreadsheetml.sheet",
    "pptx": OFFICE + "presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "epub": "application/epub+zip",
}


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return {name: getattr(real_files, name)() for name in KINDS}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("header", ["true", "text/html", "application/octet-stream", "application/zip"])
def test_the_bytes_decide(files, try_parse, name: str, header: str) -> None:
    page = try_parse(files[name], KINDS[name] if header == "true" else header)
    assert page is not None
    assert page.kind == KINDS[name]
    assert page.author == "Ada Keeper"


def test_every_content_type_is_supported() -> None:
    assert all(is_supported(kind) and kind in PARSERS for kind in KINDS.values())
    assert not is_supported("application/zip")
    assert not is_supported("image/png")


def test_pdf(files, try_parse) -> None:
    page = try_parse(files["pdf"], "application/pdf")
    assert (page.title, page.published, page.description) == (
        "Lighthouse handbook",
        "2021-03-04",
        "How to keep a light",
    )
    assert page.text.splitlines()[:3] == ["Page number 1", *real_files.LINES]
    assert "Page number 2" in page.text
    assert [link.url for link in page.links] == ["https://light.example/more"]


def test_pdf_within_bounds(files) -> None:
    long = make_result(real_files.pdf(pages=9), "application/pdf")
    page = parse(long, ParseSettings(max_document_pages=3))
    assert page is not None
    assert "Page number 3" in page.text
    assert "Page number 4" not in page.text
    brief = parse(long, ParseSettings(max_document_seconds=1e-9))
    assert brief is not None
    assert "Page number 1" in brief.text
    assert "Page number 2" not in brief.text


def test_encrypted_and_broken_pdf(files, try_parse) -> None:
    assert try_parse(real_files.pdf(password="secret"), "application/pdf") is None
    assert try_parse(b"%PDF-1.7\nnothing", "application/pdf") is None
    for end in range(0, len(files["pdf"]), 97):
        try_parse(files["pdf"][:end], "application/pdf")


def test_a_page_that_says_it_is_a_pdf(try_parse) -> None:
    page = try_parse(b"<!DOCTYPE html><title>Log in</title>", "application/pdf")
    assert (page.kind, page.title) == ("text/html", "Log in")


def test_docx(files, try_parse) -> None:
    page = try_parse(files["docx"], KINDS["docx"])
    assert (page.title, page.published) == ("Lighthouse handbook", "2021-03-04")
    assert page.headings == ("Keeping a light",)
    assert page.text.splitlines() == ["Keeping a light", *real_files.LINES, "Range", "18 miles"]
    assert [link.url for link in page.links] == ["https://light.example/more"]
    assert page.facts == (("keywords", "light, sea"),)


def test_xlsx(files, try_parse) -> None:
    page = try_parse(files["xlsx"], KINDS["xlsx"])
    assert page.title == "Lights of the coast"
    assert page.headings == ("Lights", "Ships")
    assert page.text.splitlines() == ["Lights", "Ships", "Name Height", "Northern Rock 47.5", "Blue Heron"]


def test_pptx(files, try_parse) -> None:
    page = try_parse(files["pptx"], KINDS["pptx"])
    assert page.title == "Lighthouse talk"
    assert page.headings == tuple(f"Slide {number}" for number in range(1, 12))
    assert page.text.splitlines()[:2] == ["Slide 1", real_files.LINES[1]]


def test_odt(files, try_parse) -> None:
    page = try_parse(files["odt"], KINDS["odt"])
    assert page.title == "Lighthouse handbook"
    assert page.headings == ("Keeping a light",)
    assert page.text.splitlines() == ["Keeping a light", *real_files.LINES]


def test_epub(files, try_parse) -> None:
    page = try_parse(files["epub"], KINDS["epub"])
    assert (page.title, page.language, page.description) == ("Lighthouse handbook", "en", "How to keep a light")
    assert "Chapter 2" in page.headings
    assert page.text.index(real_files.LINES[0]) < page.text.index(real_files.LINES[1])
    assert {link.url for link in page.links} == {"https://light.example/1", "https://light.example/2"}


def packed(**entries: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, data in entries.items():
            archive.writestr(name.replace("__", "/") + ".xml", data)
    return buffer.getvalue()


def test_a_zip_bomb_is_not_unpacked(try_parse) -> None:
    bomb = b"<d><p><t>" + b"a" * 300_000_000
    page = try_parse(packed(word__document=bomb))
    assert page is not None
    assert page.text == ""


def test_a_large_document_is_truncated(try_parse) -> None:
    many = b"<d>" + b"".join(b"<p><t>line %d of many, all of them different</t></p>" % n for n in range(200_000))
    page = try_parse(packed(word__document=many))
    assert page.text.startswith("line 0 of many")
    assert len(page.text) <= ParseSettings().max_text


def test_entities_are_not_expanded(try_parse) -> None:
    laughs = b'<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><d><p><t>&b;&b;</t></p></d>'
    assert try_parse(packed(word__document=laughs)).text == ""
    outside = b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d><p><t>&x;</t></p></d>'
    assert try_parse(packed(word__document=outside)).text == ""


def test_an_archive_of_too_many_entries_is_not_a_document(try_parse) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(11_000):
            archive.writestr(f"word/{number}", b"")
    assert try_parse(buffer.getvalue()) is None


def test_a_plain_archive_is_not_read(try_parse) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("notes.txt", "words")
    assert try_parse(buffer.getvalue(), "application/octet-stream") is None


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_damaged_documents_never_raise(files, name: str, data) -> None:
    body = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 8))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    for damaged in (bytes(body), bytes(body[:cut])):
        page = parse(make_result(damaged, KINDS[name]), ParseSettings())
        assert page is None or len(page.text) <= ParseSettings().max_text
