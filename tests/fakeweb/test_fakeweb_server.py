"""The fake web over real sockets, with good and bad visitors."""

import gzip
import http.client
import socket

import pytest
from fakeweb_reading import get
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from periplus.errors import MissingPart, PortInUse
from periplus.fakeweb import FakeWeb, FakeWebPlan, run_in_process, run_in_thread, serve_forever
from periplus.fakeweb.server.listener import bind_addresses

PLAN = FakeWebPlan(seed=4, hosts=5, pages=60, trouble=("broken", "lying"))


@pytest.fixture(scope="module")
def server():
    with run_in_thread(FakeWeb(PLAN), log=True) as running_web:
        yield running_web


def loopback_address(server, name):
    lines = (line.split() for line in server.hosts_file_text().splitlines())
    return next(place.split(":")[0] for place, host in lines if host == name)


def connect(server, name=None):
    name = name or server.web.hosts[0][0]
    return http.client.HTTPConnection(loopback_address(server, name), server.port, timeout=60)


def raw(server, data, name=None):
    """Send bytes, say goodbye, and give all that comes back."""
    with socket.create_connection(
        (loopback_address(server, name or server.web.hosts[0][0]), server.port), 10
    ) as visitor:
        visitor.sendall(data)
        visitor.shutdown(socket.SHUT_WR)
        pieces = []
        while piece := visitor.recv(65_536):
            pieces.append(piece)
        return b"".join(pieces)


def test_hosts_answer_at_their_own_address_on_one_port(server):
    for name, address in server.web.hosts[:5]:
        visitor = http.client.HTTPConnection(address, server.port, timeout=60)
        visitor.request("GET", "/", headers={"Host": name})
        answer = visitor.getresponse()
        assert (answer.status, answer.read()) == (200, get(server.web, f"http://{name}/").body)
        visitor.close()


def test_one_connection_serves_many_requests(server):
    name = server.web.hosts[0][0]
    visitor = connect(server)
    for page in [page for page in server.web.truth().pages if page.url.startswith(f"http://{name}/")][:10]:
        visitor.request(
            "GET", page.url.removeprefix(f"http://{name}"), headers={"Host": name, "Accept-Encoding": "gzip"}
        )
        answer = visitor.getresponse()
        assert gzip.decompress(answer.read()) == get(server.web, page.url).body
    visitor.close()


def test_head_has_headers_and_no_body(server):
    name = server.web.hosts[0][0]
    visitor = connect(server)
    visitor.request("HEAD", "/", headers={"Host": name})
    answer = visitor.getresponse()
    assert answer.getheader("Content-Length") == str(len(get(server.web, f"http://{name}/").body))
    assert answer.read() == b""
    visitor.close()


def test_not_modified_over_the_wire(server):
    name = server.web.hosts[0][0]
    tag = get(server.web, f"http://{name}/").header("etag")
    visitor = connect(server)
    for _ in range(2):
        visitor.request("GET", "/", headers={"Host": name, "If-None-Match": tag})
        answer = visitor.getresponse()
        assert (answer.status, answer.read()) == (304, b"")
    visitor.close()


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"NONSENSE\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"GET nopath HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (b"GET /\x01\n HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd", b"405"),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nHost: nowhere.test\r\nConnection: close\r\n\r\n", b"404"),
    ],
)
def test_bad_requests_get_one_answer(server, request_bytes, status):
    answer = raw(server, request_bytes)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.count(b"HTTP/1.1") == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_any_bytes_leave_the_server_standing(server, data):
    raw(server, data + b"\r\n\r\n")
    name = server.web.hosts[0][0].encode()
    assert raw(server, b"GET / HTTP/1.0\r\nHost: " + name + b"\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_broken_answers_break_the_connection(server):
    visitor = connect(server, "broken-compass.test")
    visitor.request("GET", "/reset", headers={"Host": "broken-compass.test"})
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        visitor.getresponse()
    visitor = connect(server, "broken-compass.test")
    visitor.request("GET", "/truncated", headers={"Host": "broken-compass.test"})
    with pytest.raises(http.client.IncompleteRead):
        visitor.getresponse().read()


def test_a_huge_body_can_be_left_early(server):
    visitor = connect(server, "honest-answers.test")
    visitor.request("GET", "/huge", headers={"Host": "honest-answers.test"})
    assert len(visitor.getresponse().read(1_000_000)) == 1_000_000
    visitor.close()
    test_head_has_headers_and_no_body(server)


def test_requests_are_counted_and_remembered(server):
    name = server.web.hosts[1][0]
    before = server.requests().counts.get(f"http://{name}/count-me", 0)
    visitor = connect(server, name)
    for _ in range(3):
        visitor.request("GET", "/count-me", headers={"Host": f"{name.upper()}:{server.port}"})
        visitor.getresponse().read()
    visitor.close()
    requests = server.requests()
    assert requests.counts[f"http://{name}/count-me"] == before + 3
    mine = [request for request in requests.log if request.url == f"http://{name}/count-me"]
    assert [request.status for request in mine] == [404] * 3
    assert [request.time for request in mine] == sorted(request.time for request in mine)


def test_a_port_in_use_is_one_clear_error(server):
    with pytest.raises(PortInUse, match=str(server.port)), run_in_thread(FakeWeb(PLAN), server.port):
        pass
    with pytest.raises(PortInUse):
        serve_forever(FakeWeb(PLAN), server.port)


def test_an_address_that_is_not_ours_is_one_clear_error():
    with pytest.raises(MissingPart, match=r"192\.0\.2\.1"):
        bind_addresses(["192.0.2.1"])


def test_the_web_runs_in_a_process_of_its_own(tmp_path):
    hosts_file = tmp_path / "hosts"
    web = FakeWeb(PLAN)
    with run_in_process(PLAN, hosts_file, log=True) as apart:
        assert hosts_file.read_text() == apart.hosts_file_text() == web.hosts_file_text(apart.port)
        assert apart.seeds == web.seeds
        name, address = web.hosts[0]
        for tick in range(2):
            visitor = http.client.HTTPConnection(address, apart.port, timeout=60)
            visitor.request("GET", "/", headers={"Host": name})
            assert visitor.getresponse().read() == get(web, f"http://{name}/").body
            visitor.close()
            assert apart.requests().counts == {f"http://{name}/": tick + 1}
            apart.advance()
            web.advance()
        with pytest.raises(PortInUse), run_in_process(PLAN, port=apart.port):
            pass
    with pytest.raises(OSError):
        socket.create_connection((address, apart.port), 1)
