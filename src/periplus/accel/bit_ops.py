"""Words of 64 bits by the processor's own instructions: the lowest bit, how many are set, eight bytes read at once."""

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

__all__ = ["load_uint64", "lowest_bit", "popcount"]

if config.DISABLE_JIT:

    def lowest_bit(word: Any) -> int:
        """Give the number of the lowest bit that is set; `word` must not be 0."""
        return (int(word) & -int(word)).bit_length() - 1

    def popcount(word: Any) -> int:
        """Give how many bits are set."""
        return int(word).bit_count()

    def load_uint64(data: Any, at: int) -> Any:
        """Give the eight bytes at `at` as a number, low byte first."""
        return np.frombuffer(data[at : at + 8].tobytes().ljust(8, b"\0"), np.uint64)[0]

else:

    @intrinsic
    def lowest_bit(typing: Any, word: Any) -> Any:  # pragma: no cover - compiled
        """Give the number of the lowest bit that is set; `word` must not be 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

        return types.int64(types.uint64), generate

    @intrinsic
    def popcount(typing: Any, word: Any) -> Any:  # pragma: no cover - compiled
        """Give how many bits are set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def load_uint64(typing: Any, data: Any, at: Any) -> Any:  # pragma: no cover - compiled
        """Give the eight bytes at `at` as a number, low byte first; the array must have them."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            word = builder.bitcast(place, context.get_value_type(types.uint64).as_pointer())
            return builder.load(word, align=1)

        return types.uint64(data, types.int64), generate
