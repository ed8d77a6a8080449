"""A web of a few hosts on loopback, whose answers are whatever a test says."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings


class ScriptedWeb:
    """Answers GETs by URL; what it does not know is 404. Remembers every request."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        web = self

        class Talk(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are sent apart: the second would wait 40 ms for an ACK

            def do_GET(self) -> None:
                web.answer(self)

            do_POST = do_GET

            def log_message(self, *words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Talk)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def put(self, url: str, body: bytes | str, kind: str = "text/html", status: int = 200, **headers: str) -> None:
        """Say what a URL gives."""
        raw = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[url] = (status, {"Content-Type": kind, **named}, raw)

    def answer(self, talk: BaseHTTPRequestHandler) -> None:
        url = f"http://{talk.headers['Host']}{talk.path}"
        if not talk.path.endswith("/robots.txt"):
            self.requests.append(url if talk.command == "GET" else f"{talk.command} {url}")
            self.headers.append(dict(talk.headers))
        status, headers, body = self.answers.get(url, (404, {"Content-Type": "text/html"}, b"<p>nothing"))
        if headers.get("ETag") and talk.headers.get("If-None-Match") == headers["ETag"]:
            status, body = 304, b""
        talk.send_response(status)
        for name, value in headers.items():
            talk.send_header(name, value)
        talk.send_header("Content-Length", str(len(body)))
        talk.end_headers()
        talk.wfile.write(body)

    def settings(self, folder: Path, *hosts: str, **crawl) -> Settings:
        """Give settings that find these hosts here, and wait for nobody."""
        file = folder / "hosts"
        file.write_text("".join(f"127.0.0.1:{self.port} {host}\n" for host in hosts))
        crawl.setdefault("probe", False)
        return Settings(
            fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(file), timeout=60, connections=8),
            frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.01, max_failures=3, retries=0),
            crawl=CrawlSettings(**crawl),
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
