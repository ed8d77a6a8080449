"""Names that change their address: the check is at the moment of connecting, so nothing private is ever reached.

The answers of DNS are put into libcurl's own cache, where a resolver would put them.
"""

import socket
import threading

import pycurl
import pytest

from periplus.crawl import Crawler
from periplus.fetch import Fetcher
from periplus.fetch.transfer import Transfer
from periplus.records import FetchRequest, Outcome
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.url import parse_address

PUBLIC, PRIVATE = "127.0.0.1", "127.0.0.77"
ALLOW = (f"{PUBLIC}/32",)


class Service:
    """Answers every request with a page, and counts who connects."""

    def __init__(self, host: str, port: int = 0, keep: bool = False) -> None:
        self._listener = socket.create_server((host, port))
        self.port = self._listener.getsockname()[1]
        self._keep = keep
        self.connections = 0
        self.asked: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with peer:
            while request := peer.recv(65_536):
                path = request.split(b" ")[1].decode()
                self.asked.append(path)
                body = b"" if path == "/robots.txt" else b'<p>page</p><a href="/%dx">more</a>' % len(self.asked)
                close = b"" if self._keep else b"Connection: close\r\n"
                head = b"HTTP/1.1 200 OK\r\n%sContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
                peer.sendall(head % (close, len(body)) + body)
                if not self._keep:
                    return

    def close(self) -> None:
        self._listener.close()


def services_on_one_port(keep: bool = False) -> tuple[Service, Service]:
    """Start a service at each address; a port that is free at one may be in use at the other."""
    for attempt in range(20):
        outside = Service(PUBLIC, keep=keep)
        try:
            return outside, Service(PRIVATE, outside.port)
        except OSError:
            outside.close()
            if attempt == 19:
                raise
    raise AssertionError("not reached")


class Names:
    """What DNS says of one name: one answer after the other, for each request the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[str] = []
        begin = Transfer.begin

        def with_answer(transfer: Transfer, due: FetchRequest, *rest) -> None:
            begin(transfer, due, *rest)
            place = f"{due.address.host}:{due.address.port}"
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            transfer.curl.setopt(pycurl.RESOLVE, [f"-{place}", f"{place}:{answer}"])

        monkeypatch.setattr(Transfer, "begin", with_answer)


@pytest.fixture
def names(monkeypatch):
    return Names(monkeypatch)


@pytest.fixture
def pair():
    outside, inside = services_on_one_port()
    yield outside, inside
    outside.close()
    inside.close()


def fetched_by(fetcher: Fetcher, port: int):
    fetcher.start(FetchRequest(parse_address(f"http://rebind.test:{port}/")))
    ended = []
    while not ended:
        ended = fetcher.poll(5)
    return ended[0]


def test_good_at_first_and_private_then(names, pair):
    outside, inside = pair
    names.answers = [PUBLIC, PRIVATE]
    fetcher = Fetcher(FetchSettings(allow=ALLOW, timeout=60))
    assert fetched_by(fetcher, outside.port).outcome is Outcome.OK
    again = fetched_by(fetcher, outside.port)
    fetcher.close()
    assert again.outcome is Outcome.FORBIDDEN_ADDRESS
    assert PRIVATE in again.error
    assert (outside.connections, inside.connections) == (1, 0)


@pytest.mark.parametrize("answer", [f"{PRIVATE},{PUBLIC}", f"{PUBLIC},{PRIVATE}"])
def test_one_answer_with_both(names, pair, answer):
    outside, inside = pair
    names.answers = [answer]
    fetcher = Fetcher(FetchSettings(allow=ALLOW, timeout=60))
    found = fetched_by(fetcher, outside.port)
    fetcher.close()
    assert inside.connections == 0
    assert (found.outcome, found.ip) == (Outcome.OK, PUBLIC)


def test_the_good_one_does_not_answer_and_the_other_is_private(names):
    inside = Service(PRIVATE)
    names.answers = [f"{PUBLIC},{PRIVATE}"]
    fetcher = Fetcher(FetchSettings(allow=ALLOW, timeout=60))
    with socket.socket() as closed:
        closed.bind((PUBLIC, inside.port))  # ours, so nobody else's, and yet nobody listens
        found = fetched_by(fetcher, inside.port)
    fetcher.close()
    inside.close()
    assert inside.connections == 0
    assert found.outcome in (Outcome.FORBIDDEN_ADDRESS, Outcome.CONNECT)


def test_a_connection_that_is_kept_stays_where_it_was(names):
    outside, inside = services_on_one_port(keep=True)
    names.answers = [PUBLIC, PRIVATE]
    fetcher = Fetcher(FetchSettings(allow=ALLOW, timeout=60))
    outcomes = [fetched_by(fetcher, outside.port).outcome for _ in range(3)]
    fetcher.close()
    outside.close()
    inside.close()
    assert inside.connections == 0
    assert outcomes[0] is Outcome.OK
    assert set(outcomes) <= {Outcome.OK, Outcome.FORBIDDEN_ADDRESS}


def test_a_crawl_whose_host_turns_private_after_robots(names, pair, tmp_path):
    outside, inside = pair
    names.answers = [PUBLIC, PUBLIC, PRIVATE, PUBLIC, PRIVATE]
    settings = Settings(
        fetch=FetchSettings(allow=ALLOW, timeout=60),
        frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.01, max_failures=4, retries=1),
        crawl=CrawlSettings(probe=False),
    )
    final = Crawler(tmp_path / "data", settings, [f"http://rebind.test:{outside.port}/"]).run()
    assert inside.connections == 0
    assert outside.asked[:2] == ["/robots.txt", "/"]
    assert final.errors.get(Outcome.FORBIDDEN_ADDRESS)


def test_a_name_of_this_machine_is_private_too(pair):
    outside, _ = pair
    fetcher = Fetcher(FetchSettings(timeout=60))
    fetcher.start(FetchRequest(parse_address(f"http://localhost:{outside.port}/")))
    ended = []
    while not ended:
        ended = fetcher.poll(5)
    fetcher.close()
    assert ended[0].outcome is Outcome.FORBIDDEN_ADDRESS
    assert outside.connections == 0
