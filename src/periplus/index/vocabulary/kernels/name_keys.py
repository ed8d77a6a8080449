"""Name keys of queries: the hashes of letters, of all names that one query may mean by one call."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["hash_letters"]

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


@njit(cache=True, nogil=True)
def hash_letters(
    letters: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:  # pragma: no cover - compiled
    """Return the key of each name, as `name_words.hash_names` computes it; 0 for one without letters.

    Parameters
        letters, start: the letters of all names, and where those of each begin
    """
    keys = np.zeros(len(start) - 1, np.uint64)
    for name in range(len(keys)):
        hashed = _SEED
        for at in range(start[name], start[name + 1]):
            hashed = (hashed ^ np.uint64(letters[at])) * _PRIME
        if start[name] < start[name + 1]:
            keys[name] = hashed | np.uint64(1)
    return keys


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    hash_letters(np.frombuffer(b"a", np.uint8), np.array([0, 1], np.int64))
