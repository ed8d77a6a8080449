"""One process of Chromium without a network: in its own sandbox, as a user without rights, driven over two pipes."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from periplus.errors import SettingsError

__all__ = ["ChromiumProcess", "find_chromium"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS: Final = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--password-store=basic",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=256",
    # No name is found and no connection is made, whatever a page tries: requests are answered before they get there.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
_LAUNCHER: Final = (
    "import ctypes, os, signal, sys\n"
    "read, write, parent, user, group = map(int, sys.argv[1:6])\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)\n"
    "read, write = os.dup2(read, 13), os.dup2(write, 14)\n"
    "os.dup2(read, 3); os.dup2(write, 4); os.close(13); os.close(14)\n"
    "if user >= 0:\n"
    "    os.setgroups([]); os.setgid(group); os.setuid(user)\n"
    "    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)\n"
    "if os.getppid() != parent: sys.exit(1)\n"
    "os.execv(sys.argv[6], sys.argv[6:])\n"
)
"""Becomes Chromium: pipes as descriptors 3 and 4, another user if this one is root, and death with the parent."""
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def find_chromium(path: str = "") -> str:
    """Return the path of Chromium; raise `SettingsError` if it is not installed."""
    found = shutil.which(path) if path else next(filter(None, map(shutil.which, _NAMES)), None)
    if not found:
        raise SettingsError(
            f"Chromium is needed to render pages, and {path or 'it'} is not installed.",
            "Install it (Debian: apt-get install chromium), or set render.chromium, or remove 'render' from the hosts.",
        )
    return found


class ChromiumProcess:
    """Starts Chromium; `read` and `write` are the descriptors of its pipes, which do not block."""

    def __init__(self, path: str) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="periplus-render-")
        user, group = _other_user()
        if user >= 0:
            os.chown(self._home.name, user, group)
        their_read, self.write = os.pipe()
        self.read, their_write = os.pipe()
        try:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-c", _LAUNCHER),
                    *map(str, (their_read, their_write, os.getpid(), user, group)),
                    *(path, *_ARGUMENTS, f"--user-data-dir={self._home.name}/profile"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(their_read, their_write),
                env={"HOME": self._home.name, "TMPDIR": self._home.name, "PATH": os.defpath},
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            self._close_pipes()
            self._home.cleanup()
            raise
        finally:
            os.close(their_read)
            os.close(their_write)
        os.set_blocking(self.read, False)
        os.set_blocking(self.write, False)

    def memory_mb(self) -> float:
        """Return the memory of all processes of this Chromium that they do not share."""
        pages = 0
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                # After the name in brackets: state, parent, group, session, ...
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == self._process.pid:
                    _, resident, shared, *_ = map(int, (folder / "statm").read_text().split())
                    pages += resident - shared
        return pages * _PAGE_BYTES / 1e6

    def kill(self) -> None:
        """End Chromium and everything it has started, and remove its folder."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._close_pipes()
        with contextlib.suppress(OSError):
            self._home.cleanup()

    def _close_pipes(self) -> None:
        os.close(self.read)
        os.close(self.write)


def _other_user() -> tuple[int, int]:
    """Return user and group for Chromium where this process is root's, whose sandbox would be none; else (-1, -1)."""
    if os.geteuid() != 0:
        return -1, -1
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise SettingsError("Chromium is not run as root, and there is no user 'nobody'.") from None
    return entry.pw_uid, entry.pw_gid
