"""Splits a stream of JSON into its elements: a loop over bytes, which decodes nothing."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["AFTER", "BEFORE", "WITHIN", "scan_elements"]

BEFORE, WITHIN, AFTER = 0, 1, 2
"""Where a scan is: before or without an array, within one, behind its end."""


@njit(cache=True, nogil=True)
def scan_elements(
    data: npt.NDArray[np.uint8], where: int, spans: npt.NDArray[np.int64]
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Find the complete elements of an array, or values one after the other: strings and brackets are followed.

    Returns
        how many elements were found (as many as `spans` has rows for, at most), how many bytes are done with, and where
        the scan is then
    """
    at, count = 0, 0
    while at < len(data) and count < len(spans):
        byte = data[at]
        if byte in (32, 9, 10, 13) or (where == WITHIN and byte == 44):
            at += 1
            continue
        if where == BEFORE and byte == 91:
            where = WITHIN
            at += 1
            continue
        if where == WITHIN and byte == 93:
            where = AFTER
            at += 1
            continue
        end, depth, quoted, complete = at, 0, False, False
        while end < len(data) and not complete:
            byte = data[end]
            if quoted:
                if byte == 92:
                    end += 1
                elif byte == 34:
                    quoted = False
                    complete = depth == 0
            elif byte == 34:
                quoted = True
            elif byte in (123, 91):
                depth += 1
            elif byte in (125, 93):
                depth -= 1
                if depth < 0 and end > at:
                    complete = True
                    break
                complete = depth <= 0
            elif depth == 0 and byte in (32, 9, 10, 13, 44) and end > at:
                complete = True
                break
            end += 1
        if not complete:
            break
        spans[count, 0], spans[count, 1] = at, end
        count += 1
        at = end
    return count, at, where


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data = np.frombuffer(b'[{"a": "b"}]', np.uint8)
    scan_elements(data, BEFORE, np.zeros((4, 2), np.int64))
