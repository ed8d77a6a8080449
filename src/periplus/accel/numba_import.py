"""Imports Numba without packages that it would import if they are installed, and that kernels do not need.

These are PyYAML, for settings in a file of the current folder; coverage, to report compiled lines; and SciPy, whose
version it looks at. They take a fifth of the time of the import. A package that is loaded already is left alone.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import Final

__all__ = ["njit"]

_NOT_NEEDED: Final = ("coverage", "scipy", "yaml")


@contextlib.contextmanager
def _hidden(names: tuple[str, ...]) -> Iterator[None]:
    """Within the block, imports of these packages fail unless they are loaded already."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name) is None:
                sys.modules.pop(name, None)


with _hidden(_NOT_NEEDED):
    from numba import njit
