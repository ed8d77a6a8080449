"""Trouble hosts misbehave as announced, and always in the same way."""

import gzip
import zlib

import pytest
from fakeweb_reading import Read, decode, get, read

from periplus.fakeweb import TROUBLE, FakeWeb, FakeWebPlan


@pytest.fixture(scope="module")
def troubled():
    return FakeWeb(FakeWebPlan(seed=1, hosts=3, pages=30, trouble=TROUBLE))


def bytes_of(response):
    return b"".join(step.data * min(step.times, 50) for step in response.steps)


def test_kinds_are_switched_one_by_one():
    for kind in TROUBLE:
        web = FakeWeb(FakeWebPlan(seed=1, hosts=3, pages=30, trouble=(kind,)))
        assert set(web.truth().trouble_hosts.values()) == {kind}


def test_slow_hosts_wait(troubled):
    assert get(troubled, "http://slow-ferry.test/").steps[0].pause > 1
    assert any(step.pause and step.times > 1_000 for step in get(troubled, "http://dripping-tap.test/").steps)
    assert get(troubled, "http://silent-bell.test/").steps[0].data == b""


def test_broken_answers_cannot_be_read_whole(troubled):
    host = "http://broken-compass.test"
    assert get(troubled, f"{host}/reset").end == "reset"
    head, _, body = bytes_of(get(troubled, f"{host}/truncated")).partition(b"\r\n\r\n")
    assert f"Content-Length: {2 * len(body)}".encode() in head
    _, _, packed = bytes_of(get(troubled, f"{host}/truncated-gzip")).partition(b"\r\n\r\n")
    with pytest.raises(EOFError):
        gzip.decompress(packed)
    assert not bytes_of(get(troubled, f"{host}/garbage")).startswith(b"HTTP/")
    assert len(bytes_of(get(troubled, f"{host}/endless-headers"))) > 40_000
    assert get(troubled, f"{host}/500").status == 500
    busy = get(troubled, f"{host}/503")
    assert (busy.status, busy.header("retry-after")) == (503, "2")


@pytest.mark.parametrize("host", ["endless-calendar", "session-maze", "deeper-caves", "always-fine"])
def test_traps_never_end(troubled, host):
    seen, at = set(), f"http://{host}.test/"
    for _ in range(200):
        assert at not in seen
        seen.add(at)
        at = next(link for link, _ in reversed(read(troubled, at).links) if link not in seen)


def test_the_session_maze_has_few_pages_under_many_addresses(troubled):
    def text(url):
        page = Read(url)
        page.feed(decode(get(troubled, url)).split("<p><a")[0])
        return page.text

    first = text("http://session-maze.test/room/3?visit=00000001")
    assert text("http://session-maze.test/room/3?visit=00000002") == first


def test_lies(troubled):
    host = "http://honest-answers.test"
    assert get(troubled, f"{host}/photo.html").body.startswith(b"\x89PNG")
    assert get(troubled, f"{host}/page.png").header("content-type") == "image/png"
    bomb = get(troubled, f"{host}/bomb").body
    assert len(bomb) < 500_000
    assert len(zlib.decompressobj(31).decompress(bomb, 60_000_000)) > 49_000_000
    huge = get(troubled, f"{host}/huge")
    assert sum(len(step.data) * step.times for step in huge.steps) > 100_000_000
    assert get(troubled, "http://always-fine.test/robots.txt").status == 200


def test_all_paths_of_trouble_hosts_answer(troubled):
    for host in troubled.truth().trouble_hosts:
        for path in ("/", "/robots.txt", "/999999999999999999999/5/", "/%00", "/\xff", "/a?b=c"):
            response = troubled.response(host, path)
            assert response.steps or response.status in (200, 404)
            assert troubled.response(host, path) == response
