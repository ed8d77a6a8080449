"""What changes something: keys and roles, publishing, submitting, reporting, steering the crawl, the admin page."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from asgi_caller import Answer, call, get, send
from fake_searcher import FakeSearcher

from periplus.errors import BadInput, DiskFailed, StorageFull
from periplus.records import VisitReport
from periplus.serve import Actions, ApiKeys, Publisher, PublishReceipt, PublishRequest, UploadedFile, make_app
from periplus.settings import ServeSettings
from periplus.url import parse_address


class World:
    """All that can be done, and a note of what was."""

    def __init__(self, **settings: Any) -> None:
        self.done: list[Any] = []
        self.running = True
        self.keys = ApiKeys(None)
        self.secret = {role: self.keys.add(role, role) for role in ("publish", "report", "crawl", "admin")}
        actions = Actions(self.publish, lambda given, _: self.done.append(given), self.report, self)
        self.app = make_app(FakeSearcher(), ServeSettings(threads=1, **settings), actions, self.keys)

    def publish(self, given: PublishRequest, publisher: Publisher, file: UploadedFile | None) -> PublishReceipt:
        assert publisher.name
        assert file is None
        self.done.append(given)
        return PublishReceipt("ab" * 32, given.url or "https://published.invalid/ab", "00000000000000ab")

    def report(self, seen: Sequence[VisitReport]) -> tuple[int, int]:
        good = [one for one in seen if one.url.startswith("http") and "." in one.url]
        self.done += good
        return len(good), len(seen) - len(good)

    def status(self) -> dict[str, Any]:
        return {"running": self.running, "state": "running", "pages": 3, "rate": 1.5, "errors": {"gone": 2}}

    def start(self, seeds: Sequence[str] = ()) -> None:
        for seed in seeds:
            parse_address(seed)
        if self.running:
            raise BadInput("A crawl is running already.")
        self.done += ["start", *seeds]

    def pause(self) -> None:
        if not self.running:
            raise BadInput("No crawl is running.")
        self.done.append("pause")

    def resume(self) -> None:
        self.done.append("resume")

    def stop(self) -> None:
        self.done.append("stop")


PAGE = {"title": "Tides", "content": "High water at noon.", "tags": ["sea"], "date": "2026-11-15"}


def test_publishing() -> None:
    world = World()
    answer = send(world.app, "/api/publish", PAGE, world.secret["publish"])
    assert answer.status == 201
    assert answer.json == {
        "id": "ab" * 32,
        "url": "https://published.invalid/ab",
        "content": "/c/" + "ab" * 32,
        "changed": True,
        "key": "00000000000000ab",
        "cached": "/cached/00000000000000ab",
    }
    assert world.done[0].tags == ("sea",)
    gone = send(world.app, "/api/publish/00000000000000ab", {}, world.secret["publish"], "DELETE")
    assert (gone.status, world.done[-1]) == (200, "00000000000000ab")
    assert send(world.app, "/api/publish/x", {}, world.secret["publish"], "DELETE").status == 404


CHANGES = [
    ("/api/publish", PAGE, "publish", 201),
    ("/api/submit", {"url": "https://a.example/"}, "publish", 202),
    ("/api/submit", {"url": "https://a.example/"}, "crawl", 202),
    ("/api/visits", {"visits": [{"url": "https://a.example/", "count": 2}, {"url": "x"}]}, "report", 202),
    ("/api/crawl/pause", {}, "crawl", 202),
    ("/api/crawl/stop", {}, "crawl", 202),
]
RIGHTS = {
    "/api/publish": {"publish"},
    "/api/submit": {"publish", "crawl"},
    "/api/visits": {"report"},
    "/api/crawl/pause": {"crawl"},
    "/api/crawl/stop": {"crawl"},
}


@pytest.mark.parametrize(("path", "body", "role", "status"), CHANGES)
def test_each_role_may_do_its_own_and_nothing_else(path: str, body: Any, role: str, status: int) -> None:
    world = World()
    assert send(world.app, path, body).status == 401
    assert "bearer" in send(world.app, path, body).headers["www-authenticate"].lower()
    assert send(world.app, path, body, "pk_wrong").status == 401
    assert world.done == []
    for other in ("publish", "report", "crawl"):
        if other not in RIGHTS[path]:
            assert send(world.app, path, body, world.secret[other]).status == 403
    assert world.done == []
    assert send(world.app, path, body, world.secret[role]).status == status
    assert send(world.app, path, body, world.secret["admin"]).status == status
    assert len(world.done) == 2
    by_header = send(world.app, path, body, headers={"x-api-key": world.secret["admin"]})
    assert by_header.status == status


def test_reports_return_the_number_accepted() -> None:
    world = World()
    answer = send(world.app, "/api/visits", CHANGES[3][1], world.secret["report"])
    assert answer.json == {"taken": 1, "refused": 1}
    assert world.done == [VisitReport("https://a.example/", 2, source=world.done[0].source)]
    assert 0 < world.done[0].source < 64


def test_the_crawl_says_how_it_is() -> None:
    world = World()
    assert get(world.app, "/api/crawl").status == 401
    answer = get(world.app, "/api/crawl", headers={"authorization": f"Bearer {world.secret['crawl']}"})
    assert answer.json["pages"] == 3
    assert send(world.app, "/api/crawl/start", {}, world.secret["crawl"]).status == 409
    assert send(world.app, "/api/crawl/start", {}, world.secret["report"]).status == 403
    world.running = False
    assert send(world.app, "/api/crawl/start", {}, world.secret["crawl"]).status == 202
    assert world.done == ["start"]
    seeds = ["https://a.example/", "https://b.example/"]
    assert send(world.app, "/api/crawl/start", {"seeds": seeds}, world.secret["crawl"]).status == 202
    assert world.done[1:] == ["start", *seeds]
    for bad in (["nonsense"], ["https://a.example/" + "x" * 2100], seeds * 600, seeds[0], [1], [None]):
        assert send(world.app, "/api/crawl/start", {"seeds": bad}, world.secret["crawl"]).status == 400
    assert send(world.app, "/api/crawl/start", {"sees": seeds}, world.secret["crawl"]).status == 400
    assert send(world.app, "/api/crawl/pause", {}, world.secret["crawl"]).status == 409
    assert send(world.app, "/api/crawl/explode", {}, world.secret["crawl"]).status == 404


def test_bodies_are_bounded_and_of_their_kind() -> None:
    world = World()
    key = world.secret["admin"]
    for bad in ([], {}, {"title": "x"}, {"title": 1, "content": "x"}, PAGE | {"surprise": 1}, "x", None):
        answer = send(world.app, "/api/publish", bad, key)
        assert answer.status == 400
        assert set(answer.json) == {"error", "hint"}
    assert send(world.app, "/api/publish", PAGE | {"content": "x" * 2_000_000}, key).status == 413
    assert send(world.app, "/api/publish", PAGE, key, headers={"content-type": "text/plain"}).status == 415
    assert send(world.app, "/api/publish", PAGE, key, headers={"content-length": "99999999"}).status == 413
    many = {"visits": [{"url": "https://a.example/"}] * 5001}
    assert send(world.app, "/api/visits", many, key).status == 400
    raw = asyncio.run(
        call(
            world.app,
            "/api/publish",
            "POST",
            {"content-type": "application/json", "x-api-key": key},
            b"[" * 100_000,
        )
    )
    assert raw.status == 400
    assert world.done == []


def test_actions_that_are_not_available_answer_501() -> None:
    keys = ApiKeys(None)
    key = keys.add("a", "admin")
    app = make_app(FakeSearcher(), ServeSettings(), None, keys)
    for path, body, _, _ in CHANGES:
        assert send(app, path, body, key).status == 501
    assert get(app, "/api/publish").status == 405


def test_sites_are_accepted_from_anyone_only_if_the_setting_is_on() -> None:
    closed, opened = World(), World(submissions=True)
    assert "periplus crawl" in get(closed.app, "/add").text
    assert form(closed, "/add", {"url": "https://a.example/", "token": "x"}).status == 403
    assert send(opened.app, "/api/submit", {"url": "https://a.example/"}).status == 202
    token = re.search(r'name="token" value="([^"]+)"', get(opened.app, "/add").text)
    assert token
    answer = form(opened, "/add", {"url": "b.example", "token": token[1]})
    assert "https://b.example" in answer.text
    assert opened.done[-1] == VisitReport("https://b.example")
    assert form(opened, "/add", {"url": "nonsense", "token": token[1]}).status == 400
    done = len(opened.done)
    for wrong in ("", "x", token[1][:-1] + ("1" if token[1].endswith("0") else "0"), "1." + token[1].partition(".")[2]):
        assert form(opened, "/add", {"url": "c.example", "token": wrong}).status == 403
    evil = {"origin": "https://evil.example"}
    assert form(opened, "/add", {"url": "c.example", "token": token[1]}, evil).status == 403
    cross = {"sec-fetch-site": "cross-site"}
    assert form(opened, "/add", {"url": "c.example", "token": token[1]}, cross).status == 403
    assert len(opened.done) == done


def form(world: World, path: str, fields: dict[str, str], headers: dict[str, str] | None = None) -> Answer:
    given = {"content-type": "application/x-www-form-urlencoded"} | (headers or {})
    return asyncio.run(call(world.app, path, "POST", given, urlencode(fields).encode()))


def token_of(text: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', text)
    assert found
    return found[1]


def test_the_admin_page_is_for_admins() -> None:
    world = World()
    door = get(world.app, "/admin")
    assert "Key with the role admin" in door.text
    token = token_of(door.text)
    assert form(world, "/admin/login", {"key": world.secret["crawl"], "token": token}).status == 403
    assert form(world, "/admin/login", {"key": world.secret["admin"], "token": "x"}).status == 403
    let_in = form(world, "/admin/login", {"key": world.secret["admin"], "token": token})
    assert (let_in.status, let_in.headers["location"]) == (303, "/admin")
    cookie = let_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    inside = {"cookie": cookie.partition(";")[0]}
    page = get(world.app, "/admin", headers=inside)
    assert "seg-000001-0000" in page.text
    assert "gone" in page.text
    assert page.headers["cache-control"] == "no-store"
    own = token_of(page.text)
    assert form(world, "/admin/crawl", {"word": "pause", "token": own}).status == 403, "no session"
    assert form(world, "/admin/crawl", {"word": "pause", "token": token}, inside).status == 403, "another's token"
    assert form(world, "/admin/crawl", {"word": "explode", "token": own}, inside).status == 400
    assert form(world, "/admin/crawl", {"word": "pause", "token": own}, inside).status == 303
    assert world.done == ["pause"]
    forged = {"cookie": inside["cookie"][:-1] + ("0" if inside["cookie"][-1] != "0" else "1")}
    assert "Key with the role admin" in get(world.app, "/admin", headers=forged).text
    assert get(world.app, "/admin/live").status == 403
    tried = get(world.app, "/admin/ranking?q=salt&static_weight=0.9&rerank=nonsense", headers=inside).text
    assert "static_weight = 0.9" in tried
    assert "rerank = " not in tried, "what is no number is left as it was"
    assert tried.count("↑") + tried.count("↓") > 4, "results moved"
    assert "↑" not in get(world.app, "/admin/ranking?q=salt", headers=inside).text
    assert "Key with the role admin" in get(world.app, "/admin/ranking?q=salt").text
    world.keys.remove("admin")
    assert "Key with the role admin" in get(world.app, "/admin", headers=inside).text, "a key taken back lets nobody in"


def test_keys_are_stored_as_digests(tmp_path: Path) -> None:
    keys = ApiKeys(tmp_path)
    secret = keys.add("me", "publish")
    assert secret not in (tmp_path / "keys.json").read_text()
    assert (tmp_path / "keys.json").stat().st_mode & 0o077 == 0
    other = ApiKeys(tmp_path)
    found = other.find(secret)
    assert found is not None
    assert (found.name, found.role) == ("me", "publish")
    assert other.sign("x") == keys.sign("x"), "all processes sign alike"
    with pytest.raises(BadInput):
        keys.add("me", "admin")
    with pytest.raises(BadInput):
        keys.add("you", "king")
    with pytest.raises(BadInput):
        keys.add("", "admin")
    keys.remove("me")
    assert ApiKeys(tmp_path).find(secret) is None
    with pytest.raises(BadInput):
        keys.remove("me")


def test_the_disk_limit_is_reported_as_insufficient_storage() -> None:
    def publish(*_: Any) -> PublishReceipt:
        raise StorageFull("The page needs about 1 MB, and there is room for 0 MB.", "Raise limits.disk_gb.")

    keys = ApiKeys(None)
    app = make_app(FakeSearcher(), ServeSettings(threads=1), Actions(publish), keys)
    answer = send(app, "/api/publish", PAGE, keys.add("publish", "publish"))
    assert (answer.status, answer.headers["retry-after"]) == (507, "300")
    assert "room for 0 MB" in answer.text
    assert get(app, "/search?q=tides").status == 200


def test_a_full_disk_is_reported_without_its_path() -> None:
    world = World()

    def full(*_: Any) -> PublishReceipt:
        raise DiskFailed("The disk is full: cannot write /secret/inbox.", "Free some space.")

    app = make_app(FakeSearcher(), ServeSettings(), Actions(publish=full), world.keys)
    answer = send(app, "/api/publish", PAGE, world.secret["admin"])
    assert answer.status == 503
    assert "secret" not in answer.text
    assert answer.headers["retry-after"] == "30"


def test_text_that_is_no_text_is_refused() -> None:
    world = World()
    headers = {"content-type": "application/json", "x-api-key": world.secret["admin"]}
    for body in (b'{"title":"\\ud800","content":"x"}', b'{"title":"\xed\xa0\x80","content":"x"}', b"\xff"):
        assert asyncio.run(call(world.app, "/api/publish", "POST", headers, body)).status == 400
    assert world.done == []
