"""Arrays without a counted reference, for kernels of many small functions.

Numba counts a reference, with a locked instruction, whenever an array is handed on; with some ten of them for each tag
of a page that took half of the time. A borrowed array is not counted: whoever lends it keeps it until the call is over.
"""

from typing import Any

from numba import config
from numba.extending import intrinsic

__all__ = ["borrow"]


def _borrow(typing: Any, array: Any) -> Any:
    """Give the same array, not counted."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        view.meminfo = view.meminfo.type(None)
        view.parent = view.parent.type(None)
        return view._getvalue()

    return array(array), generate


borrow = (lambda array: array) if config.DISABLE_JIT else intrinsic(_borrow)
