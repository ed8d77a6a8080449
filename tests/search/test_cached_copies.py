"""Cached copies are made of the stored response, and fall back to the stored text."""

from pathlib import Path

import periplus
from periplus.hashing import fingerprint_text
from periplus.search import Searcher
from periplus.settings import Settings

URL = "http://manual.test/tides.html"
PAGE = """<body><nav><a href=/>All manuals</a></nav><main><h1>Tides</h1>
<p>Twice a day the sea comes in, and goes out.</p>
<ul><li>Flood</li><li>Ebb</li></ul><table><tr><th>Port<th>High<tr><td>Brest<td>7.1 m</table></main>"""


def import_page(folder: Path, body: str) -> Searcher:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body.encode()
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {URL}\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    warc = folder / "page.warc"
    warc.write_bytes(head.encode() + http + b"\r\n\r\n")
    with periplus.open(folder / "data") as engine:
        engine.import_([warc])
        engine.build()
    return Searcher.open(folder / "data", Settings())


def test_a_copy_has_headings_lists_and_tables(tmp_path: Path) -> None:
    searcher = import_page(tmp_path, PAGE)
    blocks = searcher.cached_blocks(fingerprint_text(URL))
    assert [(block.kind, block.text) for block in blocks] == [
        ("heading", "Tides"),
        ("paragraph", "Twice a day the sea comes in, and goes out."),
        ("item", "Flood"),
        ("item", "Ebb"),
        ("table", ""),
    ]
    assert blocks[-1].rows == (("Port", "High"), ("Brest", "7.1 m"))
    copy = searcher.cached_page(fingerprint_text(URL))
    assert copy is not None
    assert "All manuals" not in copy.text


def test_without_the_response_there_are_no_blocks(tmp_path: Path) -> None:
    searcher = import_page(tmp_path, PAGE)
    for path in (tmp_path / "data" / "store").glob("*.warc.*"):
        path.write_bytes(b"")
    assert searcher.cached_blocks(fingerprint_text(URL)) == ()
    assert searcher.cached_page(fingerprint_text(URL)) is not None
    assert searcher.cached_blocks(12345) == ()
    assert searcher.cached_blocks(-1) == ()
