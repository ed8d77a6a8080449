"""A real `periplus up`: published pages are stored for ever, and a kill leaves neither orphans nor locks."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from conditions import wait_until
from periplus.files import lock_folder, lock_holder
from periplus.serve import ApiKeys
from periplus.settings import Settings
from periplus.store import PageStore

_PROGRAM = """
import sys
from periplus.publish import inbox
inbox._MOST = 20
from periplus.cli import main
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


class _Site(http.server.BaseHTTPRequestHandler):
    """One page, and nothing else."""

    def do_GET(self) -> None:
        body = b"<title>Harbour</title><p>Boats in the harbour."
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Up:
    """A `periplus up` whose inbox holds twenty pages at most."""

    def __init__(self, folder: Path, site: str) -> None:
        self.folder = folder / "data"
        self.secret = ApiKeys(_make(self.folder)).add("me", "admin")
        program = folder / "up.py"
        program.write_text(_PROGRAM)
        arguments = ["up", site, "--folder", str(self.folder), "--port", "0", "--allow", "127.0.0.1"]
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(program), *arguments], stdout=log, stderr=log, start_new_session=True
            )
        wait_until(lambda: self.process.poll() is None and "Searching at" in self.log.read_text())
        self.url = self.log.read_text().partition("Searching at ")[2].partition(",")[0]

    def publish(self, number: int) -> int:
        """Publish a page; return the status of the response."""
        page = {"title": f"Page {number}", "content": "High water.", "url": f"https://coast.test/{number}"}
        headers = {"content-type": "application/json", "x-api-key": self.secret}
        request = urllib.request.Request(f"{self.url}api/publish", json.dumps(page).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    def children(self) -> set[int]:
        """Return the processes that have it as their parent, and theirs."""
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
        descendants = {self.process.pid}
        while more := {child for child, parent in parents.items() if parent in descendants} - descendants:
            descendants |= more
        return descendants - {self.process.pid}


def _make(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.fixture
def up(tmp_path: Path, site: str) -> Iterator[Up]:
    live = Up(tmp_path, site)
    try:
        yield live
    finally:
        os.killpg(live.process.pid, signal.SIGKILL)
        live.process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_published_pages_leave_the_inbox_and_a_kill_leaves_no_orphan(up: Up) -> None:
    for number in range(50):  # more than the inbox holds
        wait_until(lambda: up.publish(number) == 201)  # noqa: B023
    wait_until(lambda: not list((up.folder / "inbox").iterdir()))
    children = up.children()
    assert len(children) >= 2
    assert lock_holder(up.folder, "index").pid in children
    up.process.kill()
    up.process.wait()
    wait_until(lambda: not any(_is_alive(child) for child in children))
    for folder, purpose in ((up.folder, "index"), (up.folder / "index", "index"), (up.folder / "store", "pages")):
        with lock_folder(folder, purpose):
            pass
    with PageStore.open(up.folder / "store", Settings().store) as store:
        urls = {record.url for record in store.records()}
    assert urls >= {f"https://coast.test/{number}" for number in range(50)}


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
