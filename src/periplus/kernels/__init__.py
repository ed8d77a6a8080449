"""Loops over arrays, compiled by Numba. This room knows no URL and no document, and imports nothing of ours.

In: NumPy arrays, related ones travelling as one NamedTuple. Out: NumPy arrays and numbers.
Every kernel is `@njit(cache=True, nogil=True)`, has a naive twin in tests/naive, and is called once by its module's
`warm` with the very types that production uses. `ready` compiles all of them once; later starts read the cache,
whose folder is named by a fingerprint of every kernel source, so that no stale code is ever run.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

import numba

__all__ = [
    "bare",
    "blocks",
    "cache_folder",
    "compiled",
    "html",
    "html_book",
    "html_extras",
    "html_gather",
    "html_rows",
    "html_tree",
    "invert",
    "lexicon",
    "lists",
    "match",
    "merge",
    "pack",
    "pagerank",
    "places",
    "ready",
    "simhash",
    "verify",
    "words",
]

_MODULES: Final = (
    "words",
    "invert",
    "lexicon",
    "lists",
    "places",
    "match",
    "merge",
    "verify",
    "pagerank",
    "blocks",
    "simhash",
    "html",
)
"""Imported by name, as `from periplus.kernels import words`: loading one does not load the others."""


def _sources() -> str:
    """Fingerprint every kernel source: a changed callee in another file must not leave a stale caller behind."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _choose_cache() -> Path:
    """Keep compiled code beside the sources where that can be written, else in the temporary folder of this user."""
    beside = Path(__file__).parent / "__pycache__"
    try:
        beside.mkdir(exist_ok=True)
        writable = os.access(beside, os.W_OK)
    except OSError:
        writable = False
    base = beside if writable else Path(tempfile.gettempdir()) / f"periplus-kernels-{os.getuid()}"
    return base / f"numba-{_sources()}"


_CACHE: Final = _choose_cache()
numba.config.CACHE_DIR = str(_CACHE)


def cache_folder() -> Path:
    """Say where compiled kernels are kept."""
    return _CACHE


def compiled() -> bool:
    """Say whether every kernel has been compiled on this machine."""
    return numba.config.DISABLE_JIT or (_CACHE / "complete").exists()


def ready(report: Callable[[str, int, int], None] = lambda stage, done, total: None) -> bool:
    """Compile every kernel once; give True if that had to be done, False if the cache was complete."""
    if compiled():
        return False
    for number, name in enumerate(_MODULES):
        report("compiling kernels", number, len(_MODULES))
        import_module(f"periplus.kernels.{name}").warm()
    report("compiling kernels", len(_MODULES), len(_MODULES))
    _sweep()
    (_CACHE / "complete").touch()
    return True


def _sweep() -> None:
    """Remove what earlier versions of the kernels left behind."""
    for old in _CACHE.parent.glob("numba-*"):
        if old != _CACHE:
            shutil.rmtree(old, ignore_errors=True)
