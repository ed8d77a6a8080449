"""The disk after a power failure, reconstructed from the log of the shim.

A disk keeps what was synced. Of everything else it may keep any part: nothing, all, some blocks, a length without its
data, half of the last write, names without data or data without names. A name (a created, renamed or removed file) is
durable once its folder was synced, the content of a file once the file was; nothing else is assumed of the file system.
"""

import os
import random
import shutil
import struct
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

_ENTRY = struct.Struct("<BBHIQQQ")
_NAMES = frozenset("CDRUXL")


class LogEntry(NamedTuple):
    """One recorded change, sync or mark."""

    kind: str
    """C create, W write, T truncate, R rename, U unlink, L link, D mkdir, X rmdir, S and F sync, M mark."""
    failed: bool
    inode: int
    offset: int
    path: str
    data: bytes


def read_write_log(path: Path, folder: Path) -> list[LogEntry]:
    """Return the entries of a log, with paths relative to `folder`."""
    raw, root = path.read_bytes() if path.exists() else b"", str(folder.resolve())
    entries, at = [], 0
    while at < len(raw):
        kind, failed, path_bytes, _, inode, offset, size = _ENTRY.unpack_from(raw, at)
        at += _ENTRY.size
        name, data = raw[at : at + path_bytes].decode(), raw[at + path_bytes : at + path_bytes + size]
        at += path_bytes + size
        if chr(kind) in "RL":
            data = os.path.relpath(data.decode(), root).encode()
        entries.append(
            LogEntry(chr(kind), bool(failed), inode, offset, os.path.relpath(name, root) if name else "", data)
        )
    return entries


class Policy(NamedTuple):
    """What becomes of data and of names that were not synced."""

    name: str
    data: str
    """kept, lost, zeros, torn, or the size of the blocks of which some are lost."""
    names: str
    """kept, lost, or some: of each folder, the changes up to some moment."""


POLICIES = (
    Policy("all unsynced changes lost", "lost", "lost"),
    Policy("names kept, data lost", "lost", "kept"),
    Policy("data kept, names lost", "kept", "lost"),
    Policy("lengths kept, data zero", "zeros", "kept"),
    Policy("last write torn", "torn", "kept"),
    Policy("some blocks of 512 lost", "512", "some"),
    Policy("some blocks of 4096 lost", "4096", "some"),
    Policy("nothing lost", "kept", "kept"),
)


class _File:
    """The content of a file: what is durable, what readers see, and the changes between them."""

    def __init__(self, content: bytes = b"") -> None:
        self.durable = content
        self.current = bytearray(content)
        self.pending: list[LogEntry] = []

    def change(self, entry: LogEntry) -> None:
        _apply(self.current, entry)
        self.pending.append(entry)

    def sync(self) -> None:
        """Make the pending changes durable, on top of what is; those that a failed sync has dropped are not."""
        if self.pending:
            content = bytearray(self.durable)
            for entry in self.pending:
                _apply(content, entry)
            self.durable, self.pending = bytes(content), []

    def drop(self) -> None:
        """Drop the pending changes, as Linux does when a sync fails: it does not try to write them again."""
        self.pending = []

    def after_cut(self, data: str, chance: random.Random, last: LogEntry | None) -> bytes:
        """Return what a power failure leaves."""
        if data == "kept":
            return bytes(self.current)
        if data == "lost" or not self.pending:
            return self.durable
        if data == "zeros":
            return self.durable[: len(self.current)].ljust(len(self.current), b"\0")
        content = bytearray(self.durable)
        for entry in self.pending:
            if data == "torn":
                _apply(content, _torn(entry, chance) if entry is last else entry)
            elif entry.kind == "T":
                if chance.random() < 0.7:
                    _apply(content, entry)
            else:
                _apply_blocks(content, entry, int(data), chance)
        return bytes(content)


def _apply(content: bytearray, entry: LogEntry) -> None:
    if entry.kind == "T":
        del content[entry.offset :]
        content.extend(bytes(entry.offset - len(content)))
        return
    if len(content) < entry.offset:
        content.extend(bytes(entry.offset - len(content)))
    content[entry.offset : entry.offset + len(entry.data)] = entry.data


def _torn(entry: LogEntry, chance: random.Random) -> LogEntry:
    return entry._replace(data=entry.data[: chance.randrange(len(entry.data))]) if entry.data else entry


def _apply_blocks(content: bytearray, entry: LogEntry, size: int, chance: random.Random) -> None:
    """Apply a write, but for some of the blocks that it touches."""
    start, end = entry.offset, entry.offset + len(entry.data)
    share = chance.choice((0.1, 0.5, 0.9))
    for block in range(start // size * size, end, size):
        if chance.random() < share:
            begin, stop = max(block, start), min(block + size, end)
            _apply(content, entry._replace(offset=begin, data=entry.data[begin - start : stop - start]))


class _NameChange(NamedTuple):
    number: int
    entry: LogEntry
    file: "_File | None"
    folders: tuple[str, ...]


class DiskModel:
    """A folder, and the changes of a log made to it one by one."""

    def __init__(self, base: Path, inodes: dict[int, str]) -> None:
        """base: the folder before the first change; inodes: which of its files had which inode when it was changed."""
        self._names: dict[str, _File | None] = {}
        self._links: dict[str, str] = {}
        for path in sorted(base.rglob("*")):
            name = path.relative_to(base).as_posix()
            if path.is_symlink():
                self._links[name] = os.readlink(path)
            else:
                self._names[name] = None if path.is_dir() else _File(path.read_bytes())
        self._files = {inode: file for inode, name in inodes.items() if (file := self._names.get(name)) is not None}
        self._made: dict[str, int] = {}
        """Which change made each durable name, by number."""
        self._unsynced: list[_NameChange] = []
        self._last: LogEntry | None = None
        self._number = 0
        self.marks: list[str] = []

    def apply(self, entry: LogEntry) -> None:
        """Make one change."""
        self._number += 1
        self._last = entry
        if entry.kind == "M":
            self.marks.append(entry.data.decode())
        elif entry.kind in _NAMES:
            self._change_name(entry)
        elif entry.kind in "WT":
            self._files[entry.inode].change(entry)
        elif not entry.failed:
            self._sync(entry)
        elif entry.inode in self._files:
            self._files[entry.inode].drop()

    def _change_name(self, entry: LogEntry) -> None:
        file = None
        if entry.kind == "C":
            file = self._files[entry.inode] = _File()
        folders = [os.path.dirname(entry.path) or "."]
        if entry.kind in "RL":
            folders.append(os.path.dirname(entry.data.decode()) or ".")
        self._unsynced.append(_NameChange(self._number, entry, file, tuple(folders)))

    def _sync(self, entry: LogEntry) -> None:
        if entry.kind == "S":
            if entry.inode in self._files:
                self._files[entry.inode].sync()
            return
        # A file system keeps the order of changes to one folder. The changes before a synced one that it depends on,
        # in other folders, are not synced by it.
        remaining = []
        for change in self._unsynced:
            if change.folders[-1] == entry.path:
                _apply_name(self._names, self._made, change)
            else:
                remaining.append(change)
        self._unsynced = remaining

    def names_after_cut(self, policy: str, chance: random.Random) -> dict[str, "_File | None"]:
        """Return the names that a power failure leaves."""
        names, made = dict(self._names), dict(self._made)
        limits: dict[str, int] = {}
        for change in self._unsynced:
            folder = change.folders[-1]
            if policy == "some" and folder not in limits:
                limits[folder] = chance.choice((0, self._number, chance.randrange(self._number + 1)))
            if policy == "kept" or (policy == "some" and change.number <= limits[folder]):
                _apply_name(names, made, change)
        return names

    def cut(self, policy: Policy, chance: random.Random) -> dict[str, bytes | None]:
        """Return the names and contents that a power failure leaves; None for a folder."""
        names = self.names_after_cut(policy.names, chance)
        state: dict[str, bytes | None] = {}
        contents: dict[int, bytes] = {}  # of a file with several names
        for name in sorted(names):
            folder, file = os.path.dirname(name), names[name]
            if folder and state.get(folder, b"") is not None:
                continue  # its folder was lost
            if file is not None and id(file) not in contents:
                contents[id(file)] = file.after_cut(policy.data, chance, self._last)
            state[name] = None if file is None else contents[id(file)]
        return state

    def write(self, state: dict[str, bytes | None], folder: Path) -> None:
        """Write such a state to an empty folder."""
        folder.mkdir(parents=True)
        for name, content in state.items():
            if content is None:
                (folder / name).mkdir(exist_ok=True)
            else:
                (folder / name).write_bytes(content)
        for name, target in self._links.items():
            (folder / name).symlink_to(target)


def _apply_name(names: dict[str, _File | None], made: dict[str, int], change: _NameChange) -> None:
    """Apply a change of names, as far as what it needs is there; `made` tells which change made each name."""
    entry = change.entry
    if entry.kind in "CD":
        names[entry.path], made[entry.path] = change.file, change.number
    elif entry.kind in "UX":
        # What was made later is in a new folder of the same name, which may have been synced before its parent was.
        for name in [name for name in names if name == entry.path or name.startswith(f"{entry.path}/")]:
            if made.get(name, 0) < change.number:
                del names[name]
    elif entry.path in names:
        target = entry.data.decode()
        made[target] = change.number
        if entry.kind == "L":
            names[target] = names[entry.path]
            return
        if names[entry.path] is None:
            below = f"{entry.path}/"
            for name in [name for name in names if name.startswith(below)]:
                moved = f"{target}/{name.removeprefix(below)}"
                names[moved], made[moved] = names.pop(name), change.number
        names[target] = names.pop(entry.path)


def list_inodes(folder: Path) -> dict[int, str]:
    """Return the files of a folder by their inodes."""
    return {path.stat().st_ino: path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


class CutState(NamedTuple):
    """One state of the disk, and what was acknowledged before."""

    entries: int
    policy: str
    marks: tuple[str, ...]
    folder: Path


def cut_states(
    base: Path, inodes: dict[int, str], log: list[LogEntry], scratch: Path, cuts: int, seed: int, rounds: int = 1
) -> Iterator[CutState]:
    """Yield the different states of the disk after a power failure at some moments of a log; each folder is removed.

    cuts: how many moments at most; the first ones are those after a mark, then those around syncs, then others.
    """
    chance = random.Random(seed)
    moments = _choose_moments(log, cuts, chance)
    policies = [policy for policy in POLICIES for _ in range(rounds if policy.names == "some" else 1)]
    model = DiskModel(base, inodes)
    seen: set[bytes] = set()
    for number in range(len(log) + 1):
        if number in moments:
            for policy in policies:
                state = model.cut(policy, chance)
                digest = _digest(state, len(model.marks))
                if digest in seen:
                    continue
                seen.add(digest)
                folder = scratch / f"cut-{number}-{len(seen)}"
                model.write(state, folder)
                try:
                    yield CutState(number, policy.name, tuple(model.marks), folder)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        if number < len(log):
            model.apply(log[number])


def _choose_moments(log: list[LogEntry], cuts: int, chance: random.Random) -> set[int]:
    after_marks = [n for n, entry in enumerate(log, 1) if entry.kind == "M"]
    around_syncs = [n + step for n, entry in enumerate(log) if entry.kind in "SFR" for step in (0, 1)]
    others = list(range(len(log) + 1))
    chance.shuffle(after_marks)
    chance.shuffle(around_syncs)
    chance.shuffle(others)
    chosen: dict[int, None] = dict.fromkeys(
        (len(log), *after_marks[: cuts // 2 or 1], *around_syncs[: cuts // 2], *others)
    )
    return set(list(chosen)[:cuts])


def _digest(state: dict[str, bytes | None], marks: int) -> bytes:
    hasher = blake2b(str(marks).encode(), digest_size=16)
    for name, content in state.items():
        hasher.update(f"{name}\0{-1 if content is None else len(content)}\0".encode())
        hasher.update(content or b"")
    return hasher.digest()
