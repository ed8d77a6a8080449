"""Read and write constraints.txt: exact versions with hashes, and for each the groups that need it and its licence."""

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["HEADER", "LockedPackage", "read_lock", "write_lock"]

HEADER = """\
# Exact versions and hashes of everything that any group of packages brings, for Python 3.11 and later. The line
# after a package names its licence and the groups that need it: 'run' is the default install, 'build' the build
# backend, the others are what an extra of pyproject.toml brings beyond 'run'. Made by `make lock`; do not edit.
"""
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: ; (.*?))?(?: \\)?$")
_NOTE = re.compile(r"^    # (.+) \| (.+)$")


class LockedPackage(NamedTuple):
    """One entry of the lock."""

    name: str
    version: str
    marker: str
    """The environments that need this version, as in PEP 508; '' if all do."""
    hashes: tuple[str, ...]
    licence: str = "unknown"
    groups: tuple[str, ...] = ()

    def requirement(self) -> str:
        """Return the entry as pip reads it in a file of requirements."""
        marker = f" ; {self.marker}" if self.marker else ""
        hashes = "".join(f" \\\n    --hash={value}" for value in self.hashes)
        return f"{self.name}=={self.version}{marker}{hashes}\n"


def read_lock(path: Path) -> list[LockedPackage]:
    """Return the entries of a lock, or of a file of requirements without notes."""
    packages: list[LockedPackage] = []
    for line in path.read_text("utf-8").splitlines():
        entry, note = _ENTRY.match(line), _NOTE.match(line)
        if entry:
            packages.append(LockedPackage(entry[1], entry[2], entry[3] or "", ()))
        elif line.startswith("    --hash="):
            value = line.strip().removesuffix("\\").strip().removeprefix("--hash=")
            packages[-1] = packages[-1]._replace(hashes=(*packages[-1].hashes, value))
        elif note:
            packages[-1] = packages[-1]._replace(licence=note[1], groups=tuple(note[2].split()))
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"{path}: {line!r} is not a line of a lock")
    return packages


def write_lock(path: Path, packages: list[LockedPackage]) -> None:
    """Write a lock."""
    entries = (f"{entry.requirement()}    # {entry.licence} | {' '.join(entry.groups)}\n" for entry in packages)
    path.write_text(HEADER + "".join(entries), "utf-8")
