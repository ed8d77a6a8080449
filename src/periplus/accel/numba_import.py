"""Imports Numba without packages that it would import if they are installed, and that kernels do not need.

These are PyYAML, for settings in a file of the current folder; coverage, to report compiled lines; and SciPy, whose
version it looks at. They take a fifth of the time of the import. A package that is loaded already is left alone.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

__all__ = ["njit"]

_NOT_NEEDED: Final = frozenset({"coverage", "scipy", "yaml"})


class _Hider:
    """The first finder of `sys.meta_path`: for one thread, some packages are not there."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names, self._thread = names, threading.get_ident()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise `ModuleNotFoundError` for a package that is hidden; leave others to the next finder."""
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@contextlib.contextmanager
def _hidden(names: frozenset[str]) -> Iterator[None]:
    """Within the block, imports of these packages by this thread fail unless they are loaded already."""
    hider = _Hider(names)
    sys.meta_path.insert(0, hider)
    try:
        yield
    finally:
        sys.meta_path.remove(hider)


with _hidden(_NOT_NEEDED):
    from numba import njit
