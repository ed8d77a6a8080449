"""Borrowed array pointers: arrays passed to kernels as addresses, for the length of one call.

Two costs of calling a compiled kernel have nothing to do with its work. Unwrapping an array takes a fifth of a
microsecond, and a query has three dozen. And Numba counts the users of every array with atomic instructions, which it
cannot leave out of code with many branches: that took longer than the work itself. So a kernel that is called for each
query is given one array of addresses for each tuple of arrays, and makes arrays of them that are not counted. Its
caller keeps the tuples alive meanwhile: `Handle` holds both.

`borrow` does the same inside compiled code: it turns one array into the pointer to its first element, for kernels of
many small functions. A borrowed pointer has no length; the kernel that borrows it checks the bounds. Without compiling,
a borrowed array is the array itself.
"""

import struct
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numba import carray, config, njit, types
from numba.extending import intrinsic

__all__ = ["WIDTH", "Handle", "borrow", "flat", "hold", "number", "table"]

WIDTH = 3
"""Numbers for each field of a tuple: address, rows, columns; for a number, itself."""
Tuple = TypeVar("Tuple", bound=NamedTuple)
_FRACTION, _FRACTION_AS_NUMBER = struct.Struct("<d"), struct.Struct("<q")


class Handle(NamedTuple, Generic[Tuple]):
    """A tuple of arrays and numbers, and where they are."""

    held: Tuple
    addresses: npt.NDArray[np.int64]


def hold(held: Tuple) -> Handle[Tuple]:
    """Write down where the arrays of a tuple are; its whole numbers and fractions are written down themselves."""
    written: list[int] = []
    for part in held:
        if isinstance(part, np.ndarray):
            rows, columns = part.shape if part.ndim == 2 else (part.shape[0], 0)
            written += (part.__array_interface__["data"][0], rows, columns)
        elif isinstance(part, float):
            written += (*_FRACTION_AS_NUMBER.unpack(_FRACTION.pack(part)), 0, 0)
        else:
            number = int(part)
            written += (number if number < 1 << 63 else number - (1 << 64), 0, 0)
    return Handle(held, np.array(written, np.int64))


if config.DISABLE_JIT:
    import ctypes

    def _pointer(address: Any, kind: Any) -> Any:
        return ctypes.cast(int(address), ctypes.POINTER(np.ctypeslib.as_ctypes_type(kind)))

else:

    @intrinsic
    def _pointer(typing: Any, address: Any, kind: Any) -> Any:  # pragma: no cover - compiled
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind.dtype)(types.int64, kind), generate


@njit(cache=True, nogil=True, forceinline=True)
def flat(addresses: Any, field: int, kind: Any) -> Any:  # pragma: no cover - compiled
    """Give a field that is an array of one dimension."""
    at = WIDTH * field
    return carray(_pointer(addresses[at], kind), (addresses[at + 1],), kind)


@njit(cache=True, nogil=True, forceinline=True)
def table(addresses: Any, field: int, kind: Any) -> Any:  # pragma: no cover - compiled
    """Give a field that is an array of two dimensions."""
    at = WIDTH * field
    return carray(_pointer(addresses[at], kind), (addresses[at + 1], addresses[at + 2]), kind)


@njit(cache=True, nogil=True, forceinline=True)
def number(addresses: Any, field: int, kind: Any) -> Any:  # pragma: no cover - compiled
    """Give a field that is a number."""
    return addresses[WIDTH * field : WIDTH * field + 1].view(kind)[0]


def _borrow(typing: Any, array: Any) -> Any:
    """Give the address of an array's first element."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


borrow = (lambda array: array) if config.DISABLE_JIT else intrinsic(_borrow)
