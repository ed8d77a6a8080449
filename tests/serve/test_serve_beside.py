"""What stands beside results: media, news, what is visited more, the weather, grades and clicks, quality."""

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from asgi_caller import Answer, call, get, send
from fake_searcher import FakeCachedPage, FakeSearcher

from periplus.app import server_actions
from periplus.evaluate import read_quality
from periplus.hashing import fingerprint_text
from periplus.records import Hit, Media, Query, ResultPage, VisitReport
from periplus.serve import Actions, ApiKeys, make_app
from periplus.serve.pages.trending_pages import TrendingPages
from periplus.settings import ServeSettings, Settings
from periplus.signals import append_visit_reports, read_clicks, read_judgements, read_trending

DAY = 86_400
BAD = '"><script>alert(1)</script>'


def showing(*media: Media, **more: Any) -> FakeSearcher:
    def answer(query: Query) -> ResultPage:
        hit = Hit("https://a.example/", "A" + BAD, (), ("a.example",), 1.0, 7, media=media, **more)
        return ResultPage(query, (hit,), 1, True, False, 0.0, 10)

    return FakeSearcher(answer=answer)


def test_media_are_cards_of_text_with_links_that_are_safe() -> None:
    media = (
        Media("https://a.example/p.jpg" + BAD, "image", BAD),
        Media("javascript:alert(1)", "image", "bad"),
        Media("https://a.example/s.mp3", "audio", "salt bell"),
    )
    app = make_app(showing(*media), ServeSettings(threads=1))
    answer = get(app, "/search?q=salt&tab=media")
    assert answer.status == 200
    assert "<script>alert" not in answer.text
    assert "javascript:" not in answer.text
    assert "<img" not in answer.text, "nothing is loaded from other sites"
    kinds = re.findall(r'class="kind">(\w+)<', answer.text)
    assert kinds == ["audio", "image"], "what has a word of the query comes first"
    assert "img-src 'self';" in answer.headers["content-security-policy"]
    assert answer.headers["content-security-policy"].count("default-src") == 1
    found = get(app, "/search?q=salt&tab=media&format=json").json["results"][0]
    assert found["img_src"] == media[0].url
    assert found["media"][2] == {"url": "https://a.example/s.mp3", "kind": "audio", "text": "salt bell"}


def test_thumbnails_and_icons_come_from_here() -> None:
    image, icon = "https://a.example/p.jpg", "https://a.example/favicon.ico"
    kept = {fingerprint_text(url): b"RIFF....WEBP" for url in (image, icon)}
    actions = Actions(has_thumbnail=lambda url: fingerprint_text(url) in kept, thumbnail=kept.get)
    app = make_app(showing(Media(image, "image", "salt")), ServeSettings(threads=1), actions)
    for path, url in (("/search?q=salt&tab=media", image), ("/search?q=salt", icon)):
        found = re.findall(r'<img[^>]* src="([^"]+)"', get(app, path).text)
        assert found == [f"/t/{fingerprint_text(url):016x}.webp"]
        answer = get(app, found[0])
        assert (answer.status, answer.headers["content-type"]) == (200, "image/webp")
    for wrong in ("/t/0.webp", "/t/" + "0" * 16 + ".webp", "/t/..%2fkeys.json"):
        assert get(app, wrong).status == 404


def test_a_tab_sets_the_filter_of_the_query() -> None:
    searcher = FakeSearcher()
    app = make_app(searcher, ServeSettings(threads=1))
    for tab in ("media", "news", "services", "web"):
        get(app, f"/search?q=salt&tab={tab}")
    assert [query.having for query in searcher.asked] == ["media", "news", "", ""]


def test_news_says_when_it_was_published() -> None:
    app = make_app(showing(day=20_000, fetched=20_400.0 * DAY), ServeSettings(threads=1))
    for tab in ("news", "web"):
        assert '<time datetime="2024-10-04">4 October 2024</time>' in get(app, f"/search?q=salt&tab={tab}").text
    app = make_app(showing(day=20_400, fetched=20_400.5 * DAY), ServeSettings(threads=1))
    assert "<time" in get(app, "/search?q=salt&tab=news").text
    assert "<time" not in get(app, "/search?q=salt").text, "the day of the fetch is not the date of the page"


def test_trending_pages_are_counted_without_identities(tmp_path: Path) -> None:
    now = time.time()
    seen = [
        VisitReport("https://a.example/old", 70, "", now - 3 * DAY),
        VisitReport("https://a.example/old", 12, "", now - 60),
        VisitReport("https://b.example/new", 9, "", now - 60),
        VisitReport("https://c.example/rare", 2, "", now - 60),
        VisitReport("https://d.example/once", 4, "", now - 60),
        VisitReport("https://d.example/past", 400, "", now - 30 * DAY),
    ]
    append_visit_reports(tmp_path, seen)
    assert read_trending(tmp_path) == [
        ("https://b.example/new", 9),
        ("https://d.example/once", 4),
        ("https://a.example/old", 12),
    ]
    assert read_trending(tmp_path, most=1) == [("https://b.example/new", 9)]
    assert read_trending(tmp_path / "none") == []


class Known(FakeSearcher):
    def cached_page(self, key: int) -> FakeCachedPage | None:
        known = {fingerprint_text(url): url for url in ("https://a.example/1", "https://a.example/2")}
        return FakeCachedPage(known[key], 1.0, "One", "") if key in known else None


def test_only_pages_that_can_be_found_are_shown_one_of_a_site() -> None:
    rising = [("https://gone.example/", 50), ("https://a.example/2", 9), ("https://a.example/1", 8), ("ftp://x/", 7)]
    trending = TrendingPages(Known(), lambda: rising)
    trending.refresh()
    assert [(one.url, one.visits) for one in trending.pages] == [("https://a.example/2", 9)]
    quiet = TrendingPages(Known(), None)
    quiet.refresh()
    assert quiet.pages == ()


class World:
    """A server on a real data folder, and who may rate on it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.keys = ApiKeys(None)
        self.secret = {role: self.keys.add(role, role) for role in ("judge", "publish", "admin")}
        actions = server_actions(folder, FakeSearcher(), Settings())
        self.app = make_app(FakeSearcher(), ServeSettings(threads=1, **settings), actions, self.keys)

    def form(self, path: str, cookie: str = "", **fields: str) -> Answer:
        headers = {"content-type": "application/x-www-form-urlencoded"} | ({"cookie": cookie} if cookie else {})
        return asyncio.run(call(self.app, path, "POST", headers, urlencode(fields).encode()))

    def sign_in(self, secret: str) -> Answer:
        page = get(self.app, "/settings").text
        token = re.search(r'name="token" value="([^"]+)"', page)
        assert token
        return self.form("/rate/login", token=token[1], key=secret)


GRADE = {"query": "salt", "url": "https://a.example/", "grade": 2}


def test_a_key_with_the_role_judge_grades(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert send(world.app, "/api/judge", GRADE).status == 401
    assert send(world.app, "/api/judge", GRADE, world.secret["publish"]).status == 403
    assert send(world.app, "/api/judge", GRADE, world.secret["judge"]).status == 204
    assert send(world.app, "/api/judge", GRADE | {"grade": 3}, world.secret["admin"]).status == 204
    for bad in ({"grade": 4}, {"grade": -1}, {"query": ""}, {"url": "u" * 5000}, {"more": 1}):
        assert send(world.app, "/api/judge", GRADE | bad, world.secret["judge"]).status == 400
    assert [(one.query, one.grade) for one in read_judgements(tmp_path)] == [("salt", 3)]


def test_a_rater_who_signed_in_grades_with_a_token(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.form("/rate/login", token="1.x", key=world.secret["judge"]).status == 403
    assert world.sign_in(world.secret["publish"]).status == 403
    answer = world.sign_in(world.secret["judge"])
    assert answer.status == 303
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    own = {"cookie": cookie.partition(";")[0]}
    token = get(world.app, "/api/rater", headers=own).json["token"]
    assert get(world.app, "/api/rater").status == 401
    assert send(world.app, "/api/judge", GRADE, headers=own).status == 403, "a cookie alone is not enough"
    assert send(world.app, "/api/judge", GRADE, headers=own | {"x-token": "1.2"}).status == 403
    away = own | {"x-token": token, "sec-fetch-site": "cross-site"}
    assert send(world.app, "/api/judge", GRADE, headers=away).status == 403
    assert send(world.app, "/api/judge", GRADE, headers=own | {"x-token": token}).status == 204
    assert len(read_judgements(tmp_path)) == 1
    assert "Log out" in get(world.app, "/settings", headers=own).text
    assert get(world.app, "/admin", headers=own).text.count("role admin") == 1, "a rater is no admin"
    assert world.form("/rate/logout", own["cookie"], token=token).status == 303


CLICK = {"query": "salt", "url": "https://a.example/", "position": 2, "shown": ["https://b.example/"]}


def test_clicks_are_counted_only_where_that_is_set(tmp_path: Path) -> None:
    off, on = World(tmp_path), World(tmp_path, clicks=True)
    assert send(off.app, "/api/click", CLICK).status == 501
    assert 'id="clicks"' not in get(off.app, "/search?q=salt").text
    assert 'id="clicks"' in get(on.app, "/search?q=salt").text
    assert send(on.app, "/api/click", CLICK).status == 204
    assert send(on.app, "/api/click", CLICK, headers={"sec-fetch-site": "cross-site"}).status == 403
    assert send(on.app, "/api/click", CLICK | {"position": 0}).status == 400
    kept = list(read_clicks(tmp_path))
    assert [(one.query, one.position, one.shown) for one in kept] == [("salt", 2, ("https://b.example/",))]
    written = json.loads((tmp_path / "clicks.jsonl").read_text().splitlines()[-1])
    assert set(written) == {"query", "url", "position", "shown", "when", "source", "checksum"}
    assert 0 < written["source"] < 64


def test_the_admin_page_shows_quality_or_how_to_measure_it(tmp_path: Path) -> None:
    assert read_quality(tmp_path) == (None, [])
    world = World(tmp_path)
    page = get(world.app, "/admin").text
    token = re.search(r'name="token" value="([^"]+)"', page)
    assert token
    entered = world.form("/admin/login", token=token[1], key=world.secret["admin"])
    own = {"cookie": entered.headers["set-cookie"].partition(";")[0]}
    assert "periplus evaluate" in get(world.app, "/admin", headers=own).text
    results = [
        {"name": "lexical", "title": "BM25F", "ndcg": 0.3, "skipped": ""},
        {"name": "full", "title": "Everything", "ndcg": 0.4256, "skipped": ""},
        {"name": "-links", "title": "Without links", "ndcg": 0.1, "skipped": ""},
    ]
    latest = {"when": "2026-11-15T12:00:00+00:00", "collections": [{"collection": "cran<b>", "results": results}]}
    (tmp_path / "quality").mkdir()
    (tmp_path / "quality" / "latest.json").write_bytes(msgspec.json.encode(latest))
    lines = b'{"ndcg": {"a": {"x": 0.2}}}\ntorn{\n{"ndcg": {"a": {"x": 0.4}}}\n'
    (tmp_path / "quality" / "history.jsonl").write_bytes(lines)
    shown = get(world.app, "/admin", headers=own).text
    assert "0.426" in shown
    assert "cran&lt;b&gt;" in shown
    assert 'id="quality-line" points="0.0' in shown
    (tmp_path / "quality" / "latest.json").write_bytes(b'{"collections": [1, 2]}')
    assert "periplus evaluate" in get(world.app, "/admin", headers=own).text
