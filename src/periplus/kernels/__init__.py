"""Loops over arrays, compiled by Numba. This room knows no URL and no document, and imports nothing of ours.

In: NumPy arrays, related ones travelling as one NamedTuple. Out: NumPy arrays and numbers.
Every kernel is `@njit(cache=True, nogil=True)`, has a naive twin in tests/naive, and is called once by its module's
`warm` with the very types that production uses. `ready` compiles all of them once; later starts read the cache. What
is kept there carries a fingerprint of all sources it was made from (`cache`), so that no stale code is ever run.
"""

import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

import numba

from periplus.kernels.cache import FOLDER, keep_compiled, stamp_of_all

__all__ = [
    "adjacency",
    "bare",
    "blocks",
    "cache_folder",
    "clean",
    "compiled",
    "completions",
    "crossing",
    "drafts",
    "features",
    "find",
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
    "program",
    "quality",
    "ready",
    "simhash",
    "slips",
    "snippets",
    "spans",
    "spelling",
    "strings",
    "topic",
    "trees",
    "vectors",
    "verify",
    "vocabulary",
    "words",
]

_MODULES: Final = (
    "words",
    "invert",
    "drafts",
    "lexicon",
    "find",
    "lists",
    "places",
    "match",
    "features",
    "quality",
    "trees",
    "merge",
    "strings",
    "snippets",
    "verify",
    "adjacency",
    "pagerank",
    "crossing",
    "blocks",
    "simhash",
    "vectors",
    "html",
    "topic",
    "vocabulary",
    "slips",
    "spelling",
    "completions",
)
"""Imported by name, as `from periplus.kernels import words`: loading one does not load the others."""


keep_compiled()
_COMPLETE: Final = FOLDER / f"complete-{stamp_of_all()}"


def cache_folder() -> Path:
    """Say where compiled kernels are kept."""
    return FOLDER


def compiled() -> bool:
    """Say whether every kernel has been compiled on this machine."""
    return numba.config.DISABLE_JIT or _COMPLETE.exists()


def ready(report: Callable[[str, int, int], None] = lambda stage, done, total: None) -> bool:
    """Compile every kernel once; give True if that had to be done, False if the cache was complete."""
    if compiled():
        return False
    for number, name in enumerate(_MODULES):
        report("compiling kernels", number, len(_MODULES))
        import_module(f"periplus.kernels.{name}").warm()
    report("compiling kernels", len(_MODULES), len(_MODULES))
    _sweep()
    _COMPLETE.touch()
    return True


def _sweep() -> None:
    """Remove what earlier versions of the kernels left behind."""
    for old in FOLDER.parent.glob("numba-*"):
        if old != FOLDER:
            shutil.rmtree(old, ignore_errors=True)
    for mark in FOLDER.glob("complete-*"):
        mark.unlink(missing_ok=True)
