"""A small document of each format, which load what parsing such a document needs."""

import io
import zipfile
from collections.abc import Iterator
from typing import Final

from periplus.parse.formats.thumbnail import sample_image
from periplus.parse.sandbox.parse_job import ParseJob
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address

__all__ = ["warmup_jobs"]

_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_HTML: Final = (
    "<!doctype html><html lang=en><head><title>A</title><meta name=description content=b><script>c</script>"
    '<script type=\'application/ld+json\'>{"@type": "Article", "name": "d"}</script></head><body><nav><a href=/e>f'
    "</a></nav><main><h1>g</h1><p>h <b>i</b> &amp; &eacute; <a href='https://j.example/'>k</a></p><table><tr><th>l"
    "<td>m</table><ul><li>n</ul><img src=o.png alt=p><form action=/q><input name=r></form></main></body></html>"
)
_PDF: Final = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 37>>stream\nBT /F 12 Tf 20 100 Td (Words) Tj ET  \nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R/Size 6>>\n%%EOF\n"
)
_TEXTS: Final = (
    ("text/html; charset=utf-8", _HTML.encode()),
    ("text/html", "<p>\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440".encode("cp1251") * 20),
    ("text/html", "<p>\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059".encode("euc-jp") * 20),
    ("text/plain", "Caf\u00e9 au lait\n".encode("latin-1") * 20),
    (
        "text/markdown",
        b"---\ntitle: A\n---\n# B\n\n*c* [d](e) `f` <b>g</b>\n\n|h|i|\n|-|-|\n|j|k|\n\nhttps://l.example\n",
    ),
    ("application/pdf", _PDF),
    (
        "application/rss+xml",
        b"<rss><channel><title>A</title><item><title>b</title><link>http://c.example/</link>"
        b"<pubDate>Mon, 01 Jan 2024 10:00:00 GMT</pubDate></item></channel></rss>",
    ),
    ("application/xml", b"<?xml version='1.0' encoding='windows-1252'?><a><title>b</title><c href='d'>e</c></a>"),
    ("application/wsdl+xml", b"<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' name='A'/>"),
    ("application/json", b'{"openapi": "3.0.0", "info": {"title": "a"}, "paths": {"/b": {"get": {"summary": "c"}}}}'),
    ("application/yaml", b"openapi: 3.0.0\ninfo:\n  title: a\npaths:\n  /b:\n    get:\n      summary: c\n"),
    ("text/ftp-dir-listing", b"-rw-r--r-- 1 a b 9 Jan 01 10:00 c.txt\n"),
    ("application/gopher-menu", b"0a\t/b\tc.example\t70\r\n"),
)
_ARCHIVES: Final = (
    (
        _OFFICE + "wordprocessingml.document",
        (("[Content_Types].xml", "<a/>"), ("word/document.xml", "<d><p><t>a</t></p></d>")),
    ),
    (
        _OFFICE + "spreadsheetml.sheet",
        (("[Content_Types].xml", "<a/>"), ("xl/worksheets/sheet1.xml", "<s><row><c><v>1</v></c></row></s>")),
    ),
    (
        _OFFICE + "presentationml.presentation",
        (("[Content_Types].xml", "<a/>"), ("ppt/slides/slide1.xml", "<s><p><t>a</t></p></s>")),
    ),
    (
        "application/vnd.oasis.opendocument.text",
        (("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", "<d><p>a</p></d>")),
    ),
    (
        "application/epub+zip",
        (
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", "<a><rootfile full-path='p'/></a>"),
            ("p", "<a><item id='c' href='c.html' media-type='text/html'/><itemref idref='c'/></a>"),
            ("c.html", _HTML),
        ),
    ),
)
_SITEMAP: Final = b"<urlset><url><loc>http://a.example/b</loc><lastmod>2024-01-01T10:00:00Z</lastmod></url></urlset>"


def warmup_jobs() -> Iterator[ParseJob]:
    """Return a job for each format."""
    settings = ParseSettings()
    for kind, body in _TEXTS:
        yield ParseJob(_result(kind, body), settings, forms=True)
    for kind, entries in _ARCHIVES:
        yield ParseJob(_result(kind, _pack(entries)), settings)
    yield ParseJob(_result("application/xml", _SITEMAP), settings, as_list=True)
    for name in ("png", "jpeg", "gif", "webp", "ico", "bmp"):
        yield ParseJob(_result(f"image/{name}", sample_image(name)), settings, thumbnail=16)


def _result(kind: str, body: bytes) -> FetchResult:
    request = FetchRequest(parse_address("https://warmup.example.co.uk/a/b.html?c=d"))
    return FetchResult(request, Outcome.OK, 0.0, 200, (("content-type", kind),), body)


def _pack(entries: tuple[tuple[str, str], ...]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries:
            archive.writestr(name, text)
    return packed.getvalue()
