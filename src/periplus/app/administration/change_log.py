"""The log of changes that operators make: who changed what, and when.

changes.jsonl       one JSON object a line, with a checksum; the file before it is `changes-before.jsonl`
"""

import contextlib
import os
import pwd
import time
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from periplus.json_lines import append_json_line, read_json_lines
from periplus.typed_decoding import parse_json

__all__ = ["Change", "ChangeLog", "record_command"]

_FILE: Final = "changes.jsonl"
_BEFORE: Final = "changes-before.jsonl"
_FORMAT: Final = 1
_MAX_BYTES: Final = 2 << 20
"""Of a file, some 10,000 changes; there are two of them."""
_MAX_DETAIL: Final = 2_000


class Change(msgspec.Struct, frozen=True):
    """One change."""

    when: float
    """In seconds since 1970."""
    who: str
    """The name of the key, 'schedule', or 'terminal' with the name of the user."""
    what: str
    """What was done, such as 'start the crawl'."""
    detail: str = ""


class ChangeLog:
    """The changes of a data folder. Any process may append to them."""

    def __init__(self, folder: Path, max_bytes: int = _MAX_BYTES) -> None:
        self._path, self._before = folder / _FILE, folder / _BEFORE
        self._max_bytes = max_bytes

    def add(self, who: str, what: str, detail: str = "") -> None:
        """Append a change, durably; the oldest ones make room for it."""
        change = Change(time.time(), who[:100], what[:100], detail[:_MAX_DETAIL])
        encoded = msgspec.json.encode(change)
        if not append_json_line(self._path, encoded, _FORMAT, self._max_bytes):
            with contextlib.suppress(FileNotFoundError):  # another process may have done so
                os.replace(self._path, self._before)
            append_json_line(self._path, encoded, _FORMAT, self._max_bytes)

    def latest(self, count: int = 100) -> list[Change]:
        """Return the latest changes, newest first; damaged lines are left out."""
        last: deque[Change] = deque(maxlen=count)
        for path in (self._before, self._path):
            for line in read_json_lines(path, _FORMAT, checksum_since=1):
                with contextlib.suppress(msgspec.MsgspecError):
                    last.append(parse_json(line, Change))
        return list(reversed(last))


def record_command(folder: Path, what: str, detail: str = "") -> None:
    """Add a change that a command or a program made in the data folder itself, by whoever runs it."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run as a user without a name
        user = str(os.getuid())
    ChangeLog(folder).add(f"terminal ({user})", what, detail)
