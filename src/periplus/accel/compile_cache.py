"""Where compiled kernels are stored, and when they are stale.

Compiled code contains the code of its callees, from other files too. So each kernel is stamped with a fingerprint of
its module and of every kernel module that one imports, however indirectly; Numba recompiles what has another stamp, and
nothing else. Compiled code refers to the record types of its arguments by name, so a renamed one needs a new folder.
"""

import atexit
import hashlib
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.caching import UserProvidedCacheLocator

from periplus.accel.lazy_loading import install_lazy_loading
from periplus.accel.private_folder import is_private, make_private
from periplus.settings_section import cache_folder

__all__ = [
    "FOLDER",
    "StampedLocator",
    "fingerprint",
    "fingerprint_all",
    "install_cache",
    "kernel_sources",
    "reached_modules",
]

_ACCEL: Final = Path(__file__).parent
_PACKAGE: Final = _ACCEL.parent
_PATTERNS: Final = ("accel/*.py", "*/kernels.py", "*/kernels/*.py", "*/*/kernels.py", "*/*/kernels/*.py")
"""Where kernel modules are, below the package."""
_IMPORTS: Final = re.compile(rb"^[ \t]*from periplus\.([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME: Final = re.compile(r"(\w+)(?: as \w+)?")
_CLASS: Final = re.compile(rb"^class (\w+)", re.MULTILINE)


def _choose_folder() -> Path:
    """Return a folder that only this user, or root, can write to, for what numba and the kernels are now.

    That is a folder beside the sources, else one in the user's cache folder. If others can write to both, it is a
    temporary one of this process.
    """
    # Code that checks the bounds of arrays is stored apart: Numba would take one for the other.
    checked = "-checked" if numba.config.BOUNDSCHECK else ""
    name = f"numba-{numba.__version__}-{fingerprint_types(kernel_sources())}{checked}"
    for base in (_ACCEL / "__pycache__", cache_folder() / "kernels"):
        folder = prepare_folder(base, name)
        if folder is not None:
            return folder
    return _temporary_folder(name)


def prepare_folder(base: Path, name: str) -> Path | None:
    """Return the folder `name` below `base`, made if it is missing; None if others can write to it, or we cannot."""
    folder = base / name
    if not base.is_dir() and not make_private(base):
        return None
    if not is_private(base) or not os.access(base, os.W_OK | os.X_OK):
        return None
    try:
        # Whatever the umask is, nobody else reaches the files that Numba writes there.
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return folder if is_private(folder) and os.access(folder, os.W_OK | os.X_OK) else None


def _temporary_folder(name: str) -> Path:
    """Return a new folder that is deleted when this process ends."""
    owner = os.getpid()
    base = Path(tempfile.mkdtemp(prefix="periplus-kernels-"))

    def delete() -> None:
        if os.getpid() == owner:
            shutil.rmtree(base, ignore_errors=True)

    atexit.register(delete)
    warnings.warn(
        f"Others can write to the folders for compiled kernels ({_ACCEL / '__pycache__'}, {cache_folder()}), or this "
        "user cannot. Kernels are compiled again in every process. Set XDG_CACHE_HOME to a folder of your own.",
        RuntimeWarning,
        stacklevel=2,
    )
    return base / name


@cache
def kernel_sources() -> dict[str, bytes]:
    """Return the source of every kernel module by its dotted name below the package, 'index.kernels.positions'."""
    return {_name_of(path): path.read_bytes() for pattern in _PATTERNS for path in _PACKAGE.glob(pattern)}


def _name_of(path: Path) -> str:
    return ".".join(path.relative_to(_PACKAGE).with_suffix("").parts)


def fingerprint_types(sources: Mapping[str, bytes]) -> str:
    """Return a fingerprint of the names of all record types: Numba cannot even read what refers to one that is gone."""
    names = (
        f"{name}:{match[1].decode()}" for name, source in sorted(sources.items()) for match in _CLASS.finditer(source)
    )
    return hashlib.blake2b("\n".join(names).encode(), digest_size=4).hexdigest()


def imported(source: bytes) -> set[str]:
    """Return the dotted names of all modules of the package that a source may import."""
    names: set[str] = set()
    for module, imports in _IMPORTS.findall(source):
        base = module.decode()
        names |= {base, *(f"{base}.{match[1]}" for match in _NAME.finditer(imports.decode()))}
    return names


def reached_modules(name: str, sources: Mapping[str, bytes]) -> set[str]:
    """Return a module and all that it imports, however indirectly."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module not in reached and module in sources:
            reached.add(module)
            waiting += imported(sources[module])
    return reached


def fingerprint(name: str, sources: Mapping[str, bytes]) -> str:
    """Return the fingerprint of a module and of all that it imports, however indirectly."""
    digest = hashlib.blake2b(digest_size=16)
    for module in sorted(reached_modules(name, sources)):
        digest.update(module.encode() + b"\0" + hashlib.blake2b(sources[module]).digest())
    return digest.hexdigest()


@cache
def _fingerprint(name: str) -> str:
    return fingerprint(name, kernel_sources())


def fingerprint_all() -> str:
    """Return the fingerprint of every kernel source."""
    digest = hashlib.blake2b(digest_size=8)
    for name, source in sorted(kernel_sources().items()):
        digest.update(name.encode() + b"\0" + source)
    return digest.hexdigest()


FOLDER: Final = _choose_folder()


class StampedLocator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Tells Numba which sources the compiled code of a kernel was made from."""

    def get_source_stamp(self) -> Any:
        """Return the fingerprint of all sources that the kernel's code comes from."""
        return _fingerprint(_name_of(Path(self._py_file)))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return a locator for a kernel of this package, None for any other function."""
        path = Path(py_file)
        known = path.is_relative_to(_PACKAGE) and _name_of(path) in kernel_sources()
        return super().from_function(py_func, py_file) if known else None


def install_cache() -> None:
    """Have Numba store the kernels of this package in `FOLDER`, and load no more of them than running them takes."""
    install_lazy_loading()
    numba.config.CACHE_DIR = str(FOLDER)
    numba.config.CACHE_LOCATOR_CLASSES = ",".join(
        (f"{__name__}.{StampedLocator.__name__}", "InTreeCacheLocator", "UserWideCacheLocator")
    )
