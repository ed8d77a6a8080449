"""Crawls of ftp and gopher servers, from a seed to stored pages that other tools can read."""

import io
import sys
from pathlib import Path

import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from periplus.crawl import Crawler
from periplus.records import Outcome
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.store import PageStore

sys.path.insert(0, str(Path(__file__).parents[1] / "fetch"))
from file_servers import FtpServer, GopherServer


def settings(**crawl) -> Settings:
    return Settings(
        fetch=FetchSettings(allow=("127.0.0.0/8",), timeout=60),
        frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.01, max_failures=3, retries=0),
        crawl=CrawlSettings(**crawl),
    )


@pytest.fixture
def ftp():
    server = FtpServer()
    server.folders["/"] = b"drwxr-xr-x 2 a b 4 Jan 12 2024 pub\n-rw-r--r-- 1 a b 4 Jan 12 2024 secret.txt\n"
    server.folders["/pub"] = b"-rw-r--r-- 1 a b 4 Jan 12 2024 one.txt\n-rw-r--r-- 1 a b 4 Jan 12 2024 two.html\n"
    server.files["/pub/one.txt"] = b"The first file of this server."
    server.files["/pub/two.html"] = b'<title>Two</title><p>A page on ftp with a <a href="three.txt">link</a>.'
    server.files["/pub/three.txt"] = b"The third file, which no listing has."
    server.files["/secret.txt"] = b"Not for robots."
    server.files["/robots.txt"] = b"User-agent: *\nDisallow: /secret"
    yield server
    server.close()


def test_an_ftp_server_is_crawled_as_its_robots_file_allows(ftp, tmp_path, read_stored):
    Crawler(tmp_path / "data", settings(), [ftp.url()]).run()
    visits = {visit.url.removeprefix(ftp.url("")): visit for visit in read_stored(tmp_path / "data", settings())}
    titles = {path: visit.page.title for path, visit in visits.items() if visit.page}
    assert titles["/pub/one.txt"] == "The first file of this server."
    assert titles["/pub/two.html"] == "Two"
    assert "/pub/three.txt" in titles
    assert visits["/secret.txt"].outcome is Outcome.ROBOTS
    assert "RETR secret.txt" not in " ".join(ftp.commands)
    with PageStore.open(tmp_path / "data" / "store", settings().store) as store:
        kept = store.read_response(visits["/pub/one.txt"])
        assert (kept.status, kept.header("content-type"), kept.body) == (200, "text/plain", ftp.files["/pub/one.txt"])


def test_what_came_by_ftp_is_a_resource_to_other_tools(ftp, tmp_path):
    Crawler(tmp_path / "data", settings(), [ftp.url("/pub/one.txt")]).run()
    (path,) = (tmp_path / "data" / "store").glob("*.warc.zst")
    plain = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True).read()
    found = {
        record.rec_headers["WARC-Target-URI"]: (record.rec_type, record.content_type, record.content_stream().read())
        for record in ArchiveIterator(io.BytesIO(plain), check_digests=True)
    }
    assert found[ftp.url("/pub/one.txt")] == ("resource", "text/plain", ftp.files["/pub/one.txt"])


def test_a_second_look_takes_only_what_has_changed(ftp, tmp_path, read_stored):
    Crawler(tmp_path / "data", settings(), [ftp.url("/pub/")]).run()
    before = len(read_stored(tmp_path / "data", settings()))
    again = settings(recrawl=True, recrawl_per_day=10**9)
    Crawler(tmp_path / "data", again).run()
    later = {visit.url.removeprefix(ftp.url("")): visit for visit in read_stored(tmp_path / "data", again)[before:]}
    assert later["/pub/one.txt"].outcome is Outcome.NOT_MODIFIED
    assert later["/pub/"].outcome is Outcome.OK


def test_a_gopher_hole_is_crawled(tmp_path, read_stored):
    gopher = GopherServer()
    here = f"127.0.0.1\t{gopher.port}\r\n"
    gopher.items["/robots.txt"] = b"User-agent: *\nDisallow: /private\n"
    gopher.items[""] = (
        f"iHello\t\t-\t0\r\n1Docs\t/docs\t{here}0No\t/private/x\t{here}7Find\t/find\t{here}.\r\n".encode()
    )
    gopher.items["/docs"] = f"0A text\t/docs/a.txt\t{here}1Up\t\t{here}.\r\n".encode()
    gopher.items["/docs/a.txt"] = b"A text in a hole.\r\n.\r\n"
    try:
        Crawler(tmp_path / "data", settings(), [gopher.url()]).run()
    finally:
        gopher.close()
    visits = {visit.url.removeprefix(gopher.url("")): visit for visit in read_stored(tmp_path / "data", settings())}
    assert visits["/0/docs/a.txt"].page.text == "A text in a hole."
    assert visits["/0/private/x"].outcome is Outcome.ROBOTS
    assert "/private/x" not in gopher.asked
    assert "/find" not in gopher.asked


def test_schemes_can_be_left_out(ftp, scripted, tmp_path):
    scripted.put("http://a.test/", f'<a href="{ftp.url("/pub/")}">files</a>')
    base = scripted.settings(tmp_path, "a.test", scope="web", schemes=("http", "https"))
    Crawler(tmp_path / "data", base, ["http://a.test/"]).run()
    assert ftp.commands == []
    base = scripted.settings(tmp_path, "a.test", scope="web")
    Crawler(tmp_path / "more", base, ["http://a.test/"]).run()
    assert "RETR pub/one.txt" in " ".join(ftp.commands).replace("RETR /", "RETR ")
