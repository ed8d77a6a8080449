"""What operators do on the admin page and by the API: the same changes, each logged with its author; hostile input."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from asgi_caller import Answer, call, get, send
from fake_searcher import FakeSearcher
from hypothesis import given
from hypothesis import strategies as st

from periplus.app.administration.server_operations import ServerOperations
from periplus.errors import BadInput, SettingsError
from periplus.files import open_data_folder
from periplus.result_rules import RuleStore
from periplus.serve import Actions, ApiKeys, CrawlLimits, HealthReport, make_app
from periplus.serve.admin.admin_plots import plot
from periplus.settings import ServeSettings, Settings
from periplus.url import parse_address

HOSTILE = '"><script>alert(1)</script>\u202e'
CUT = {"kind": "bodies", "count": 2, "text": "2 pages are longer than is read (fetch.max_bytes = 50000)."}


class Crawl:
    """A crawl that notes what it is told."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.state = "stopped"

    def status(self) -> dict[str, Any]:
        running = self.state in ("running", "paused", "stopping")
        figures = {"pages": 3, "rate": 1.5, "fetched": 5, "waiting": 7, "busy": 1, "errors": {"gone": 2}}
        slow = (f"https://a.test/{HOSTILE}", 12.5, 4_000)
        return {"running": running, "state": self.state, **figures, "cuts": [CUT], "under_way": [slow]}

    def start(self, seeds: Sequence[str] = (), limits: CrawlLimits | None = None) -> None:
        for seed in seeds:
            if parse_address(seed).host == "others.test":
                raise SettingsError("Hosts of others are crawled with a contact only.", "Set fetch.contact.")
        if self.state != "stopped":
            raise BadInput("A crawl is already running in /secret/folder.")
        self.done.append(("start", tuple(seeds), limits))
        self.state = "running"

    def pause(self) -> None:
        self.done.append("pause")
        self.state = "paused"

    def resume(self) -> None:
        self.state = "running"

    def stop(self) -> None:
        if self.state == "stopped":
            raise BadInput("No crawl is running.")
        self.state = "stopped"


class World:
    """A server with all operations of a data folder, and the session of an operator."""

    def __init__(self, folder: Path) -> None:
        open_data_folder(folder, create=True)
        self.folder, self.crawl, self.keys = folder, Crawl(), ApiKeys(folder)
        self.secret = {role: self.keys.add(role, role) for role in ("crawl", "publish", "admin")}
        status = self.crawl.status
        operations = ServerOperations(folder, Settings(), lambda: 4, status, lambda: HealthReport((), 0, 2))
        actions = Actions(crawl=self.crawl, rules=RuleStore(folder), operations=operations)
        self.app = make_app(FakeSearcher(), ServeSettings(threads=1, rate=0), actions, self.keys)
        fields = {"key": self.secret["admin"], "token": token_of(get(self.app, "/admin").text)}
        entered = self._post("/admin/login", fields, {})
        self.session = {"cookie": entered.headers["set-cookie"].partition(";")[0]}

    def _post(self, path: str, fields: dict[str, str], headers: dict[str, str]) -> Answer:
        given = {"content-type": "application/x-www-form-urlencoded", **headers}
        return asyncio.run(call(self.app, path, "POST", given, urlencode(fields, errors="replace").encode()))

    def show(self, path: str) -> str:
        answer = get(self.app, path, headers=self.session)
        assert answer.status == 200
        assert HOSTILE not in answer.text
        return answer.text

    def submit(self, path: str, **fields: str) -> Answer:
        return self._post(path, {"token": token_of(self.show("/admin")), **fields}, self.session)

    def api(self, method: str, path: str, body: Any = None, role: str = "admin") -> Answer:
        if body is None:
            return get(self.app, path, method, {"authorization": f"Bearer {self.secret[role]}"})
        return send(self.app, path, body, self.secret[role], method)

    def changes(self) -> list[tuple[str, str, str]]:
        found = self.api("GET", "/api/changes").json["changes"]
        return [(one["who"], one["what"], one["detail"]) for one in found]


def token_of(text: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', text)
    assert found
    return found[1]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "data")


def test_a_crawl_is_started_with_seeds_and_limits(world: World) -> None:
    assert 'value="start"' in world.show("/admin")
    assert 'value="pause"' not in world.show("/admin"), "only what makes sense is offered"
    assert '<span id="live-rate">0.0</span>' in world.show("/admin"), "the last rate of a crawl that has ended is over"
    fields = {"seeds": "a.test/x\n\n  http://b.test/ ", "pages": "50", "minutes": "2.5", "scope": "host", "depth": ""}
    assert world.submit("/admin/crawl", word="start", **fields).status == 303
    limits = CrawlLimits(pages=50, minutes=2.5, scope="host")
    assert world.crawl.done == [("start", ("https://a.test/x", "http://b.test/"), limits)]
    page = world.show("/admin")
    assert 'value="start"' not in page
    assert 'value="pause"' in page
    assert "fetch.max_bytes = 50000" in page, "cuts are named with their settings"
    assert world.submit("/admin/crawl", word="pause").status == 303
    assert 'value="resume"' in world.show("/admin")
    assert world.submit("/admin/crawl", word="stop").status == 303
    body = {"seeds": ["http://c.test/"], "limits": {"host_pages": 9, "recrawl": True}}
    assert world.api("POST", "/api/crawl/start", body, "crawl").status == 202
    assert world.crawl.done[-1] == ("start", ("http://c.test/",), CrawlLimits(host_pages=9, recrawl=True))
    assert world.changes()[0] == ("crawl", "start the crawl", "http://c.test/; host_pages 9; recrawl True")
    assert world.changes()[-1][:2] == ("admin", "start the crawl")


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"seeds": "http://"}, 400, "URL"),
        ({"seeds": "http://a.test/", "pages": "0"}, 400, "limit is invalid"),
        ({"seeds": "http://a.test/", "minutes": "nan"}, 400, "limit is invalid"),
        ({"seeds": "http://a.test/", "depth": HOSTILE}, 400, "limit is invalid"),
        ({"seeds": "http://a.test/", "scope": "everything"}, 400, "limit is invalid"),
        ({"seeds": "http://a.test/\n" * 1_001}, 400, "At most 1,000"),
        ({"seeds": "https://others.test/"}, 400, "Set fetch.contact."),
        ({"seeds": HOSTILE}, 400, "&lt;script&gt;"),
    ],
)
def test_a_bad_start_is_explained_and_kept_in_the_form(
    world: World, fields: dict[str, str], status: int, said: str
) -> None:
    answer = world.submit("/admin/crawl", word="start", **fields)
    assert (answer.status, said in answer.text) == (status, True)
    assert HOSTILE not in answer.text
    assert world.crawl.done == []
    assert world.changes() == []


def test_a_second_start_is_refused_without_telling_the_folder(world: World) -> None:
    world.crawl.state = "running"
    answer = world.submit("/admin/crawl", word="start", seeds="http://a.test/")
    assert answer.status == 409
    assert "/secret/folder" not in answer.text
    world.crawl.state = "stopped"
    assert world.submit("/admin/crawl", word="stop").status == 409


def test_hosts_are_blocked_and_unblocked(world: World) -> None:
    assert world.submit("/admin/hosts", do="block", host="https://Ads.Example/x").status == 303
    assert world.api("PUT", "/api/blocked-hosts/b%C3%BCcher.example", role="crawl").json["host"] == (
        "xn--bcher-kva.example"
    )
    assert world.api("GET", "/api/blocked-hosts").json["hosts"] == ["ads.example", "xn--bcher-kva.example"]
    assert "ads.example" in world.show("/admin/hosts")
    assert world.submit("/admin/hosts", do="unblock", host="ads.example").status == 303
    assert world.submit("/admin/hosts", do="unblock", host="ads.example").status == 400
    assert world.api("DELETE", "/api/blocked-hosts/ads.example").status == 404
    assert world.api("DELETE", "/api/blocked-hosts/b%C3%BCcher.example").status == 200
    for bad in ("", " ", "a b", HOSTILE, "x" * 300):
        answer = world.submit("/admin/hosts", do="block", host=bad)
        assert (answer.status, HOSTILE in answer.text) == (400, False)
    assert world.api("GET", "/api/crawl/hosts?q=x&count=0").status == 400
    assert world.api("GET", f"/api/crawl/hosts?q={quote(HOSTILE)}").json == {"hosts": []}
    world.show(f"/admin/hosts?host={quote(HOSTILE)}")
    assert [what for _, what, _ in world.changes()] == ["unblock a host"] * 2 + ["block a host"] * 2


def test_keys_are_added_shown_once_and_revoked(world: World) -> None:
    added = world.submit("/admin/access", do="add-key", name=HOSTILE[:-1], role="judge")
    secret = re.search(r"pk_[\w-]+", added.text)
    assert added.status == 201
    assert secret is not None
    assert HOSTILE[:-1] not in added.text
    assert secret[0] not in world.show("/admin/access")
    assert world.keys.find(secret[0]) is not None
    listed = world.api("GET", "/api/keys")
    assert {key["name"] for key in listed.json["keys"]} == {"crawl", "publish", "admin", HOSTILE[:-1]}
    assert "mark" not in listed.text, "digests stay here"
    made = world.api("POST", "/api/keys", {"name": "reporter", "role": "report"})
    assert (made.status, made.json["key"].startswith("pk_")) == (201, True)
    assert world.api("POST", "/api/keys", {"name": "reporter", "role": "report"}).status == 400
    assert world.api("POST", "/api/keys", {"name": "other", "role": "king"}).status == 400
    assert world.api("POST", "/api/keys", {"name": "x", "role": "admin"}, "crawl").status == 403
    assert world.api("DELETE", "/api/keys/reporter").status == 200
    assert world.api("DELETE", "/api/keys/reporter").status == 400
    assert world.submit("/admin/access", do="remove-key", name="admin").status == 400, "nobody locks everybody out"
    assert world.submit("/admin/access", do="add-key", name="", role="judge").status == 400
    assert secret[0] not in str(world.changes())


def test_rules_of_the_server(world: World) -> None:
    assert world.submit("/admin/access", do="add-rules", name="Ads", text="block ads.example").status == 303
    shared = world.api("POST", "/api/rules", {"text": "raise good.example"}).json["id"]
    assert world.submit("/admin/access", do="add-rules", text=f"http://127.0.0.1:8080/rules/{shared}").status == 303
    ids = world.api("GET", "/api/server-rules").json["ids"]
    assert (len(ids), ids[1]) == (2, shared)
    assert "Ads" in world.show("/admin/access")
    assert world.submit("/admin/access", do="remove-rules", id=ids[0]).status == 303
    assert world.api("GET", "/api/server-rules").json["ids"] == [shared]
    assert world.submit("/admin/access", do="add-rules", text="0" * 32).status == 404
    assert world.submit("/admin/access", do="add-rules", text="").status == 400
    for number in range(4):
        answer = world.submit("/admin/access", do="add-rules", text=f"block host{number}.example")
        assert answer.status == (303 if number < 3 else 400)


def test_the_schedule(world: World) -> None:
    assert world.submit("/admin/schedule", do="set", job="recrawl", every_hours="24", minutes="30").status == 303
    assert world.api("PUT", "/api/schedule/build", {"every_hours": 0.5}).status == 200
    jobs = {job["job"]: job for job in world.api("GET", "/api/schedule").json["jobs"]}
    assert (jobs["recrawl"]["every_hours"], jobs["recrawl"]["minutes"]) == (24, 30)
    assert jobs["build"]["next"] > 0
    assert world.submit("/admin/schedule", do="now", job="build").status == 303
    assert "starts in a moment" in world.show("/admin/schedule")
    assert "works on its own" in world.show("/admin/schedule")
    assert world.api("GET", "/api/sinks").json["site"] == ""
    for fields in ({"job": "recrawl", "every_hours": "nan"}, {"job": "x", "every_hours": "1"}, {"every_hours": "9e9"}):
        assert world.submit("/admin/schedule", do="set", **fields).status == 400
    assert world.api("PUT", "/api/schedule/build", {"every_hours": -1}).status == 400
    assert world.api("PUT", "/api/schedule/explode", {"every_hours": 1}).status == 400
    assert world.submit("/admin/schedule", do="destroy").status == 400


def test_health_says_what_to_do_next(world: World) -> None:
    findings = world.api("GET", "/api/health").json["findings"]
    assert [one["name"] for one in findings if one["state"] == "bad"] == ["Published pages"]
    assert next(one for one in findings if one["name"] == "Crawl")["action"] == "Start it again to go on."
    assert "Publish them again" in world.show("/admin/health")
    assert "/admin/health" not in get(world.app, "/admin/health").text.split("<main")[1], "a login form"


def test_forms_of_others_change_nothing(world: World) -> None:
    for path, fields in (
        ("/admin/hosts", {"do": "block", "host": "a.test"}),
        ("/admin/access", {"do": "add-key", "name": "x", "role": "admin"}),
        ("/admin/schedule", {"do": "now", "job": "build"}),
        ("/admin/crawl", {"word": "start", "seeds": "http://a.test/"}),
    ):
        token = token_of(world.show("/admin"))
        assert world._post(path, fields, world.session).status == 403, "no token"
        assert world._post(path, {**fields, "token": token}, {}).status == 403, "no session"
        other = {**world.session, "origin": "https://evil.example"}
        assert world._post(path, {**fields, "token": token}, other).status == 403, "another site"
    assert world.changes() == []


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e15)), max_size=700))
def test_any_samples_make_a_plot_within_its_box(samples: list[tuple[float, float]]) -> None:
    drawn = plot(sorted(samples))
    points = [tuple(map(float, pair.split(","))) for pair in drawn.points.split()]
    assert len(points) <= 240
    assert all(0 <= x <= 600 for x, _ in points)
    assert float(drawn.top) == pytest.approx(2 * float(drawn.middle))


def test_a_plot_names_the_ends_of_its_axes() -> None:
    drawn = plot([(0.0, 0.0), (30.0, 12.0), (60.0, 6.0)])
    assert (drawn.top, drawn.middle, drawn.seconds) == ("20", "10", 60.0)
    assert drawn.points == "0.0,80.0 300.0,32.0 600.0,56.0"
