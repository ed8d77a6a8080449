"""The page and the API of rules, with real rule sets and a real index."""

import asyncio
import json
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from asgi_caller import Answer, call, get
from fake_searcher import FakeSearcher

from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page, Query
from periplus.result_rules import RuleStore
from periplus.search import Searcher
from periplus.serve import Actions, ApiKeys, make_app
from periplus.serve.application import Application
from periplus.settings import IndexSettings, ServeSettings, Settings

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1:8080"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    urls = [f"https://host{number}.test/salt" for number in range(14)]
    visits = [
        FetchRecord(
            url,
            fingerprint_text(url),
            Outcome.OK,
            1.7e9,
            200,
            page=Page(url, title=f"Salt {url}", text=f"Salt of {url}."),
        )
        for url in urls
    ]
    build_index(visits, folder / "index", IndexSettings())
    return folder


@pytest.fixture(scope="module")
def keys(folder: Path) -> ApiKeys:
    return ApiKeys(folder)


@pytest.fixture(scope="module")
def app(folder: Path, keys: ApiKeys) -> Application:
    searcher = Searcher.open(folder, Settings())
    return make_app(searcher, ServeSettings(threads=1), Actions(rules=RuleStore(folder)), keys)


def post(app: Application, path: str, body: bytes, headers: dict[str, str], method: str = "POST") -> Answer:
    return asyncio.run(call(app, path, method, headers, body))


def hosts(answer_json: dict[str, list[dict[str, str]]]) -> list[str]:
    return [result["url"].split("/")[2] for result in answer_json["results"]]


def submit(app: Application, cookie: str = "", **fields: str) -> tuple[int, str, str]:
    token = re.search(r'name="token" value="([^"]+)"', get(app, "/rules").text)
    assert token
    body = urlencode({"token": token[1], **fields}).encode()
    answer = post(app, "/rules", body, {**FORM, "cookie": cookie})
    set_cookie = answer.headers.get("set-cookie", "")
    return answer.status, set_cookie.partition(";")[0], answer.text


def test_a_page_of_ten_stays_ten(app: Application) -> None:
    before = hosts(get(app, "/api/search?q=salt").json)
    status, cookie, _ = submit(app, do="save", text="\n".join(f"block {host}" for host in before[:4]))
    assert status == 303
    after = hosts(get(app, "/api/search?q=salt", headers={"cookie": cookie}).json)
    assert len(before) == len(after) == 10
    assert not {*before[:4]} & {*after}
    assert hosts(get(app, "/api/search?q=salt").json) == before, "the cookie of one is not that of another"
    identifier = cookie.partition("=")[2]
    assert hosts(get(app, f"/api/search?q=salt&rules={identifier}").json) == after
    assert f"rules={identifier}" in get(app, f"/search?q=salt&rules={identifier}&page=1").text, "links keep the rules"
    assert identifier not in get(app, "/search?q=salt", headers={"cookie": cookie}).text


def test_one_site_is_added_to_the_rules_of_the_browser(app: Application) -> None:
    _, cookie, _ = submit(app, do="site", site="https://host3.test/", action="block")
    _, cookie, _ = submit(app, cookie, do="site", site="host4.test", action="raise")
    _, cookie, _ = submit(app, cookie, do="site", site="host3.test", action="lower")
    text = get(app, f"/api/rules/{cookie.partition('=')[2]}").json["text"]
    assert text == "raise host4.test\nlower host3.test\n"
    assert hosts(get(app, "/api/search?q=salt", headers={"cookie": cookie}).json)[0] == "host4.test"
    status, cookie, _ = submit(app, cookie, do="stop")
    assert (status, cookie) == (303, 'periplus_rules=""')


def test_what_is_refused_is_said_with_the_line(app: Application) -> None:
    status, cookie, page = submit(app, do="save", text="! x\n/" + "a*" * 40 + "$discard")
    assert (status, cookie) == (400, "")
    assert "line 2" in page
    assert "a*a*" in page, "the text is still there"
    assert submit(app, do="site", site="not a host!", action="block")[0] == 400
    assert submit(app, do="use", id="0" * 32)[0] == 404
    assert post(app, "/rules", b"do=stop", FORM).status == 403


def test_api(app: Application, keys: ApiKeys, folder: Path) -> None:
    headers = {"content-type": "application/json"}
    added = post(
        app, "/api/rules", json.dumps({"text": "! name: <b>x\n$discard,site=host1.test\nx$intitle"}).encode(), headers
    )
    assert added.status == 201
    assert added.json["rules"] == {"block": 1}
    assert [line["line"] for line in added.json["ignored_lines"]] == [3]
    shared = get(app, added.json["url"])
    assert shared.status == 200
    assert "&lt;b&gt;x" in shared.text
    assert "<b>x" not in shared.text
    assert get(app, "/api/rules/" + "0" * 32).status == get(app, "/rules/zz").status == 404
    assert post(app, "/api/rules", b'{"text": "# none"}', headers).status == 400
    assert get(app, "/api/search?q=salt&rules=no").status == 400
    body, admin = (
        json.dumps({"ids": [added.json["id"]]}).encode(),
        {"authorization": f"Bearer {keys.add('a', 'admin')}"},
    )
    assert post(app, "/api/server-rules", body, headers, method="PUT").status == 401
    assert post(app, "/api/server-rules", body, {**headers, **admin}, method="PUT").status == 200
    assert get(app, "/api/server-rules").json == {"ids": [added.json["id"]]}
    page = Searcher.open(folder, Settings())
    assert "host1.test" not in {hit.breadcrumbs[0] for hit in page.search(Query("salt", size=50)).hits}
    post(app, "/api/server-rules", b'{"ids": []}', {**headers, **admin}, method="PUT")


def test_without_rules() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    assert get(app, "/rules").status == 501
    assert get(app, "/api/server-rules").status == 501
