"""The HTML kernel with every access to an array checked: addresses have no length, so that nothing else would notice.

NUMBA_DISABLE_JIT=1 .venv/bin/python tests/parse/bounds_html.py [COUNT] [SEED]

Runs without compiling, each array in a wrapper that knows its length; a negative index is an error too.
"""

import sys
import warnings

from fuzz_html import fuzz
from numba import config

from periplus.parse.html.kernels import text_blocks
from periplus.parse.kernels import html, html_columns


class Checked:
    """An array that is only read and written within its bounds."""

    def __init__(self, array):
        self.array = array
        self.size = len(array)

    def _check(self, index):
        first, last = (index.start, index.stop) if isinstance(index, slice) else (index, index + 1)
        assert 0 <= first <= last <= self.size, (index, self.size)

    def __getitem__(self, index):
        self._check(index)
        return self.array[index]

    def __setitem__(self, index, value):
        self._check(index)
        self.array[index] = value


if __name__ == "__main__":
    assert config.DISABLE_JIT, "compiled code checks nothing"
    warnings.simplefilter("ignore", RuntimeWarning)  # hashes overflow, and are meant to
    text_blocks.borrow = html.borrow = html_columns.borrow = Checked
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    fuzz(number, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{number:,} pages read within bounds")
