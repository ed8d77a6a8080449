"""Folders that no other user can write to, directly or by replacing a folder above them.

Compiled kernels are machine code and pickled objects: whoever can write them runs code as the user who loads them. So
they are loaded only from a folder whose whole path belongs to this user or to root. The rules are those of sshd for its
key files: a path may pass through a folder that others can write to only if that has the sticky bit, like /tmp, and
what it leads to is not theirs.
"""

import grp
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["is_private", "make_private"]

_MAX_LINKS: Final = 32
"""Most symbolic links that a path may lead through."""


def is_private(folder: Path, owner: int | None = None, *, lstat: Callable[[str], os.stat_result] = os.lstat) -> bool:
    """Return whether a folder, its direct entries and all folders above it can be written only by root or `owner`.

    `owner` is the effective user of this process if None. False if the folder is missing, or is a symbolic link.
    `lstat` is replaced by tests.
    """
    owner = os.geteuid() if owner is None else owner
    path = os.path.abspath(folder)
    try:
        if not _is_reached_safely(path, owner, lstat) or stat.S_ISLNK(lstat(path).st_mode):
            return False
        return _is_safe(lstat(path), owner) and all(
            _is_safe(lstat(entry.path), owner) and not entry.is_symlink() for entry in os.scandir(path)
        )
    except OSError:
        return False


def _is_reached_safely(path: str, owner: int, lstat: Callable[[str], os.stat_result]) -> bool:
    """Return whether nobody else can change what `path` leads to, symbolic links on the way included."""
    here, waiting, links = "/", [part for part in reversed(path.split("/")) if part], 0
    if not _is_safe(lstat(here), owner, passing=True):
        return False
    while waiting:
        part = waiting.pop()
        if part in (".", ".."):
            here = os.path.dirname(here) if part == ".." else here
            continue
        entry = os.path.join(here, part)
        status = lstat(entry)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MAX_LINKS or status.st_uid not in (0, owner):
                return False
            target = os.readlink(entry)
            here = "/" if target.startswith("/") else here
            waiting += [name for name in reversed(target.split("/")) if name]
            continue
        if not stat.S_ISDIR(status.st_mode) or not _is_safe(status, owner, passing=True):
            return False
        here = entry
    return True


def _is_safe(status: os.stat_result, owner: int, passing: bool = False) -> bool:
    """Return whether others cannot write; `passing`, whether they cannot replace what they do not own."""
    if status.st_uid not in (0, owner):
        return False
    if passing and status.st_mode & stat.S_ISVTX:
        return True
    if status.st_mode & stat.S_IWOTH and not stat.S_ISLNK(status.st_mode):
        return False
    return not status.st_mode & stat.S_IWGRP or _is_own_group(status.st_gid, owner)


def _is_own_group(group: int, owner: int) -> bool:
    """Return whether a group is that of root, or one that has the name of its only member, as adduser makes them."""
    if group == 0:
        return True
    try:
        entry, name = grp.getgrgid(group), pwd.getpwuid(owner).pw_name
    except KeyError:
        return False
    return entry.gr_name == name and set(entry.gr_mem) <= {name}


def make_private(folder: Path) -> bool:
    """Make a folder that only this user can read, and those above it; return whether it is private then."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return is_private(folder) and os.access(folder, os.W_OK | os.X_OK)
