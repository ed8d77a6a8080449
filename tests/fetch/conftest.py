"""A peer on loopback that answers with exactly the bytes a test gives it."""

import socket
import threading
from collections.abc import Iterator

import pytest

from periplus.fetch import Fetcher
from periplus.records import FetchRequest, FetchResult
from periplus.settings import FetchSettings
from periplus.url import parse_address


class Peer:
    """Sends `answers[path]` to a GET of that path, or hangs, or hangs up."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | list[bytes] | None] = {}
        self.requests: list[str] = []
        self.connections = 0
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            try:
                while self._answer(connection):
                    pass
            except OSError:
                pass

    def _answer(self, connection: socket.socket) -> bool:
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(65536)
            if not part:
                return False
            request += part
            if not request.startswith(b"GET "):
                connection.sendall(b"this is no TLS")
                return False
        self.requests.append(request.decode("latin-1"))
        answer = self.answers.get(request.split(b" ")[1].decode(), b"")
        if answer is None:
            self._stop.wait(20)
            return False
        if isinstance(answer, list):
            while not self._stop.is_set():
                connection.sendall(answer[0])
            return False
        connection.sendall(answer)
        return b"content-length" in answer.lower()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._stop.set()
        self._listener.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


class Getter:
    """Fetches one URL to the end with given settings."""

    def __init__(self) -> None:
        self.fetchers: list[Fetcher] = []

    def __call__(self, url: str, accepts=None, any_type=False, as_list=False, headers=(), **settings) -> FetchResult:
        settings.setdefault("allow", ("127.0.0.0/8",))
        more = {} if accepts is None else {"accepts": accepts}
        fetcher = Fetcher(FetchSettings(**settings), **more)
        self.fetchers.append(fetcher)
        fetcher.start(FetchRequest(parse_address(url)), headers, any_type=any_type, as_list=as_list)
        assert fetcher.busy() == 1
        ended: list[FetchResult] = []
        while not ended:
            ended = fetcher.poll(5)
        assert fetcher.busy() == 0
        return ended[0]


@pytest.fixture
def get() -> Iterator[Getter]:
    getter = Getter()
    yield getter
    for fetcher in getter.fetchers:
        fetcher.close()
