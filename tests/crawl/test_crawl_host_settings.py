"""Settings of single hosts: credentials, proxies, delays, limits, filters; and secrets that appear nowhere else."""

import base64
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
from scripted_web import ScriptedWeb

from periplus.crawl import Crawler, require_contact
from periplus.crawl.hosts.host_limits import Hold, HostLimits
from periplus.crawl.policies.host_table import HostTable
from periplus.errors import SettingsError
from periplus.records import FetchRecord, Outcome
from periplus.settings import FetchSettings, FrontierSettings, HostSettings, Settings, load
from periplus.store import PageStore
from periplus.url import parse_address

SECRET = "open-sesame-4711"


def with_hosts(settings: Settings, **hosts: HostSettings) -> Settings:
    return msgspec.structs.replace(settings, host={f"{name}.test": own for name, own in hosts.items()})


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def warc_text(folder: Path) -> bytes:
    import gzip

    return b"".join(gzip.decompress(path.read_bytes()) for path in (folder / "store").glob("*.warc.gz"))


def test_credentials_reach_their_host_only_and_are_not_stored(scripted: ScriptedWeb, tmp_path: Path) -> None:
    scripted.put("http://a.test/", "<a href='http://b.test/'>b</a><p>words", Set_Cookie=f"sid={SECRET}")
    scripted.put("http://b.test/", "<p>other words")
    own = HostSettings(
        headers={"X-Team": SECRET}, cookies={"s": SECRET}, user="u", password=SECRET, over_http=True, scope="always"
    )
    settings = scripted.settings(tmp_path, "a.test", "b.test", scope="web")
    settings = msgspec.structs.replace(
        with_hosts(settings, a=own), store=msgspec.structs.replace(settings.store, warc="gzip")
    )
    Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    sent = dict(zip(scripted.requests, scripted.headers, strict=True))
    token = base64.b64encode(f"u:{SECRET}".encode()).decode()
    assert sent["http://a.test/"]["Authorization"] == f"Basic {token}"
    assert (sent["http://a.test/"]["Cookie"], sent["http://a.test/"]["X-Team"]) == (f"s={SECRET}", SECRET)
    assert not {"Authorization", "Cookie", "X-Team"} & set(sent["http://b.test/"])
    written = all_bytes(tmp_path / "data") + warc_text(tmp_path / "data")
    assert b"words" in written
    assert SECRET.encode() not in written
    assert token.encode() not in written
    assert SECRET not in repr(settings)


def test_secrets_need_https_and_the_default_port() -> None:
    own = {"a.test": HostSettings(cookies={"s": "1"}), "*.b.test": HostSettings(user="u", over_http=True)}
    table = HostTable(own)

    def names(url: str) -> list[str]:
        return [name for name, _ in table.options(parse_address(url)).headers]

    assert names("https://a.test/") == ["Cookie"]
    assert names("http://a.test/") == names("https://a.test:8443/") == names("https://x.a.test/") == []
    assert names("http://deep.x.b.test/") == names("https://x.b.test/") == ["Authorization"]
    assert names("http://b.test/") == []


def test_a_password_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("geheim\nnot this\n")
    table = HostTable({"a.test": HostSettings(user="u", password_file=str(file))})
    (header,) = table.options(parse_address("https://a.test/")).headers
    assert base64.b64decode(header[1].split()[1]) == b"u:geheim"
    for text in (b"", b"\xff\xfe", b"a\x00b"):
        file.write_bytes(text)
        with pytest.raises(SettingsError, match="password_file"):
            HostTable({"a.test": HostSettings(user="u", password_file=str(file))})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[host."a b"]\ndelay = 1', "not the name of a host"),
        ('[host."http://a.test"]\ndelay = 1', "not the name of a host"),
        ('[host."a.test"]\npasword = "x"', "unknown setting 'pasword'"),
        ('[host."a.test"]\ndelay = "soon-4711"', "wrong value"),
        ('[host."a.test"]\nheaders = { X-A = "1\\r\\nX-Evil: 4711" }', "not a header of one line"),
        ('[host."a.test"]\nheaders = { User-Agent = "4711" }', "cannot be set here"),
        ('[host."a.test"]\ncookies = { s = "4711; t=1" }', "not a cookie"),
        ('[host."a.test"]\npassword = "4711"', "needs a user"),
        ('[host."a.test"]\nproxy = "file:///4711"', "not a URL of scheme http"),
        ('[host."*"]\nuser = "4711"', "named hosts only"),
        ("host = 3", "not a table of hosts"),
        ('[host]\n"a.test" = 3', "not a table of hosts"),
    ],
)
def test_bad_host_settings_are_named_and_not_shown(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "periplus.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        HostTable(load(file, {}).host)
    assert says in str(caught.value)
    assert "4711" not in str(caught.value)


def test_limits_filters_and_scope_of_one_host(scripted: ScriptedWeb, tmp_path: Path) -> None:
    links = "".join(f"<a href='/{part}/{n}'>x</a>" for part in ("in", "out") for n in range(6))
    for host in ("a", "b", "c"):
        others = "<a href='http://b.test/'>b</a><a href='http://c.test/'>c</a>"
        scripted.put(f"http://{host}.test/", f"<p>{host}{others}{links}")
        for part in ("in", "out"):
            for n in range(6):
                scripted.put(f"http://{host}.test/{part}/{n}", f"<p>{host} {part} {n} of its own")
    settings = scripted.settings(tmp_path, "a.test", "b.test", "c.test", scope="host")
    settings = with_hosts(
        settings,
        a=HostSettings(exclude=("/out/",)),
        b=HostSettings(scope="always", pages=3),
        c=HostSettings(scope="never"),
    )
    statistics = Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    asked = [url for url in scripted.requests if "no-such" not in url]
    assert sorted(url for url in asked if "a.test" in url) == sorted(
        ["http://a.test/", *(f"http://a.test/in/{n}" for n in range(6))]
    )
    assert sum("b.test" in url for url in asked) == 3
    assert not any("c.test" in url for url in asked)
    assert any("crawl.host_pages" in note and "b.test" in note for note in statistics.notes)


def test_an_absurd_crawl_delay_parks_the_host_and_names_it(scripted: ScriptedWeb, tmp_path: Path) -> None:
    scripted.put("http://a.test/robots.txt", "User-agent: *\nCrawl-delay: 86400\n", "text/plain")
    scripted.put("http://a.test/", "<p>never")
    scripted.put("http://b.test/", "<p>words")
    settings = scripted.settings(tmp_path, "a.test", "b.test")
    frontier = FrontierSettings(delay=0.01, delay_factor=0, max_crawl_delay=60)
    settings = msgspec.structs.replace(settings, frontier=frontier)
    statistics = Crawler(tmp_path / "data", settings, ["http://a.test/", "http://b.test/"]).run()
    assert scripted.requests == ["http://b.test/"]
    assert any("a.test" in note and "frontier.max_crawl_delay" in note for note in statistics.notes)


def record(number: int, when: float, size: int = 10) -> FetchRecord:
    return FetchRecord(f"http://a.test/{number}", number, Outcome.OK, when, bytes=size)


def test_bytes_and_requests_of_a_day() -> None:
    own = {"a.test": HostSettings(bytes=25, per_day=2)}
    settings = Settings(host=own)
    limits = HostLimits(settings, HostTable(own))
    day = 86_400.0 * 20_000
    limits.count(record(1, day), "a.test")
    limits.count(FetchRecord("http://a.test/x", 9, Outcome.ROBOTS, day), "a.test")
    assert not limits.holds("a.test", 1, None, day)
    limits.count(record(2, day + 1), "a.test")
    assert limits.holds("a.test", 2, None, day + 86_399)
    assert limits.held == {"a.test": Hold.DAY}
    assert not limits.holds("a.test", 2, None, day + 86_400)
    limits.count(record(3, day + 86_400), "a.test")
    assert limits.holds("a.test", 3, None, day + 86_400)
    assert "crawl.host_bytes" in limits.notes()[0]


def test_a_daily_budget_holds_over_runs(scripted: ScriptedWeb, tmp_path: Path) -> None:
    scripted.put("http://a.test/", "".join(f"<a href='/{n}'>x</a>" for n in range(9)))
    for n in range(9):
        scripted.put(f"http://a.test/{n}", f"<p>page {n} has words")
    settings = scripted.settings(tmp_path, "a.test", host_requests_per_day=4)
    for _ in range(2):
        statistics = Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
        assert len(scripted.requests) == 4
        assert any("used up the requests of today" in note for note in statistics.notes)


def test_a_crawl_stops_at_a_number_of_bytes(scripted: ScriptedWeb, tmp_path: Path) -> None:
    scripted.put("http://a.test/", "".join(f"<a href='/{n}'>x</a>" for n in range(30)))
    for n in range(30):
        scripted.put(f"http://a.test/{n}", f"<p>{n} " + "words " * 200)
    statistics = Crawler(
        tmp_path / "data", scripted.settings(tmp_path, "a.test", bytes=5_000), ["http://a.test/"]
    ).run()
    assert 5_000 <= statistics.bytes < 7_500
    assert statistics.waiting > 10


class Proxy:
    """An HTTP proxy that answers by itself, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        asked = self.asked

        class Talk(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("Proxy-Authorization", "")))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                if not self.path.endswith("robots.txt"):
                    self.wfile.write(
                        b"<p>by proxy<a href='http://10.0.0.1/'>inside</a><a href='http://others.org/'>others</a>"
                    )

            def log_message(self, *words: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Talk)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


def test_a_proxy_is_used_for_its_hosts_and_opens_no_private_address(tmp_path: Path) -> None:
    proxy = Proxy()
    own = HostSettings(proxy=f"http://me:{SECRET}@127.0.0.1:{proxy.server.server_address[1]}")
    settings = ScriptedWeb().settings(tmp_path, scope="web")
    fetch = FetchSettings(hosts_file=settings.fetch.hosts_file)  # without fetch.allow: the proxy is not a page
    settings = msgspec.structs.replace(
        settings, fetch=fetch, host=dict.fromkeys(("a.test", "10.0.0.1", "others.org"), own)
    )
    statistics = Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    proxy.server.shutdown()
    assert [path for path, _ in proxy.asked] == ["http://a.test/robots.txt", "http://a.test/"]
    assert all(token for _, token in proxy.asked)
    assert (statistics.pages, statistics.errors) == (1, {"forbidden-address": 2})  # others need fetch.contact
    assert SECRET.encode() not in all_bytes(tmp_path / "data")


@pytest.mark.parametrize(
    ("seed", "foreign"),
    [
        ("http://www.wikipedia.org/", True),
        ("http://8.8.8.8/", True),
        ("http://[2606:4700::1111]/", True),
        ("http://127.0.0.1:8080/", False),
        ("http://10.1.2.3/", False),
        ("http://[::1]/", False),
        ("http://localhost:8000/", False),
        ("http://wiki/", False),
        ("http://wiki.test/", False),
        ("http://printer.local/", False),
        ("http://mapped.org/", False),
        ("http://docs.mine.org/", False),
        ("http://notmine.org/", True),
    ],
)
def test_hosts_of_others_need_a_contact(tmp_path: Path, seed: str, foreign: bool) -> None:
    (tmp_path / "hosts").write_text("127.0.0.1 mapped.org\n")
    settings = FetchSettings(hosts_file=str(tmp_path / "hosts"), own_hosts=("mine.org",))
    if foreign:
        with pytest.raises(SettingsError, match=r"fetch\.contact"):
            require_contact([parse_address(seed)], settings)
    else:
        require_contact([parse_address(seed)], settings)
    for told in ({"contact": "me@mine.org"}, {"user_agent": "Mine/1 (+https://mine.org/bot)"}):
        require_contact([parse_address(seed)], msgspec.structs.replace(settings, **told))


def test_the_contact_is_in_every_request_and_links_to_others_are_refused(scripted: ScriptedWeb, tmp_path: Path) -> None:
    scripted.put("http://a.test/", "<p>words<a href='http://192.0.66.1/'>elsewhere</a>")
    settings = scripted.settings(tmp_path, "a.test", scope="web")
    statistics = Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    assert statistics.errors == {"forbidden-address": 1}
    fetch = msgspec.structs.replace(settings.fetch, contact="https://mine.org/bot")
    told = msgspec.structs.replace(settings, fetch=fetch, crawl=msgspec.structs.replace(settings.crawl, scope="host"))
    Crawler(tmp_path / "more", told, ["http://a.test/"]).run()
    assert scripted.headers[0]["User-Agent"] == "PeriplusBot/0.1"
    assert scripted.headers[-1]["User-Agent"] == "PeriplusBot/0.1 (+https://mine.org/bot)"
    with PageStore.open(tmp_path / "more" / "store", told.store) as store:
        assert store.statistics().pages == 1
