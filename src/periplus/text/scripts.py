"""Scripts: which script a code point belongs to, and which languages are written in a script."""

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.text.kernels.script_finder import SCRIPT_BLOCKS
from periplus.text.language_codes import LANGUAGE_ENTRIES

__all__ = ["SCRIPTS", "languages_by_script", "script_blocks"]

_RANGES: Final = {
    "Latn": ((0x00C0, 0x02AF), (0x1E00, 0x1EFF)),
    "Cyrl": ((0x0400, 0x052F),),
    "Arab": ((0x0600, 0x06FF), (0x0750, 0x077F), (0x08A0, 0x08FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)),
    "Deva": ((0x0900, 0x097F),),
    "Hani": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FFFF)),
    "Jpan": ((0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF60, 0xFF9F)),
    "Hang": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)),
    "Thai": ((0x0E00, 0x0E7F),),
    "Laoo": ((0x0E80, 0x0EFF),),
    "Khmr": ((0x1780, 0x17FF),),
    "Mymr": ((0x1000, 0x109F),),
    "Tibt": ((0x0F00, 0x0FFF),),
    "Hebr": ((0x0590, 0x05FF), (0xFB10, 0xFB4F)),
    "Grek": ((0x0370, 0x03FF), (0x1F00, 0x1FFF)),
    "Armn": ((0x0530, 0x058F),),
    "Geor": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2F)),
    "Beng": ((0x0980, 0x09FF),),
    "Guru": ((0x0A00, 0x0A7F),),
    "Gujr": ((0x0A80, 0x0AFF),),
    "Orya": ((0x0B00, 0x0B7F),),
    "Taml": ((0x0B80, 0x0BFF),),
    "Telu": ((0x0C00, 0x0C7F),),
    "Knda": ((0x0C80, 0x0CFF),),
    "Mlym": ((0x0D00, 0x0D7F),),
    "Sinh": ((0x0D80, 0x0DFF),),
    "Thaa": ((0x0780, 0x07BF),),
    "Ethi": ((0x1200, 0x139F), (0x2D80, 0x2DDF)),
}
SCRIPTS: Final = ("", *_RANGES)
"""ISO 15924 codes of scripts by number; 0 is for digits, punctuation and all other scripts, 1 is Latin."""


@functools.cache
def script_blocks() -> npt.NDArray[np.uint8]:
    """Return the number of the script of each block of 16 code points."""
    blocks = np.zeros(SCRIPT_BLOCKS, np.uint8)
    for number, ranges in enumerate(_RANGES.values(), 1):
        for low, high in ranges:
            blocks[low >> 4 : (high >> 4) + 1] = number
    return blocks


@functools.cache
def languages_by_script() -> npt.NDArray[np.bool_]:
    """Return, a row for each script, whether each language (by number) is written in it."""
    table = np.zeros((len(SCRIPTS), len(LANGUAGE_ENTRIES)), np.bool_)
    for number, entry in enumerate(LANGUAGE_ENTRIES):
        for script in entry.scripts:
            table[SCRIPTS.index(script), number] = True
    return table
