"""The front: names we go by, how often one may ask, headers, figures, the log; and attempts to get past it."""

import json
import logging
import math
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from asgi_caller import call, get
from fake_searcher import FakeSearcher
from prometheus_client.parser import text_string_to_metric_families

from periplus.serve import make_app
from periplus.serve.middleware.client_address import client_network
from periplus.serve.middleware.rate_limit import RateLimit
from periplus.serve.server_metrics import BUCKETS
from periplus.settings import ServeSettings

APP = make_app(FakeSearcher(), ServeSettings(threads=1))


@pytest.mark.parametrize(
    ("settings", "host", "status"),
    [
        (ServeSettings(), "127.0.0.1:8080", 200),
        (ServeSettings(), "localhost:8080", 200),
        (ServeSettings(), "[::1]:8080", 200),
        (ServeSettings(), "192.168.1.5", 200),
        (ServeSettings(), "evil.example", 421),
        (ServeSettings(), "127.0.0.1.evil.example", 421),
        (ServeSettings(), "localhost.evil.example:80", 421),
        (ServeSettings(), "", 421),
        (ServeSettings(), "a b", 421),
        (ServeSettings(), "x\r\ny", 421),
        (ServeSettings(host_names=("search.example",)), "Search.Example", 200),
        (ServeSettings(host_names=("search.example",)), "other.example", 421),
        (ServeSettings(host="0.0.0.0"), "any.example", 200),
        (ServeSettings(host="0.0.0.0", host_names=("mine.example",)), "any.example", 421),
        (ServeSettings(host="me.example"), "me.example:8080", 200),
    ],
)
def test_it_goes_by_its_own_names_only(settings: ServeSettings, host: str, status: int) -> None:
    app = make_app(FakeSearcher(), settings)
    assert get(app, "/api/search?q=salt", headers={"host": host}).status == status


async def ask(app: object, client: str, target: str = "/api/search?q=salt", **headers: str) -> int:
    return (await call(app, target, headers=headers, client=client)).status  # type: ignore[arg-type]


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a rate of a hundredth, four requests at once, and for a long time no more: however slow the machine is."""
    monkeypatch.setattr("periplus.serve.middleware.rate_limit._BURST_SECONDS", 400.0)


@pytest.mark.usefixtures("_few")
def test_one_address_may_ask_only_so_often() -> None:
    app = make_app(FakeSearcher(), ServeSettings(rate=0.01))
    answers = [get_from(app, "203.0.113.5") for _ in range(8)]
    assert answers[:4] == [200] * 4
    assert answers[4:] == [429] * 4
    assert get_from(app, "203.0.113.6") == 200, "another address is another client"
    assert [get_from(app, "127.0.0.1") for _ in range(20)] == [200] * 20, "this machine itself is not limited"
    assert [get_from(app, "203.0.113.5", "/healthz") for _ in range(10)] == [200] * 10


def get_from(app: object, client: str, target: str = "/api/search?q=salt", **headers: str) -> int:
    import asyncio

    return asyncio.run(ask(app, client, target, **headers))


@pytest.mark.usefixtures("_few")
def test_behind_a_proxy_the_client_is_the_one_it_names() -> None:
    app = make_app(FakeSearcher(), ServeSettings(rate=0.01, behind_proxy=True))
    seen = {"x-forwarded-for": "10.0.0.1, 198.51.100.7"}
    assert 429 in [get_from(app, "127.0.0.1", **seen) for _ in range(8)]
    assert get_from(app, "127.0.0.1", **{"x-forwarded-for": "10.0.0.1, 198.51.100.8"}) == 200


def test_rate_limits_use_bounded_memory() -> None:
    limit = RateLimit(1.0)
    for n in range(60_000):
        limit.wait(str(n))
    assert len(limit._buckets) <= 50_000
    assert RateLimit(0.0).wait("x") == 0.0
    assert client_network("2001:db8:1:2:3::4") == client_network("2001:db8:1:2:ffff::9"), "one network is one client"
    assert client_network("nonsense") == "unknown"


def test_every_answer_is_guarded() -> None:
    for target in ("/", "/search?q=x", "/api/search?q=x", "/nowhere", "/cached/x", "/admin", "/openapi.json"):
        headers = get(APP, target).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_the_cached_copy_is_in_a_sandbox() -> None:
    from fake_searcher import hit

    from periplus.records import Query

    answer = get(APP, f"/cached/{hit(0, Query('salt')).key:016x}")
    assert answer.headers["content-security-policy"].startswith("sandbox allow-forms;")
    assert "<script" not in answer.text


ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "javascript:alert(1)",
    "{{7919*7919}}${7919*7919}<%= 7919*7919 %>",
    "</title><svg onload=alert(1)>",
    "\u2028</script>",
]
PLACES = [
    *(
        "/search?q={}",
        "/search?q=salt&site={}",
        "/search?q=salt&lang={}",
        "/search?q=salt&hl={}",
        "/search?q=salt&tab={}",
    ),
    *("/search?q=salt&time_range={}", "/why-not?url={}", "/add?url={}", "/settings?hl={}", "/admin?x={}", "/{}"),
    "/cached/{}",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_is_sent_becomes_markup(place: str, attack: str) -> None:
    answer = get(APP, place.format(quote(attack, safe="")))
    assert answer.status in (200, 400, 404)
    assert attack not in answer.text or "<" not in attack
    assert not re.search(r"<(?:img|svg on|script>)", answer.text)
    assert 'href="javascript:' not in answer.text
    assert "62710561" not in answer.text


@pytest.mark.parametrize("target", ["/search?q=a%0d%0aX-Evil:+1", "/%0d%0aX-Evil:%201", "/cached/%0d%0aX-Evil:1"])
def test_no_header_can_be_smuggled(target: str) -> None:
    answer = get(APP, target)
    assert not any("evil" in name.lower() or "\n" in value or "\r" in value for name, value in answer.headers.items())


@pytest.mark.parametrize("target", ["//evil.example", "/search?q=", "/search?q=&next=https://evil.example", "/admin"])
def test_redirects_stay_here(target: str) -> None:
    answer = get(APP, target)
    assert re.fullmatch(r"/\w*", answer.headers.get("location", "/"))


def test_a_page_status_sends_no_request() -> None:
    """Only the index and the store are looked at: an address of the inside is a word like any other."""
    for url in (
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:22/",
        "file:///etc/passwd",
        "gopher://x.y/",
    ):
        answer = get(APP, "/why-not?url=" + quote(url))
        assert answer.status in (200, 400)
        assert "root:" not in answer.text


def test_the_log_says_nothing_about_who_or_what(tmp_path: Path) -> None:
    app = make_app(FakeSearcher(), ServeSettings(access_log=str(tmp_path / "access.log")))
    get(app, "/search?q=secret+words")
    get_from(app, "203.0.113.77", "/nowhere/private")
    app.close()
    text = (tmp_path / "access.log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["route"], line["status"]) for line in lines] == [("/search", 200), ("other", 404)]
    assert set(lines[0]) == {"time", "route", "method", "status", "ms", "bytes", "cached"}
    for private in ("secret", "203.0.113", "private"):
        assert private not in text


def test_a_log_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    app = make_app(FakeSearcher(), ServeSettings(access_log=str(tmp_path / "no" / "such.log")))
    assert get(app, "/search?q=x").status == 200
    app.close()


def test_figures_are_for_prometheus() -> None:
    app = make_app(FakeSearcher(), ServeSettings())
    for _ in range(3):
        get(app, "/search?q=salt")
    get(app, '/x"{evil}')
    text = get(app, "/metrics").text
    assert 'periplus_requests_total{route="/search",status="200"} 3' in text
    assert 'periplus_requests_total{route="other",status="404"} 1' in text
    assert "periplus_cache_hits_total 2" in text
    assert 'le="+Inf"} 4' in text
    assert "evil" not in text
    for line in text.splitlines():
        assert re.fullmatch(r"#.*|\w+(\{[^}]*\})? [-+.0-9e]+", line)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert all(family.documentation and family.samples for family in families.values())
    assert {family.type for family in families.values()} == {"counter", "gauge", "histogram"}
    requests = {(row.labels["route"], row.labels["status"]): row.value for row in families["periplus_requests"].samples}
    assert requests == {("/search", "200"): 3, ("other", "404"): 1}
    samples = families["periplus_request_seconds"].samples
    buckets = [(float(row.labels["le"]), row.value) for row in samples if row.name.endswith("_bucket")]
    assert [edge for edge, _ in buckets] == [*BUCKETS, math.inf]
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    assert next(row.value for row in samples if row.name.endswith("_count")) == buckets[-1][1] == 4


def test_readiness() -> None:
    assert get(APP, "/readyz").json["status"] == "ready"
    empty = get(make_app(FakeSearcher(documents=0, total=0), ServeSettings()), "/readyz")
    assert (empty.status, empty.json["status"]) == (503, "empty")


def test_the_description_names_what_there_is(caplog: pytest.LogCaptureFixture) -> None:
    found = get(APP, "/openapi.json").json
    assert found["openapi"].startswith("3.1")
    for path, methods in found["paths"].items():
        for method in methods:
            with caplog.at_level(logging.CRITICAL):
                status = get(APP, path.replace("{id}", "0" * 16).replace("{word}", "stop"), method.upper()).status
            assert status not in (404, 405, 500), path
    text = get(APP, "/api").text
    assert all(path in text for path in found["paths"])
