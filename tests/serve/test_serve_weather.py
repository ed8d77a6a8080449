"""The weather: of a service that was chosen, here or at a place that is named; honest about what does not answer."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest
from asgi_caller import get
from fake_searcher import FakeSearcher

from periplus.app import fetch_service
from periplus.serve import Actions, make_app
from periplus.serve.instant.weather import parse_weather
from periplus.settings import FetchSettings, ServeSettings

GOOD = b'{"current": {"temperature_2m": 11.4, "weather_code": 61, "wind_speed_10m": 23.0}}'


@contextlib.contextmanager
def answering(answers: list[tuple[int, bytes]]) -> Iterator[tuple[str, list[str]]]:
    """Serve the first of `answers`, which may change; give the address and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(answers[0][0])
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(answers[0][1])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


Service = tuple[str, list[str], list[tuple[int, bytes]]]
"""Its address, what it was asked, and what it answers."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A weather service."""
    answers = [(200, GOOD)]
    with answering(answers) as (url, asked):
        yield f"{url}/now?at={{latitude}},{{longitude}}", asked, answers


def test_the_weather_comes_from_the_service_that_was_chosen(service: Service) -> None:
    address, asked, answers = service
    allowed = FetchSettings(allow=("127.0.0.0/8",))
    actions = Actions(fetch=lambda url: fetch_service(url, allowed))
    app = make_app(FakeSearcher(), ServeSettings(threads=1, weather=address), actions)
    found = get(app, "/api/weather?latitude=54.3217&longitude=-10.06")
    assert found.json == {"degrees": 11.4, "sky": "rain", "wind": 23.0, "text": "11 °C, rain, wind 23 km/h"}
    assert get(app, "/api/weather?latitude=54.3&longitude=-10.1&hl=de").json["text"] == "11 °C, Regen, Wind 23 km/h"
    assert asked == ["/now?at=54.3,-10.1"], "rounded, and asked once"
    answers[0] = (200, b'{"current": {}}')
    assert get(app, "/api/weather?latitude=1&longitude=1").status == 502
    answers[0] = (200, b"x" * 200_000)
    assert get(app, "/api/weather?latitude=2&longitude=1").status == 502
    for given in ("", "latitude=91&longitude=0", "latitude=x&longitude=0", "latitude=nan&longitude=0"):
        assert get(app, f"/api/weather?{given}").status == 400
    assert 'id="weather"' in get(app, "/search?q=Weather").text
    assert 'id="weather"' not in get(app, "/search?q=weather+in+novels").text


@pytest.fixture
def atlas() -> Iterator[Service]:
    """A service for names of places."""
    answers = [(200, FOUND)]
    with answering(answers) as (url, asked):
        yield f"{url}/find?name={{name}}&in={{language}}", asked, answers


FOUND = (
    b'{"results": [{"id": 1, "name": "Ouessant", "latitude": 48.4588, "longitude": -5.0966, "country": "France", '
    b'"admin1": "Brittany"}, {"name": "Other", "latitude": 1, "longitude": 2}]}'
)


def test_the_weather_of_a_place_that_is_named(service: Service, atlas: Service) -> None:
    allowed = FetchSettings(allow=("127.0.0.0/8",))
    settings = ServeSettings(threads=1, weather=service[0], geocoder=atlas[0])
    app = make_app(FakeSearcher(), settings, Actions(fetch=lambda url: fetch_service(url, allowed)))
    found = get(app, "/api/weather?place=%C3%8Ele+d%27Ouessant%26x%3D%23&hl=fr")
    assert found.json == {
        "degrees": 11.4,
        "sky": "rain",
        "wind": 23.0,
        "place": "Ouessant, Brittany, France",
        "text": "Ouessant, Brittany, France: 11 °C, pluie, vent 23 km/h",
    }
    assert atlas[1] == ["/find?name=%C3%8Ele%20d%27Ouessant%26x%3D%23&in=fr"], (
        "quoted, so that it is nothing but a name"
    )
    assert service[1] == ["/now?at=48.5,-5.1"], "rounded too"
    get(app, "/api/weather?place=%C3%AEle+d%27Ouessant%26x%3D%23&hl=fr")
    assert len(atlas[1]) == len(service[1]) == 1, "both are remembered"
    page = get(app, "/weather?place=Ushant")
    assert page.status == 200
    assert "Ouessant, Brittany, France: 11 °C, rain, wind 23 km/h" in page.text
    atlas[2][0] = (200, b'{"generationtime_ms": 0.3}')
    for _ in range(3):
        unknown = get(app, "/api/weather?place=Xyzzy")
        assert (unknown.status, unknown.json["error"]) == (404, "This place is unknown.")
    assert atlas[1][2:] == ["/find?name=Xyzzy&in=en"], "that there is none is remembered for a while"
    shown = get(app, "/weather?place=Xyzzy&hl=de")
    assert (shown.status, "Dieser Ort ist unbekannt." in shown.text) == (404, True)
    for number, answer in enumerate(
        [(200, b"{"), (200, b'{"results": 5}'), (500, FOUND), (200, b"x" * 200_000), (200, BEYOND), (200, b"\xff" * 9)]
    ):
        atlas[2][0] = answer
        failed = get(app, f"/api/weather?place=Place{number}")
        assert (failed.status, failed.json["error"]) == (502, "The geocoding service does not answer.")
    assert get(app, "/api/weather?place=%00%20").status == 400
    atlas[2][0] = (200, FOUND)
    assert get(app, "/api/weather?place=" + "a" * 5000).status == 200
    assert atlas[1][-1] == f"/find?name={'a' * 80}&in=en"


BEYOND = b'{"results": [{"name": "Nowhere", "latitude": 480, "longitude": 0}]}'


def test_places_are_offered_only_where_there_is_a_service_for_them(service: tuple[str, list[str], Any]) -> None:
    fetch = Actions(fetch=lambda url: None)
    here = make_app(FakeSearcher(), ServeSettings(threads=1, weather=service[0]), fetch)
    there = make_app(
        FakeSearcher(), ServeSettings(threads=1, weather=service[0], geocoder="http://x.test/{name}"), fetch
    )
    none = make_app(FakeSearcher(), ServeSettings(threads=1, geocoder="http://x.test/{name}"), fetch)
    for words, place in (
        ("weather in Ushant", "Ushant"),
        ("Wetter heute in Bad Tölz", "Bad Tölz"),
        ("météo à Brest", "Brest"),
        ("el tiempo en Vigo", "Vigo"),
        ("weather Ushant", "Ushant"),
        ("Ushant weather", "Ushant"),
    ):
        target = "/search?q=" + quote(words)
        assert f'name="place" required maxlength="80" value="{place}"' in get(there, target).text
        assert 'id="weather"' not in get(here, target).text
        assert 'id="weather"' not in get(none, target).text
    assert 'name="place"' in get(there, "/search?q=weather").text
    assert 'name="place"' not in get(here, "/search?q=weather").text
    assert 'id="weather"' not in get(there, "/search?q=whether+in+Ushant").text
    assert get(here, "/api/weather?place=Ushant").status == 501
    assert get(here, "/weather?place=Ushant").status == 501
    assert get(none, "/weather?place=Ushant").status == 501
    assert get(there, "/weather").status == 200
    assert service[1] == []


def test_the_weather_service_may_not_be_a_private_place_unless_allowed(service: tuple[str, list[str], Any]) -> None:
    address, asked, _ = service
    assert fetch_service(address, FetchSettings()) is None
    assert asked == []


def test_without_a_service_there_is_no_weather() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    assert get(app, "/api/weather?latitude=1&longitude=1").status == 501
    assert 'id="weather"' not in get(app, "/search?q=weather").text


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"current":{"temperature_2m":"11"}}', b'{"current":{"temperature_2m":1e9}}', b"\xff" * 9],
)
def test_weather_that_makes_no_sense_is_none(body: bytes) -> None:
    assert parse_weather(body) is None
