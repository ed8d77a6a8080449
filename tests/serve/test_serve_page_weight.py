"""The weight of a result page with everything that it loads, and that all of it comes from this server."""

import re
from typing import Any, Final

import msgspec
from asgi_caller import get
from fake_searcher import FakeSearcher
from real_results import real_page

from periplus.parse.formats.thumbnail import MAX_THUMBNAIL_BYTES
from periplus.records import Media, Query, ResultPage
from periplus.serve import Actions, make_app
from periplus.serve.pages.static_files import read_assets
from periplus.settings import ServeSettings

MOST: Final = 12_000
MOST_WITH_THUMBNAILS: Final = 150_000
GZIP: Final = {"accept-encoding": "gzip"}
LOADED: Final = re.compile(r'<(?:link rel="(?:stylesheet|icon)"|script|img)[^>]* (?:href|src)="([^"]+)"')


def test_a_result_page_with_everything_is_light_and_from_here() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    page = get(app, "/search?q=salt+harbour")
    loaded = LOADED.findall(page.text)
    assert len(loaded) >= 3
    assert all(target.startswith("/") and not target.startswith("//") for target in loaded)
    answers = [get(app, target, headers=GZIP) for target in ("/search?q=salt+harbour", *loaded)]
    assert all(answer.headers["content-encoding"] == "gzip" for answer in answers)
    assert sum(len(answer.body) for answer in answers) <= MOST


def weight(app: Any, target: str) -> tuple[int, list[str]]:
    """Return the bytes of a page with everything that it loads, compressed where it can be, and what it loads."""
    loaded = LOADED.findall(get(app, target).text)
    assert all(other.startswith("/") and not other.startswith("//") for other in loaded)
    return sum(len(get(app, other, headers=GZIP).body) for other in (target, *loaded)), loaded


def test_ten_real_results_with_everything_are_light() -> None:
    app = make_app(FakeSearcher(answer=real_page), ServeSettings(threads=1))
    total, loaded = weight(app, "/search?q=lighthouse+keeper+fog+signal")
    assert len(loaded) == 3, "a style sheet, a script and the icon"
    assert total <= MOST


def test_a_page_of_thumbnails_is_light_and_from_here() -> None:
    thumbnail = b"RIFF" + bytes(MAX_THUMBNAIL_BYTES - 4)

    def media(query: Query) -> ResultPage:
        page = real_page(query)
        images = [Media(f"https://other.example/{n}.jpg", "image", f"Picture {n}") for n in range(10)]
        hits = [msgspec.structs.replace(hit, media=(images[n],)) for n, hit in enumerate(page.hits)]
        return msgspec.structs.replace(page, hits=tuple(hits))

    actions = Actions(has_thumbnail=lambda url: True, thumbnail=lambda key: thumbnail)
    app = make_app(FakeSearcher(answer=media), ServeSettings(threads=1), actions)
    total, loaded = weight(app, "/search?q=lighthouse&tab=media")
    assert sum(other.startswith("/t/") for other in loaded) == 10
    assert total <= MOST_WITH_THUMBNAILS


def test_assets_are_shortened_and_named_by_their_content() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    for name, asset in read_assets().items():
        assert b"\n  " not in asset.body
        plain = get(app, f"/static/{name}?v={asset.version}")
        assert (plain.body, plain.headers["cache-control"]) == (asset.body, "public, max-age=31536000, immutable")
        assert "content-encoding" not in plain.headers
