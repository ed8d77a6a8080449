"""Thumbnails: made in limited processes, without metadata, politely, and never of a bomb."""

import io
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from PIL import Image

from periplus.crawl import ThumbnailFiles, make_thumbnails
from periplus.parse.formats.thumbnail import MAX_THUMBNAIL_BYTES, is_thumbnail, make_thumbnail
from periplus.records import FetchRecord, Media, Outcome, Page
from periplus.settings import Settings
from periplus.url import parse_address


def picture(kind: str = "JPEG", size: tuple[int, int] = (900, 600)) -> bytes:
    packed, exif = io.BytesIO(), Image.Exif()
    exif[0x010E] = "a secret place"
    Image.effect_noise(size, 40).convert("RGB").save(packed, kind, **({"exif": exif} if kind == "JPEG" else {}))
    return packed.getvalue()


def bomb() -> bytes:
    """A PNG of 60,000 by 60,000 pixels in a few hundred bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    head = (60_000).to_bytes(4, "big") * 2 + b"\x08\x00\x00\x00\x00"
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP"])
def test_a_thumbnail_is_small_and_has_no_metadata(kind: str) -> None:
    made = make_thumbnail(picture(kind), 320)
    with Image.open(io.BytesIO(made)) as image:
        assert (image.format, image.size, dict(image.getexif())) == ("WEBP", (320, 213), {})
    assert b"secret" not in made
    assert is_thumbnail(made)
    assert len(made) <= MAX_THUMBNAIL_BYTES


def test_a_thumbnail_of_noise_is_small_enough() -> None:
    packed = io.BytesIO()
    Image.effect_noise((640, 640), 120).convert("RGB").save(packed, "PNG")
    made = make_thumbnail(packed.getvalue(), 320)
    assert 0 < len(made) <= MAX_THUMBNAIL_BYTES


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<svg/>", picture()[:300], picture("PNG", (1, 1)), bomb()])
def test_what_cannot_be_shown_is_nothing(data: bytes) -> None:
    assert make_thumbnail(data, 320) == b""


@pytest.fixture
def site() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    bodies = {"/a.jpg": picture(), "/bomb.png": bomb(), "/private/b.jpg": picture(), "/favicon.ico": picture("PNG")}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = b"User-agent: *\nDisallow: /private/\n" if self.path == "/robots.txt" else bodies.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("content-length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()


def settings(**more: Any) -> Settings:
    base = Settings()
    return msgspec.structs.replace(
        base,
        fetch=msgspec.structs.replace(base.fetch, allow=("127.0.0.1/32",)),
        frontier=msgspec.structs.replace(base.frontier, delay=0.0),
        crawl=msgspec.structs.replace(base.crawl, thumbnails=10, **more),
    )


def test_images_and_icons_are_fetched_once_and_by_the_rules(tmp_path: Path, site: tuple[str, list[str]]) -> None:
    base, asked = site

    def record(path: str, *images: str) -> FetchRecord:
        address = parse_address(base + path)
        page = Page(address.url, media=tuple(Media(base + image, "image", "A picture") for image in images))
        return FetchRecord(address.url, address.key, Outcome.OK, 1.0, 200, page=page)

    records = [record("/", "/a.jpg", "/private/b.jpg"), record("/2", "/bomb.png", "/gone.jpg")]
    run = make_thumbnails(tmp_path, settings(), records)
    files = ThumbnailFiles(tmp_path)
    assert [files.has(base + path) for path in ("/a.jpg", "/favicon.ico", "/bomb.png", "/private/b.jpg")] == [
        *(True, True, False, False)
    ]
    assert (run.made, sorted(asked)) == (2, ["/a.jpg", "/bomb.png", "/favicon.ico", "/gone.jpg", "/robots.txt"])
    assert make_thumbnails(tmp_path, settings(), records).fetched == 0, "none is tried twice"
