"""Borrowed array pointers: arrays passed to kernels as addresses, for the length of one call.

Two costs of calling a compiled kernel have nothing to do with its work. Unwrapping an array takes a fifth of a
microsecond, and a query has three dozen. And Numba counts the references to every array with atomic instructions, which
it cannot leave out of code with many branches: that took longer than the work itself. So a kernel that is called for
each query receives one array of addresses for each tuple of arrays, and makes uncounted array views of them. The caller
keeps the tuple alive meanwhile: `PinnedArrays` refers to both.

    pin                           write down the addresses of the arrays of a NamedTuple
    array_1d, array_2d, scalar    read one field back, inside a kernel, by its number in the tuple

`borrow` does the same inside compiled code: it turns one array into the pointer to its first element, for kernels of
many small functions. A borrowed pointer has no length; the kernel that borrows it checks the bounds. Without compiling,
a borrowed array is the array itself. Compiled code releases an array after the last statement that uses it, and a
pointer is no use: a kernel that borrows an array which it has made itself passes it to `keep` behind the last use of
the pointer.
"""

import struct
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numba import carray, config, njit, types
from numba.extending import intrinsic

__all__ = ["FIELD_WIDTH", "PinnedArrays", "array_1d", "array_2d", "borrow", "keep", "pin", "scalar"]

FIELD_WIDTH = 3
"""Entries of the address array for each field of a tuple: address, rows, columns; for a number, the number itself."""
_ADDRESS, _ROWS, _COLUMNS = 0, 1, 2
Tuple = TypeVar("Tuple", bound=NamedTuple)
_FLOAT, _FLOAT_BITS = struct.Struct("<d"), struct.Struct("<q")


class PinnedArrays(NamedTuple, Generic[Tuple]):
    """A tuple of arrays and numbers, and the addresses of its fields."""

    arrays: Tuple
    addresses: npt.NDArray[np.int64]


def pin(arrays: Tuple) -> PinnedArrays[Tuple]:
    """Return a tuple with the addresses of its arrays; its integers and floats are stored in place of an address."""
    entries: list[int] = []
    for field in arrays:
        if isinstance(field, np.ndarray):
            rows, columns = field.shape if field.ndim == 2 else (field.shape[0], 0)
            entries += (field.__array_interface__["data"][0], rows, columns)
        elif isinstance(field, float):
            entries += (*_FLOAT_BITS.unpack(_FLOAT.pack(field)), 0, 0)
        else:
            number = int(field)
            entries += (number if number < 1 << 63 else number - (1 << 64), 0, 0)
    return PinnedArrays(arrays, np.array(entries, np.int64))


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
def array_1d(addresses: Any, field: int, kind: Any) -> Any:  # pragma: no cover - compiled
    """Return a field that is an array of one dimension.

    Parameters
        addresses: int64 array of `PinnedArrays`
        field: number of the field in the tuple
        kind: NumPy type of the elements
    Returns
        a view of the array that is not reference-counted
    """
    at = FIELD_WIDTH * field
    return carray(_pointer(addresses[at + _ADDRESS], kind), (addresses[at + _ROWS],), kind)


@njit(cache=True, nogil=True, forceinline=True)
def array_2d(addresses: Any, field: int, kind: Any) -> Any:  # pragma: no cover - compiled
    """Return a field that is an array of two dimensions; parameters as for `array_1d`."""
    at = FIELD_WIDTH * field
    return carray(_pointer(addresses[at + _ADDRESS], kind), (addresses[at + _ROWS], addresses[at + _COLUMNS]), kind)


@njit(cache=True, nogil=True, forceinline=True)
def scalar(addresses: Any, field: int, kind: Any) -> Any:  # pragma: no cover - compiled
    """Return a field that is a number; parameters as for `array_1d`."""
    return addresses[FIELD_WIDTH * field : FIELD_WIDTH * field + 1].view(kind)[0]


def _borrow(typing: Any, array: Any) -> Any:
    """Return the address of an array's first element."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


def _keep(typing: Any, arrays: Any) -> Any:
    """Do nothing with a tuple of arrays, which live until here."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.void(arrays), generate


keep = (lambda arrays: None) if config.DISABLE_JIT else intrinsic(_keep)
borrow = (lambda array: array) if config.DISABLE_JIT else intrinsic(_borrow)
