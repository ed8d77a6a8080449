"""A real object store on loopback: moto's S3 over HTTP, which can be stopped, started and made to misbehave."""

import socket
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

Environ = dict[str, Any]
Answer = tuple[str, list[tuple[str, str]], bytes]
Handler = Callable[[], Answer]
Fault = Callable[[Environ, Handler], Answer | None]
"""What happens to a request: called with it and what would handle it; None drops the connection."""

SIGNED = "AWS4-HMAC-SHA256 Credential=key/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


class _QuietHandler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *args: object) -> None:
        """Write nothing."""


class ObjectStoreServer:
    """The server; its objects outlive `stop`."""

    def __init__(self) -> None:
        self._application = DomainDispatcherApplication(create_backend_app)
        self._server: BaseWSGIServer | None = None
        self._port = 0
        self.fault: Fault | None = None
        self.requests: list[str] = []
        self._lock = threading.Lock()
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._server = make_server("127.0.0.1", self._port, self._serve, threaded=True, request_handler=_QuietHandler)
        self._server.daemon_threads = True
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def make_bucket(self, name: str) -> None:
        request = urllib.request.Request(
            f"{self.endpoint}/{name}", method="PUT", headers={"Authorization": SIGNED, "Host": "s3.amazonaws.com"}
        )
        urllib.request.urlopen(request).read()

    def _serve(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")

        def handle() -> Answer:
            answer: list[Any] = []
            with self._lock:  # moto checks a condition and writes in two steps, S3 does both at once
                body = b"".join(
                    self._application(environ, lambda status, headers, _=None: answer.extend((status, headers)))
                )
            return answer[0], answer[1], body

        result = self.fault(environ, handle) if self.fault is not None else handle()
        if result is None:
            _drop(environ["werkzeug.socket"])
            return []
        start_response(*result[:2])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [result[2]]


def refusal(status: str, code: str = "InternalError") -> Answer:
    """Return an error in the form of the protocol."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode()
    return status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))], body


def with_body(answer: Answer, body: bytes) -> Answer:
    """Return an answer with other bytes, and a length to match: a store that lies."""
    headers = [(name, value) for name, value in answer[1] if name.lower() not in ("content-length", "content-range")]
    size = len(body)
    headers += [("Content-Length", str(size)), ("Content-Range", f"bytes 0-{max(size - 1, 0)}/{size}")]
    return answer[0], headers, body


def _drop(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def run_server() -> Iterator[ObjectStoreServer]:
    server = ObjectStoreServer()
    yield server
    server.stop()
