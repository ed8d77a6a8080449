"""64-bit words by processor instructions: lowest set bit, number of set bits, eight bytes read at once or ahead."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["load_uint64", "lowest_bit", "popcount", "prefetch_bytes"]

if config.DISABLE_JIT:

    def lowest_bit(word: Any) -> int:
        """Return the number of the lowest set bit; `word` must not be 0."""
        return (int(word) & -int(word)).bit_length() - 1

    def popcount(word: Any) -> int:
        """Return how many bits are set."""
        return int(word).bit_count()

    def load_uint64(data: Any, at: int) -> Any:
        """Return the eight bytes at `at` as an integer, low byte first."""
        return np.frombuffer(data[at : at + 8].tobytes().ljust(8, b"\0"), np.uint64)[0]

    def prefetch_bytes(data: Any, at: Any) -> None:
        """Have the processor read the 64 bytes around `at`, which will be needed soon."""

else:

    @intrinsic
    def lowest_bit(typing: Any, word: Any) -> Any:  # pragma: no cover - compiled
        """Return the number of the lowest set bit; `word` must not be 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

        return types.int64(types.uint64), generate

    @intrinsic
    def popcount(typing: Any, word: Any) -> Any:  # pragma: no cover - compiled
        """Return how many bits are set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def load_uint64(typing: Any, data: Any, at: Any) -> Any:  # pragma: no cover - compiled
        """Return the eight bytes at `at` as an integer, low byte first; the array, borrowed or not, has them."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = arguments[0]
            if isinstance(signature.args[0], types.Array):
                array = context.make_array(signature.args[0])(context, builder, array).data
            address = builder.gep(array, [arguments[1]], source_etype=ir.IntType(8))
            word = builder.bitcast(address, context.get_value_type(types.uint64).as_pointer())
            return builder.load(word, align=1)

        return types.uint64(data, types.int64), generate

    @intrinsic
    def prefetch_bytes(typing: Any, data: Any, at: Any) -> Any:  # pragma: no cover - compiled
        """Have the processor read the 64 bytes around `at` of a borrowed array, if they exist: they are needed soon."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            address = builder.gep(arguments[0], [arguments[1]], source_etype=ir.IntType(8))
            # To be read, into all caches, as data.
            builder.call(prefetch, [builder.bitcast(address, pointer), number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(data, types.int64), generate
