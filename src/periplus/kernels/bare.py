"""Arrays without their reference counts, for the length of one call.

Numba counts the users of every array that a function is given, with atomic instructions, and cannot leave that out of
code with many branches: a small kernel called with three dozen arrays spent more time on it than on its work. The
caller of a kernel keeps its arrays alive, so that within it nobody needs to count.
"""

from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

__all__ = ["bare"]

if config.DISABLE_JIT:

    def bare(arrays: Any) -> Any:
        """Give the same tuple."""
        return arrays

else:

    @intrinsic
    def bare(typing: Any, arrays: Any) -> Any:  # pragma: no cover - compiled
        """Give the same tuple of arrays and numbers; its arrays are not counted."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, value = signature.args[0], arguments[0]
            for number, part in enumerate(kind.types):
                if isinstance(part, types.Array):
                    held = builder.extract_value(value, number)
                    array = context.make_array(part)(context, builder, held)
                    array.meminfo = cgutils.get_null_value(array.meminfo.type)
                    array.parent = cgutils.get_null_value(array.parent.type)
                    value = builder.insert_value(value, array._getvalue(), number)
            return impl_ret_borrowed(context, builder, signature.return_type, value)

        return arrays(arrays), generate
