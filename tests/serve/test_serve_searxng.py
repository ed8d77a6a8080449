"""SearXNG's requests as its clients send them: every way to ask, and the parameters that they send by default."""

import asyncio
import json
from urllib.parse import urlencode

import pytest
from asgi_caller import Answer, call, get
from fake_searcher import FakeSearcher

from periplus.serve import make_app
from periplus.settings import ServeSettings

SEARCHER = FakeSearcher()
APP = make_app(SEARCHER, ServeSettings(threads=2, cache_mb=1))
FORM = {"content-type": "application/x-www-form-urlencoded"}


def post(target: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
    return asyncio.run(call(APP, target, "POST", headers, body))


def urls(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.text
    return [result["url"] for result in answer.json["results"]]


def test_every_way_to_ask_gives_the_same_results() -> None:
    asked = {"q": "salt harbour", "format": "json"}
    expected = urls(get(APP, "/search?" + urlencode(asked)))
    assert expected
    assert urls(get(APP, "/?" + urlencode(asked))) == expected
    assert urls(get(APP, "/?format=json&q=salt+harbour")) == expected
    for path in ("/", "/search"):
        assert urls(post(path, urlencode(asked).encode(), FORM)) == expected
        assert urls(post(path + "?" + urlencode(asked))) == expected
    assert urls(post("/search?q=other&format=json", b"q=salt+harbour", FORM)) == expected


def test_a_person_may_post_too_and_the_landing_page_stays() -> None:
    assert "results" in post("/search", b"q=salt", FORM).text
    assert get(APP, "/").text == get(APP, "/?hl=en").text
    assert post("/", b"", FORM).status == 303


@pytest.mark.parametrize(
    ("parameter", "attribute", "value"),
    [
        ("language=all", "language", ""),
        ("language=auto", "language", ""),
        ("language=", "language", ""),
        ("language=en-US", "language", "en"),
        ("language=zh_Hans_CN", "language", "zh"),
        ("safesearch=", "safe", 0),
        ("safesearch=2", "safe", 2),
        ("time_range=", "days", 0),
        ("time_range=month", "days", 31),
        ("pageno=3", "start", 20),
        ("pageno=", "start", 0),
        ("categories=general", "having", ""),
        ("categories=images", "having", "media"),
        ("categories=videos,music", "having", "media"),
        ("categories=news,social+media", "having", ""),
        ("categories=news", "having", "news"),
        ("category_news=on", "having", "news"),
        ("category_news=off", "having", ""),
        ("categories=cooking,%00", "having", ""),
        ("engines=google,bing&enabled_engines=&theme=simple&image_proxy=1", "words", "salt"),
    ],
)
def test_parameters_mean_what_they_mean_there(parameter: str, attribute: str, value: object) -> None:
    assert get(APP, f"/search?q=salt&format=json&{parameter}").status == 200
    assert getattr(SEARCHER.asked[-1], attribute) == value


@pytest.mark.parametrize("parameter", ["safesearch=3", "pageno=0", "pageno=x", "time_range=decade"])
def test_what_searxng_refuses_is_refused(parameter: str) -> None:
    answer = get(APP, f"/search?q=salt&format=json&{parameter}")
    assert (answer.status, set(answer.json)) == (400, {"error", "hint"})


def test_completions_for_browsers_and_for_scripts() -> None:
    prefix, completions = get(APP, "/autocompleter?q=salt").json
    assert prefix == "salt"
    assert completions
    script = {"x-requested-with": "XMLHttpRequest"}
    assert get(APP, "/autocompleter?q=salt", headers=script).json == completions
    assert post("/autocompleter", b"q=salt", FORM | script).json == completions
    assert "x-requested-with" in get(APP, "/autocompleter?q=salt").headers["vary"]


def test_configuration_and_statistics() -> None:
    found = get(APP, "/config").json
    assert found["engines"][0]["languages"] == ["en", "de", "ja"]
    assert set(found["categories"]) >= {"general", "images", "news"}
    assert {"locales", "version", "safe_search", "plugins", "limiter", "brand"} <= set(found)
    assert get(APP, "/stats").headers["location"] == "/about"
    assert json.loads(get(APP, "/stats/errors").body) == {}
    assert get(APP, "/stats/checker").json == {"status": "disabled"}


def test_bodies_that_are_no_form_are_refused() -> None:
    assert post("/search", b'{"q": "salt"}', {"content-type": "application/json"}).status == 415
    assert post("/search", b"q=salt", {"content-length": "6"}).status == 415
    assert post("/search", b"q=" + b"a" * 70_000, FORM).status == 413
    assert post("/cached/00", b"q=salt", FORM).status in (404, 405)
