"""Folders of numbered messages: the outbox of a shard and its inbox.

    outbox/RRRRR-NUMBER-EPOCH-K.mail    for shard R; K is t for hosts that move, m for anything else
    inbox/SSSSS-NUMBER-EPOCH-K.mail     from shard S

    magic "PERIMAIL", version u32, xxh3 of what follows u64, compressed message

A message is written durably before it counts as sent (outbox) or is acknowledged (inbox). The sender deletes it when
the receiver can no longer lose it; the receiver deletes it when a snapshot reflects it.
"""

import contextlib
import os
import re
import struct
import threading
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import disk_errors, make_folder, read_file, sweep_torn, write_atomically
from periplus.hashing import fingerprint

__all__ = ["MailFile", "MailFolder"]

_NAME: Final = re.compile(r"(\d{5})-(\d{20})-(\d{10})-([mt])\.mail")
_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIMAIL"
_VERSION: Final = 1


class MailFile(NamedTuple):
    """One message on disk."""

    peer: int
    number: int
    epoch: int
    is_transfer: bool
    size: int = 0

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"{self.peer:05d}-{self.number:020d}-{self.epoch:010d}-{'t' if self.is_transfer else 'm'}.mail"


class MailFolder:
    """The messages to or from each peer, in the order of their numbers. Safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._files: dict[int, dict[int, MailFile]] = {}
        with disk_errors(folder):
            make_folder(folder)
            sweep_torn(folder)
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                if match := _NAME.fullmatch(entry.name):
                    peer, number, epoch = map(int, match.groups()[:3])
                    file = MailFile(peer, number, epoch, match[4] == "t", entry.stat().st_size)
                    self._files.setdefault(peer, {})[number] = file

    def write(self, file: MailFile, body: bytes) -> None:
        """Write a message durably; its number is above those of all others of its peer."""
        write_atomically(self._folder / file.name, _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body)
        with self._lock:
            self._files.setdefault(file.peer, {})[file.number] = file._replace(size=len(body) + _PREFIX.size)

    def read(self, file: MailFile) -> bytes:
        """Return the body of a message; raise `CorruptFile` if it is missing or a single bit is wrong."""
        path = self._folder / file.name
        try:
            data = read_file(path)
        except FileNotFoundError as error:
            raise CorruptFile(f"{path} is missing.") from error
        magic, version, checksum = _PREFIX.unpack_from(data) if len(data) >= _PREFIX.size else (b"", 0, 0)
        if magic == _MAGIC and version > _VERSION:
            raise NewerFormat(f"{path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
        body = data[_PREFIX.size :]
        if magic != _MAGIC or version < 1 or fingerprint(body) != checksum:
            raise CorruptFile(f"{path} is damaged.")
        return body

    def next_after(self, peer: int, number: int) -> tuple[MailFile | None, int]:
        """Return the first message of a peer above `number`, and the number of the one before it; 0 if it is first."""
        with self._lock:
            previous = 0
            for file in self._files.get(peer, {}).values():
                if file.number > number:
                    return file, previous
                previous = file.number
            return None, previous

    def after(self, peer: int, number: int, most: int) -> list[MailFile]:
        """Return up to `most` messages of a peer above `number`."""
        with self._lock:
            return [file for file in self._files.get(peer, {}).values() if file.number > number][:most]

    def delete(self, files: list[MailFile]) -> None:
        """Delete messages. A file that comes back after a power cut is only a message that comes twice."""
        with self._lock:
            for file in files:
                self._files.get(file.peer, {}).pop(file.number, None)
        for file in files:
            with contextlib.suppress(OSError):
                (self._folder / file.name).unlink()

    def set_aside(self, file: MailFile) -> None:
        """Rename a damaged message, so that those after it can be sent: its links may be found again on other pages."""
        with contextlib.suppress(OSError):
            path = self._folder / file.name
            path.rename(path.with_name(f"{file.name}.damaged"))
        with self._lock:
            self._files.get(file.peer, {}).pop(file.number, None)

    def up_to(self, peer: int, number: int) -> list[MailFile]:
        """Return the messages of a peer up to `number`."""
        with self._lock:
            return [file for file in self._files.get(peer, {}).values() if file.number <= number]

    def last(self, peer: int) -> int:
        """Return the highest number of a peer; 0 if there is none."""
        with self._lock:
            return max(self._files.get(peer, {}), default=0)

    def peers(self) -> list[int]:
        """Return the peers that have messages here."""
        with self._lock:
            return [peer for peer, files in self._files.items() if files]

    def count(self, peer: int) -> tuple[int, int]:
        """Return the number of messages of a peer, and their bytes."""
        with self._lock:
            files = self._files.get(peer, {})
            return len(files), sum(file.size for file in files.values())

    def total(self) -> tuple[int, int]:
        """Return the number of all messages, and their bytes."""
        counts = [self.count(peer) for peer in self.peers()]
        return sum(count for count, _ in counts), sum(size for _, size in counts)
