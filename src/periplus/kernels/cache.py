"""Where compiled kernels are kept, and when they are stale.

Compiled code has the code of its callees inside, in other files too. So a kernel is stamped with a fingerprint of its
module and of every module that one imports; Numba compiles again what has another stamp, and nothing else.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.caching import UserProvidedCacheLocator

from periplus.kernels.revive import revive_lightly

__all__ = ["FOLDER", "StampedLocator", "keep_compiled", "stamp", "stamp_of_all"]

_HERE: Final = Path(__file__).parent
_IMPORTS: Final = re.compile(rb"^[ \t]*from periplus\.kernels(?:\.(\w+) import| import (\([^)]*\)|.*))", re.MULTILINE)
_NAME: Final = re.compile(r"(\w+)(?: as \w+)?")


def _choose_folder() -> Path:
    """Keep compiled code beside the sources where that can be written, else in the temporary folder of this user."""
    beside = _HERE / "__pycache__"
    try:
        beside.mkdir(exist_ok=True)
        writable = os.access(beside, os.W_OK)
    except OSError:
        writable = False
    base = beside if writable else Path(tempfile.gettempdir()) / f"periplus-kernels-{os.getuid()}"
    return base / f"numba-{numba.__version__}"


FOLDER: Final = _choose_folder()


def imported(source: bytes) -> set[str]:
    """Name the kernel modules that a source imports."""
    names: set[str] = set()
    for inner, several in _IMPORTS.findall(source):
        names |= {inner.decode()} if inner else {m[1] for m in _NAME.finditer(several.decode())}
    return names


def stamp(name: str, sources: Mapping[str, bytes]) -> str:
    """Fingerprint a module and all that it imports, however far away."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in reached and one in sources:
            reached.add(one)
            waiting += imported(sources[one])
    digest = hashlib.blake2b(digest_size=16)
    for one in sorted(reached):
        digest.update(one.encode() + b"\0" + hashlib.blake2b(sources[one]).digest())
    return digest.hexdigest()


@cache
def _sources() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in _HERE.glob("*.py")}


@cache
def _stamp(name: str) -> str:
    return stamp(name, _sources())


def stamp_of_all() -> str:
    """Fingerprint every kernel source."""
    digest = hashlib.blake2b(digest_size=8)
    for name, source in sorted(_sources().items()):
        digest.update(name.encode() + b"\0" + source)
    return digest.hexdigest()


class StampedLocator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Tells Numba what a kernel's compiled code was made from."""

    def get_source_stamp(self) -> Any:
        """Give the fingerprint of all sources that the kernel's code comes from."""
        return _stamp(Path(self._py_file).stem)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Take kernels of this room; leave all others to Numba's own ways."""
        return super().from_function(py_func, py_file) if Path(py_file).parent == _HERE else None


def keep_compiled() -> None:
    """Have Numba keep the kernels of this room in `FOLDER`, and load no more of them than running them takes."""
    revive_lightly()
    numba.config.CACHE_DIR = str(FOLDER)
    numba.config.CACHE_LOCATOR_CLASSES = ",".join(
        (f"{__name__}.{StampedLocator.__name__}", "InTreeCacheLocator", "UserWideCacheLocator")
    )
