"""The weight of a result page with everything that it loads, and that all of it comes from this server."""

import re
from typing import Final

from asgi_caller import get
from fake_searcher import FakeSearcher

from periplus.serve import make_app
from periplus.serve.pages.static_files import read_assets
from periplus.settings import ServeSettings

MOST: Final = 12_000
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


def test_assets_are_shortened_and_named_by_their_content() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    for name, asset in read_assets().items():
        assert b"\n  " not in asset.body
        plain = get(app, f"/static/{name}?v={asset.version}")
        assert (plain.body, plain.headers["cache-control"]) == (asset.body, "public, max-age=31536000, immutable")
        assert "content-encoding" not in plain.headers
