"""Inputs that are made, and pieces of grammars, for the targets of fuzzing."""

import gzip
import io
import tempfile
import zipfile
from pathlib import Path

import msgspec
import numpy as np

from index.made_pages import random_visits
from periplus.arrays import write_arrays
from periplus.store import compress

__all__ = ["TOKENS", "array_seeds", "office_seeds", "pdf_seeds", "record_seeds", "warc_seeds"]

CORPUS = Path(__file__).parent / "corpus"


def warc_seeds() -> list[bytes]:
    """Return WARC files, compressed."""
    saved = [path.read_bytes() for path in sorted((CORPUS / "warc").iterdir())]
    return [*(gzip.compress(data) for data in saved), *(compress(data) for data in saved)]


def record_seeds() -> list[bytes]:
    """Return fetch records, as the log of the store has them."""
    raw = msgspec.msgpack.encode(random_visits(1, 2))
    return [raw, compress(raw)]


def array_seeds() -> list[bytes]:
    """Return a file of arrays."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "some"
        write_arrays(path, "some", {"one": np.arange(9), "two": np.zeros((2, 3), np.float32)}, {"note": 1})
        return [path.read_bytes()]


def _archive(entries: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return out.getvalue()


_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"></Types>'
_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="book.opf"/></rootfiles></container>'
)
_BODY = "<w:body><w:p><w:r><w:t>Sea chart</w:t></w:r></w:p></w:body>"


def office_seeds() -> list[bytes]:
    """Return a small text document, book and table."""
    docx = {
        "[Content_Types].xml": _TYPES,
        "word/document.xml": f"<w:document {_WORD}>{_BODY}</w:document>",
    }
    epub = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": _CONTAINER,
        "book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" '
        'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        "a.xhtml": "<html><body><p>The harbour at night</p></body></html>",
    }
    xlsx = {
        "xl/workbook.xml": "<workbook><sheets><sheet name='A' sheetId='1'/></sheets></workbook>",
        "xl/sharedStrings.xml": "<sst><si><t>tide</t></si></sst>",
        "xl/worksheets/sheet1.xml": "<worksheet><sheetData><row><c t='s'><v>0</v></c></row></sheetData></worksheet>",
    }
    return [_archive(docx), _archive(epub), _archive(xlsx)]


def pdf_seeds() -> list[bytes]:
    """Return a PDF of one page."""
    stream = b"BT /F1 12 Tf 72 700 Td (Sea chart) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(out)
    return [out + b"xref\n0 6\n0000000000 65535 f \n" + table + end]


def _words(*lines: str) -> tuple[bytes, ...]:
    return tuple(word.encode() for line in lines for word in line.split())


TOKENS: dict[str, tuple[bytes, ...]] = {
    "html": (
        *_words(
            "<p> </p> <a href= <a> </a> ' \" > < = / x <b> </b> <table> </table> <tr> <td> <svg>",
            "</svg> <math> <mi> <!--",
            "--> --!> <!doctype <![CDATA[ ]]> <script> </script> <style> <title> </title> <select> <option> <template>",
            "</template> <textarea> <plaintext> <frameset> <base href=//h> &#0; &#xD800; &amp",
            "&notin; & &# <h1> </h1> <li>",
            "<ul> <img src=x alt= <meta charset=utf-7 content= <form> <input name=a> <body> </body>",
            "<html lang=en> </br>",
            '<br/> <x-y> <? itemprop=name <script type=application/ld+json> {"@type":"Article"} http-equiv=refresh',
        ),
        b" ",
        b"\n",
        b"words of a text, ",
    ),
    "xml": (
        *_words(
            "<urlset> </urlset> <url> </url> <loc> </loc> https://a.test/ <sitemapindex> <sitemap>",
            "<rss> <channel> <item>",
            '<link> </link> </item> <feed xmlns="http://www.w3.org/2005/Atom"> <entry> <title> </title> <pubDate>',
            '2020-01-01T00:00:00Z <!DOCTYPE a [ <!ENTITY b "c"> ]> &b; <![CDATA[ ]]> <!-- --> & < > " \' =',
        ),
        b" ",
        b'<?xml version="1.0" encoding="utf-16"?>',
        b"<!ATTLIST a b CDATA 'c'>",
    ),
    "query": _words(
        'sea fog ship " ( ) OR AND NOT - + * | NEAR NEAR/3 site: site:coast.test intitle: inurl: lang:en filetype:pdf',
        "link: after:2020-01-01 before: 1..20 .. 12 a's don't C++ .net #tag @me 東京 灯台 ß é İ ﬁ ' ’ : ~ ^2",
        'has:media "sea chart" -"fog bell" se* *ea what is the',
    )
    + (b" ",) * 30,
    "robots": _words("* / $ %2F /a/*.php$ 1e9 -1 https://a.test/ # : é")
    + (b"User-agent: *\n", b"User-agent: periplus\n", b"Disallow: ", b"Allow: ", b"Crawl-delay: ", b"Sitemap: ")
    + (b"\n", b"\r\n", b"\r") * 3,
    "url": _words(
        "http:// https:// // / ? # @ : [ ] [::1] 127.1 0x7f.1 example.test xn--a xn--nxa ü .. . %2e %2F %00 %zz \\ & =",
        "; jsessionid= utm_source= :443 :99999 user:pw@ é 。 1 ftp: javascript: data: mailto:a gopher:// \u200d",
    ),
    "toml": (
        b"[crawl]\n",
        b"[search]\n",
        b"delay = ",
        b"1",
        b"-1",
        b"true",
        b'"x"',
        b"\n",
        b"[[a]]\n",
        b"a.b = ",
        b"{",
        b"}",
        b"1e99",
        b"9" * 30,
        b"inf",
        b"'",
        b"2020-01-01",
    ),
    "json": (
        *_words(
            '{ } [ ] : , "url" "text" "title" "https://a.test/" "openapi" "3.0.0" "paths" "/a"',
            '"get" null true 1e999 -0',
            '"\\ud800" "$ref" "#/a"',
        ),
        b"\n",
    ),
    "yaml": (
        b"openapi: 3.0.0\n",
        b"paths:\n",
        b"  /a:\n",
        b"    get:\n",
        b"&a ",
        b"*a ",
        b"- ",
        b"? ",
        b"{",
        b"[",
        b"!!python/object ",
        b"\n",
        b"  ",
        b"<<: *a\n",
        b"2020-01-01",
        b"|\n",
        b"---\n",
        b"]",
        b"}",
        b": ",
    ),
    "parameters": _words(
        "q= sea & start= size= 10 -1 lang=en site= days= kinds= %F0%9F %00 + %2 explain=1 safe=2 = ; [] format=json",
        "page= tab=media",
    ),
    "markdown": (*_words("# ## * - ``` [a](b) ![ ]( | --- > 1. <b> &amp; ~~ \\ words"), b"\n", b"  ", b"\t"),
    "pdf": (*_words("obj endobj << >> /Type /Page stream endstream xref trailer [ ] R 0 1 ( ) /Kids"), b" ", b"\n"),
    "sniffing": (
        b"text/html; charset=",
        b"utf-16",
        b"\n",
        b"\xff\xfe",
        b"%PDF-",
        b"PK\3\4",
        b"<html",
        b"\x1b$B",
        b"\x81\x30",
    ),
    "warc": (b"WARC/1.0\r\n", b"WARC-Type: response\r\n", b"Content-Length: ", b"10", b"\r\n", b"HTTP/1.1 200\r\n"),
    "proxy_log": (
        b"1.2.3.4 - - [01/Jan/2020:00:00:00 +0000] ",
        b'"GET http://a.test/ HTTP/1.1" ',
        b"200 ",
        b"\n",
        b"1577836800.123 5 1.2.3.4 TCP_MISS/200 512 GET http://a.test/ - DIRECT/1.2.3.4 text/html\n",
        b"- ",
        b"99",
    ),
    "text": (
        *_words("sea the don't C++ .net 東京 灯台 é é ß 1,000 1.5 a_b @x #y İ ﬁ \u200b 😀 ไทย . ! … <b> &amp;"),
        b" ",
        b"\n",
    ),
}
"""Pieces of the grammar of each kind of input."""
