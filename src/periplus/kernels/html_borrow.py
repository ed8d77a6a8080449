"""Arrays as bare addresses, for kernels of many small functions.

Numba hands an array on as seven numbers and counts a reference to it, with a locked instruction; with some ten calls
for each tag of a page that took more than half of the time. An address is one number, and not counted: whoever lends
the array keeps it until the call is over. There is no length to it either: what is within bounds is for the kernel to
know. Without compiling, an address is the array itself.
"""

from typing import Any

from numba import config, types
from numba.extending import intrinsic

__all__ = ["borrow"]


def _borrow(typing: Any, array: Any) -> Any:
    """Give the address of an array's first element."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


borrow = (lambda array: array) if config.DISABLE_JIT else intrinsic(_borrow)
