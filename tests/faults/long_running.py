"""Processes that run for long, `periplus serve`, `up` and `crawl`, while calls to the disk fail for a time."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fault_shim import FAULT_KINDS, Control, FaultKind, controlled, preload_environment
from laboratory import Failure
from scripted_web import ScriptedWeb

from periplus.app import Engine
from periplus.serve import ApiKeys
from periplus.settings import StoreSettings
from periplus.store import PageStore

PROGRAM = str(Path(sys.executable).with_name("periplus"))
_WAIT_SECONDS = 90.0
_FAULT_SECONDS = 1.0
_LASTING = tuple(kind._replace(persistent=True) for kind in FAULT_KINDS if not kind.persistent)
TRANSIENT_FAULTS: tuple[FaultKind, ...] = (*_LASTING, *(kind for kind in FAULT_KINDS if kind.name == "short write"))
"""Each lasts for a second, in which every matching call fails."""


class _Server:
    """A `periplus` process that serves, with the shim."""

    def __init__(self, shim: Path, folder: Path, control: Control, arguments: list[str], log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [PROGRAM, *arguments, "--folder", str(folder), "--port", str(self.port)],
                env=preload_environment(shim, control.path),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def request(self, method: str, path: str, body: object = None, key: str = "") -> tuple[int, bytes]:
        """Return the status and the body of an answer; 0 if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def wait_until(condition: Callable[[], bool], seconds: float = _WAIT_SECONDS) -> bool:
    """Return whether a condition became true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


@contextlib.contextmanager
def _web(tmp: Path) -> Iterator[tuple[ScriptedWeb, Path]]:
    web = ScriptedWeb()
    for number in range(30):
        links = "".join(f'<a href="/{n}">page {n}</a>' for n in (number + 1, number + 2) if n < 30)
        web.put(f"http://slow.test/{number}", f"<title>Crawled {number}</title><p>harbour {number}</p>{links}")
    hosts = tmp / "hosts"
    hosts.write_text(f"127.0.0.1:{web.port} slow.test\n")
    try:
        yield web, hosts
    finally:
        web.close()


def serve_through_faults(
    shim: Path, scratch: Path, kinds: tuple[FaultKind, ...], command: str = "serve"
) -> tuple[int, list[Failure]]:
    """Publish pages to a server while calls fail; return how many were acknowledged, and what failed."""
    folder, failures = scratch / "data", []
    folder.mkdir(parents=True)
    Engine(folder).publish("First", "harbour first", url="https://first.test/")
    key = ApiKeys(folder).add("writer", "publish")
    with _web(scratch) as (_, hosts), controlled(scratch / "control", folder) as control:
        arguments = ["serve"]
        if command == "up":
            arguments = ["up", "http://slow.test/0", "--hosts-file", str(hosts), "--allow", "127.0.0.0/8"]
            arguments += ["--delay", "0.2"]
        server = _Server(shim, folder, control, arguments, scratch / "log")
        try:
            acknowledged: list[str] = []

            def publish(name: str) -> bool:
                page = {"title": name, "content": f"harbour {name}", "url": f"https://publish.test/{name}"}
                status, _ = server.request("POST", "/api/publish", page, key)
                if status == 201:
                    acknowledged.append(name)
                return status == 201

            def is_found(name: str) -> bool:
                status, body = server.request("GET", f"/api/search?q={name}")
                return status == 200 and f"https://publish.test/{name}".encode() in body

            if not wait_until(lambda: publish("w0start")):
                return 0, [Failure("hang", command, "start", server.log()[-2000:])]
            for number, kind in enumerate(kinds):
                control.arm(kind, 1)
                end = time.monotonic() + _FAULT_SECONDS
                count = 0
                while time.monotonic() < end:
                    publish(f"w{number}x{count}during")
                    count += 1
                    time.sleep(0.1)
                control.disarm()
                last = f"w{number}after"
                if not wait_until(lambda name=last: publish(name)):  # type: ignore[misc]
                    failures.append(Failure("hang", command, f"publishing after {kind.name}", server.log()[-2000:]))
                elif not wait_until(lambda name=last: is_found(name)):  # type: ignore[misc]
                    failures.append(Failure("lost", command, f"not indexed after {kind.name}", server.log()[-2000:]))
            missing = [name for name in acknowledged if not wait_until(lambda n=name: is_found(n), 30)]  # type: ignore[misc]
            if missing:
                failures.append(Failure("lost", command, f"{len(missing)} pages", f"{missing} {server.log()[-2000:]}"))
            if not server.lives:
                failures.append(Failure("killed", command, "the process has ended", server.log()[-2000:]))
            if not wait_until(lambda: server.request("GET", "/readyz")[0] == 200):
                answer = server.request("GET", "/readyz")
                failures.append(Failure("hang", command, f"readyz answers {answer}", server.log()[-2000:]))
        finally:
            server.stop()
        if (at := server.log().find("Traceback (most recent")) >= 0:
            failures.append(Failure("traceback", command, "in its output", server.log()[max(0, at - 300) : at + 3000]))
        return len(acknowledged), failures


def _wait_for_requests(web: ScriptedWeb, requests: int, process: subprocess.Popen[bytes]) -> None:
    wait_until(lambda: len(web.requests) >= requests or process.poll() is not None)


def crawl_through_faults(shim: Path, scratch: Path, kinds: tuple[FaultKind, ...]) -> tuple[int, list[Failure]]:
    """Crawl while calls fail, again and again until it is complete; return how many pages, and what failed."""
    folder, failures = scratch / "data", []
    folder.mkdir(parents=True)
    with _web(scratch) as (web, hosts), controlled(scratch / "control", folder) as control:
        command = [PROGRAM, "crawl", "http://slow.test/0", "--folder", str(folder)]
        command += ["--hosts-file", str(hosts), "--allow", "127.0.0.0/8", "--delay", "0.1"]
        command += ["--set", "crawl.commit_seconds=0.2", "--set", "crawl.checkpoint_seconds=0.3"]
        for kind in (*kinds, None):
            with (scratch / "log").open("wb") as output:
                process = subprocess.Popen(
                    command, env=preload_environment(shim, control.path), stdout=output, stderr=output
                )
            before = len(web.requests)
            _wait_for_requests(web, before + 2, process)
            if kind is not None:
                control.arm(kind, 1)
                time.sleep(_FAULT_SECONDS)
                control.disarm()
                time.sleep(0.3)
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
            try:
                status = process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = -1
                failures.append(Failure("hang", "crawl", kind.name if kind else "", ""))
            log = (scratch / "log").read_text("utf-8", "replace")
            name = kind.name if kind else "no fault"
            if "Traceback (most recent" in log or "unexpected " in log:
                failures.append(Failure("traceback", "crawl", name, log[-2000:]))
            elif status not in (0, 1, 130) or (kind is None and status):
                failures.append(Failure("killed", "crawl", f"{name}: ended with {status}", log[-2000:]))
            elif status == 1 and str(folder) not in log:
                failures.append(Failure("unclear error", "crawl", name, log[-2000:]))
        with PageStore.open(folder / "store", StoreSettings()) as store:
            stored = [record.url for record in store.records() if record.page is not None]
        missing = {f"http://slow.test/{number}" for number in range(30)} - set(stored)
        if missing:
            failures.append(Failure("lost", "crawl", f"{len(missing)} pages", str(sorted(missing))))
    return len(stored), failures
