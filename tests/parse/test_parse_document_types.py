"""Document types with an internal subset are refused in every format that is XML, before any of it is expanded."""

import io
import zipfile

import pytest
from parse_pages import make_result

from periplus.parse import parse
from periplus.records import Page
from periplus.settings import ParseSettings

OFFICE = "application/vnd.openxmlformats-officedocument."
PLAIN = {
    "feed": (
        "application/rss+xml",
        b"rss",
        b"<rss><channel><title>Words</title><item><title>One</title></item></channel></rss>",
    ),
    "atom": ("application/atom+xml", b"feed", b"<feed><title>Words</title><entry><title>One</title></entry></feed>"),
    "rdf": ("application/rdf+xml", b"RDF", b"<RDF><channel><title>Words</title></channel></RDF>"),
    "page": ("application/xml", b"book", b"<book><title>Words</title><p>One</p></book>"),
    "opml": ("text/xml", b"opml", b"<opml><head><title>Words</title></head></opml>"),
    "wsdl": (
        "application/wsdl+xml",
        b"definitions",
        b"<definitions name='Words' xmlns='http://schemas.xmlsoap.org/wsdl/'><service name='One'/></definitions>",
    ),
}


def with_defaults(root: bytes, body: bytes) -> bytes:
    """Return the document with a thousand default attributes of its root."""
    names = b" ".join(b"a%d CDATA 'v'" % number for number in range(1_000))
    return b"<!DOCTYPE " + root + b" [<!ATTLIST " + root + b" " + names + b">]>" + body


def word_file(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", content)
    return packed.getvalue()


def open_document(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content)
    return packed.getvalue()


def book(package: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", "<container><rootfile full-path='p.opf'/></container>")
        archive.writestr("p.opf", package)
        archive.writestr("c.xhtml", "<html><body><p>Words</p></body></html>")
    return packed.getvalue()


def read(body: bytes, kind: str) -> Page | None:
    return parse(make_result(body, kind), ParseSettings())


@pytest.mark.parametrize("name", PLAIN)
def test_xml_with_a_subset_is_refused(name: str) -> None:
    kind, root, body = PLAIN[name]
    page = read(body, kind)
    assert page is not None
    assert "Words" in page.title + page.text
    named = read(b"<!DOCTYPE " + root + b" PUBLIC '-//x//y' 'http://a.test/z.dtd'>" + body, kind)
    assert named is not None
    assert named.title == page.title
    assert read(with_defaults(root, body), kind) is None


def test_parts_of_office_files_with_a_subset_are_refused() -> None:
    body = b"<w:document><w:body><w:p><w:t>Words</w:t></w:p></w:body></w:document>"
    kind = OFFICE + "wordprocessingml.document"
    page, refused = read(word_file(body), kind), read(word_file(with_defaults(b"w:document", body)), kind)
    assert page is not None
    assert page.text == "Words"
    assert refused is None or refused.text == ""
    body = b"<office:document><text:p>Words</text:p></office:document>"
    kind = "application/vnd.oasis.opendocument.text"
    page, refused = read(open_document(body), kind), read(open_document(with_defaults(b"office:document", body)), kind)
    assert page is not None
    assert page.text == "Words"
    assert refused is None or refused.text == ""


def test_a_book_whose_package_has_a_subset_is_refused() -> None:
    package = (
        b"<package><manifest><item id='c' href='c.xhtml' media-type='application/xhtml+xml'/></manifest>"
        b"<spine><itemref idref='c'/></spine></package>"
    )
    page = read(book(package), "application/epub+zip")
    assert page is not None
    assert page.text == "Words"
    assert read(book(with_defaults(b"package", package)), "application/epub+zip") is None
