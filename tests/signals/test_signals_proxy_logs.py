"""Logs of proxies: which lines are visits to pages, and what a file that is no log comes to."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.cli import main
from periplus.errors import BadFile
from periplus.signals import import_proxy_logs
from periplus.signals.proxy_logs import _read_line, read_proxy_log
from periplus.signals.visit_reports import LogPosition, read_visit_reports

COMMON = b"""\
10.0.0.7 - anna [10/Oct/2025:13:55:36 +0200] "GET http://a.test/page?x=1 HTTP/1.1" 200 2326
10.0.0.8 - - [10/Oct/2025:13:56:36 +0200] "GET http://a.test/page?x=1 HTTP/1.1" 304 0 "http://b.test/" "Mozilla/5.0"
10.0.0.8 - - [10/Oct/2025:13:57:36 +0200] "POST http://a.test/form HTTP/1.1" 200 17
10.0.0.8 - - [10/Oct/2025:13:57:36 +0200] "CONNECT secret.test:443 HTTP/1.1" 200 17
10.0.0.8 - - [10/Oct/2025:13:57:36 +0200] "GET http://a.test/none HTTP/1.1" 404 17
10.0.0.8 - - [10/Oct/2025:13:57:36 +0200] "GET /relative HTTP/1.1" 200 17
this line is damaged
"""
SQUID = b"""\
1760097336.603    310 192.168.0.27 TCP_MISS/200 4334 GET http://a.test/squid - HIER_DIRECT/1.2.3.4 text/html
1760097337.001      9 192.168.0.27 TCP_MEM_HIT/200 4334 GET http://a.test/squid - HIER_NONE/- text/html
1760097338.001      9 192.168.0.27 TCP_MISS/200 99 GET http://a.test/logo.png - HIER_DIRECT/1.2.3.4 image/png
1760097338.001      9 192.168.0.27 TCP_TUNNEL/200 99 CONNECT b.test:443 - HIER_DIRECT/1.2.3.4 -
"""


def test_both_formats_are_read_and_nobody_is_named(tmp_path):
    (tmp_path / "access.log").write_bytes(COMMON)
    (tmp_path / "squid.log.gz").write_bytes(gzip.compress(SQUID))
    assert import_proxy_logs(tmp_path / "data", [tmp_path / "access.log", tmp_path / "squid.log.gz"]) == (3, 0)
    found, _ = read_visit_reports(tmp_path / "data", LogPosition())
    assert {(sighting.url, sighting.count, int(sighting.when)) for sighting in found} == {
        ("http://a.test/page?x=1", 1, 1760097336),
        ("http://a.test/page?x=1", 1, 1760097396),
        ("http://a.test/squid", 2, 1760097337),
    }
    one, two = (sighting.source for sighting in found if sighting.url.endswith("?x=1"))
    assert 0 < one < 64
    assert 0 < two < 64
    assert one != two
    queue = b"".join(path.read_bytes() for path in (tmp_path / "data" / "passive").glob("*.log"))
    assert b"10.0.0" not in queue
    assert b"anna" not in queue


@pytest.mark.parametrize("data", [b"", b"a,b,c\n1,2,3\n" * 2_000, b"\0" * 50_000, b"GET http://a.test/\n"])
def test_what_is_no_log_is_refused(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(BadFile, match="not a proxy log"):
        list(read_proxy_log(tmp_path / "x"))


@given(st.binary(max_size=300))
def test_any_line_is_read(line):
    _read_line(line)
    _read_line(b'1 - - [10/Oct/2025:13:55:36 +0200] "GET ' + line + b'" 200 ')


def test_long_lines_do_not_take_long():
    for line in (b"x x [" * 2_000, b"x x " + b"[" * 8_000, b"1.1 " * 2_000, b'x x x[1] "GET ' + b"a" * 8_000):
        assert _read_line(line) == (False, None)


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.log").write_bytes(COMMON)
    assert main(["import", "--proxy-log", "access.log"]) == 0
    assert "2 reports of visited pages" in capsys.readouterr().out
    assert read_visit_reports(tmp_path / "periplus-data", LogPosition())[0][0].url == "http://a.test/page?x=1"
    assert main(["import"]) == 1
    assert "nothing to import" in capsys.readouterr().err
    assert main(["import", "--proxy-log", "none.log"]) == 1
