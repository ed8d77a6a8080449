"""Build the documentation as a site, crawl and index it with Periplus, and serve both on one loopback address.

    python scripts/site.py              # build/site (pages) and build/site-data (their index)
    python scripts/site.py --serve      # the same, then http://127.0.0.1:8090/docs/ until Ctrl-C

Pages are below /docs/; every other path is answered by `periplus serve`. The index holds the addresses at which the
pages were crawled, so that pages and search have to be served at the port they were built for.
"""

import argparse
import contextlib
import http.client
import http.server
import mimetypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PREFIX: Final = "/docs/"
HOST: Final = "127.0.0.1"
READY_SECONDS: Final = 60.0
POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
)
"""The theme has scripts and styles in its pages; nothing comes from, or goes to, anywhere else."""
HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"})


def main() -> int:
    """Build the site and its index; serve them if asked to."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, default=ROOT / "build", help="folder for site and site-data")
    arguments.add_argument("--port", type=int, default=8090, help="port that the site is for [default: 8090]")
    arguments.add_argument("--serve", action="store_true", help="serve the site and its search afterwards")
    options = arguments.parse_args()
    try:
        build_site(options.output, options.port)
        if options.serve:
            serve(options.output, options.port)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{error.cmd[0]} failed ({error.returncode}).\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"Port {options.port}: {error.strerror}. Choose another one: make site PORT=8091\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def build_site(output: Path, port: int) -> None:
    """Write the pages to `output`/site and their index to `output`/site-data."""
    run("mkdocs", "build", "--strict", "--quiet", "--config-file", ROOT / "mkdocs.yml", "--site-dir", output / "site")
    data = output / "site-data"
    shutil.rmtree(data, ignore_errors=True)
    with serving(output / "site", port) as address:
        run("periplus", "crawl", address, "--folder", data, "--allow", "127.0.0.0/8", "--scope", "host", "--delay", "0")
    run("periplus", "index", "build", "--folder", data)


def run(program: str, *arguments: object) -> None:
    """Run a program of the virtual environment; raise `CalledProcessError` if it fails."""
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an advertisement of MkDocs, not a warning of the pages
    subprocess.run([tool(program), *map(str, arguments)], check=True, cwd=ROOT, env=quiet)


def tool(program: str) -> str:
    """Return the path of a program beside this interpreter."""
    return str(Path(sys.executable).parent / program)


def serve(output: Path, port: int) -> None:
    """Serve pages and search until Ctrl-C or SIGTERM."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with searching(output / "site-data") as inner, serving(output / "site", port, inner) as address:
        sys.stdout.write(f"The documentation is at {address} (Ctrl-C stops)\n")
        sys.stdout.flush()
        stopped.wait()


@contextlib.contextmanager
def searching(data: Path) -> Iterator[int]:
    """Run `periplus serve` on a free port for as long as the block runs; yield the port."""
    port = free_port()
    command = [tool("periplus"), "serve", "--folder", str(data), "--port", str(port), "--set", "serve.rate=0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT, start_new_session=True)
    try:
        wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the search server is ready; raise `CalledProcessError` if it ends or takes too long."""
    ends = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < ends:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(HOST, port, timeout=2)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    raise subprocess.CalledProcessError(process.poll() or 1, ["periplus serve"])


@contextlib.contextmanager
def serving(site: Path, port: int, search_port: int = 0) -> Iterator[str]:
    """Serve the pages, and the search where its port is given, in threads; yield the address of the pages."""

    class Bound(Handler):
        folder, inner = site.resolve(), search_port

    with Server((HOST, port), Bound) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_address[1]}{PREFIX}"
        finally:
            server.shutdown()
            thread.join()


class Server(http.server.ThreadingHTTPServer):
    """One thread per connection; requests under way do not delay the end."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless the client has closed the connection, as browsers do when a reader moves on."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    """Files below /docs/, everything else from the search server."""

    protocol_version = "HTTP/1.1"
    folder: Path
    inner: int

    def do_GET(self) -> None:
        """Answer a GET."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if path.startswith(PREFIX):
            self._send_file(path.removeprefix(PREFIX))
        elif self.inner:
            self._forward()
        else:
            self._send(404, b"", "text/plain")

    def do_HEAD(self) -> None:
        """Answer a HEAD: as a GET, without the body."""
        self.do_GET()

    def do_POST(self) -> None:
        """Answer a POST: of the search server alone."""
        if self.inner:
            self._forward()
        else:
            self._send(404, b"", "text/plain")

    def _send_file(self, name: str) -> None:
        path = (self.folder / name).resolve() if "\0" not in name else self.folder
        inside = path == self.folder or self.folder in path.parents
        if inside and path.is_dir():
            if name and not name.endswith("/"):
                self._send(301, b"", "text/plain", {"Location": f"{PREFIX}{urllib.parse.quote(name)}/"})
                return
            path = path / "index.html"
        if not inside or not path.is_file():
            self._send(404, (self.folder / "404.html").read_bytes(), "text/html; charset=utf-8")
            return
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        charset = "; charset=utf-8" if kind.startswith("text/") or kind.endswith("javascript") else ""
        self._send(200, path.read_bytes(), kind + charset)

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        policy = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"}
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            **policy,
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _forward(self) -> None:
        """Pass the request to the search server and its response back."""
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        length = int(self.headers.get("Content-Length") or 0)
        connection = http.client.HTTPConnection(HOST, self.inner, timeout=30)
        try:
            connection.request(self.command, self.path, self.rfile.read(length) if length else None, headers)
            self._pass_on(connection.getresponse())
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            connection.close()

    def _pass_on(self, response: http.client.HTTPResponse) -> None:
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while piece := response.read1(65_536):
            self.wfile.write(piece)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write nothing: the terminal is for the address."""


if __name__ == "__main__":
    sys.exit(main())
