"""Which worker each kind of unit has, and that of a broker, which runs a web server."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.app.clusters.broker_process import BrokerArguments
from periplus.app.clusters.build_worker import BuildWorker
from periplus.app.serving.broker_server import OPENED_SUFFIX
from periplus.errors import BadInput
from periplus.files import make_folder, write_atomically
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.cluster import ClusterKey, Duty, RayHost, UnitSpec, WorkerFactory
    from periplus.storage import Storage

__all__ = ["BrokerWorker", "make_duties", "worker_factories"]

_STOP_SECONDS: Final = 10.0


def worker_factories() -> "dict[str, WorkerFactory]":
    """Return what makes the worker of each kind of unit."""
    from periplus.cluster import CrawlWorker, ReplicaWorker

    return {"crawl": CrawlWorker, "build": BuildWorker, "replica": ReplicaWorker, "broker": BrokerWorker}


def make_duties(settings: Settings, key: "ClusterKey", storage: "Storage", host: "RayHost") -> "Sequence[Duty]":
    """Return the duties of a coordinator."""
    from periplus.cluster import CrawlDuty, ServingDuty

    return CrawlDuty(settings, key, storage), ServingDuty(host, storage)


class BrokerWorker:
    """Runs a broker with its web server in a child process; starts it again when it ends."""

    def __init__(self, spec: "UnitSpec") -> None:
        self._spec = spec
        folder = Path(spec.node_dir) / f"broker-{spec.number:02d}"
        make_folder(folder)
        self._folder, self._table, self._ready = folder, folder / "serving.json", folder / "ready"
        self._opened = self._table.with_suffix(OPENED_SUFFIX)
        self._ready.unlink(missing_ok=True)
        self._version = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._restarts = -1
        # Children end with the thread that started them.
        self._thread = threading.Thread(target=self._keep_running, name="broker", daemon=True)
        self._thread.start()

    def describe(self) -> dict[str, Any]:
        """Return the URL, and the version of the table that the broker has."""
        pid, _, url = self._read_ready()
        process = self._process
        is_ready = process is not None and process.poll() is None and pid == str(process.pid)
        return {
            "state": "serving" if is_ready else "starting",
            "url": url if is_ready else "",
            "table": self._read_opened() if is_ready else 0,
            "process": process.pid if process is not None else 0,
            "restarts": max(0, self._restarts),
        }

    def _read_ready(self) -> tuple[str, str, str]:
        try:
            return self._ready.read_text().partition(" ")
        except OSError:
            return "", "", ""

    def _read_opened(self) -> int:
        """Return the version of the table that queries are answered by, as the process has written it."""
        try:
            return int(self._opened.read_text())
        except (OSError, ValueError):
            return 0

    def call(self, command: str, argument: bytes) -> bytes:
        """Execute 'table': write the serving table, which the broker reads again."""
        from periplus.cluster import decode_table

        if command != "table":
            raise BadInput(f"A broker has no command {command!r}.")
        table = decode_table(argument, "the serving table")
        with self._lock:
            if table.version > self._version:
                write_atomically(self._table, argument)
                self._version = table.version
        return b""

    def _keep_running(self) -> None:
        while not self._stopped.wait(0.1):
            if self._version and (self._process is None or self._process.poll() is not None):
                self._start()
            self._stopped.wait(0.1)

    def _start(self) -> None:
        import os

        from periplus.cluster import key_path

        change = msgspec.structs.replace
        settings = self._spec.settings
        serve = change(settings.serve, port=settings.serve.port + self._spec.number if settings.serve.port else 0)
        self._ready.unlink(missing_ok=True)
        self._opened.unlink(missing_ok=True)
        arguments = BrokerArguments(
            settings.folder,
            change(settings, serve=serve),
            str(self._table),
            str(key_path(settings)),
            str(self._ready),
            os.getpid(),
        )
        with (self._folder / "broker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "periplus.app.clusters.broker_process"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(msgspec.json.encode(arguments))
        self._process = process
        self._restarts += 1

    def close(self) -> None:
        """Stop the web server; requests under way are answered."""
        self._stopped.set()
        self._thread.join(_STOP_SECONDS)
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
