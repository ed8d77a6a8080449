"""Scans over 32 bytes at a time: to the end of a quoted value, a run of text, a value without references.

Each function reads 32 bytes, all of which must exist, and returns how many of them precede the first that ends the run,
32 if none does, or how many of them are of a kind. They are written as LLVM vectors, which every processor has
instructions for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

__all__ = [
    "LANES",
    "SLOTS",
    "add_floats",
    "copy_lanes",
    "count_byte",
    "count_visible",
    "mask_nonzero",
    "scan_to_byte",
    "scan_to_markup",
    "scan_to_reference",
    "scan_to_slot",
]

LANES = np.int64(32)
_LANES, _FLOATS = 32, 16
SLOTS = 4
"""Numbers that `scan_to_slot` reads."""
_BYTE, _VECTOR, _MASK = ir.IntType(8), ir.VectorType(ir.IntType(8), _LANES), ir.IntType(_LANES)
_WIDE = ir.IntType(64)


def _all(byte: int) -> Any:
    return ir.Constant(_VECTOR, [byte] * _LANES)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Return the address of an element of an array, or of a borrowed pointer."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(array, [at], source_etype=_BYTE), _VECTOR.as_pointer())


def _load(context: Any, builder: Any, signature: Any, arguments: Any, shift: int = 0) -> Any:
    at = builder.add(arguments[1], ir.Constant(_WIDE, shift)) if shift else arguments[1]
    address = _address(context, builder, signature.args[0], arguments[0], at)
    return builder.load(address, align=1, typ=_VECTOR)


def _first(builder: Any, found: Any) -> Any:
    """Return the number of the first lane that is set, or how many lanes there are."""
    mask = builder.zext(builder.bitcast(found, _MASK), _WIDE)
    return builder.cttz(builder.or_(mask, ir.Constant(_WIDE, 1 << _LANES)), ir.Constant(ir.IntType(1), 1))


def _count(builder: Any, found: Any) -> Any:
    """Return the number of lanes that are set."""
    return builder.ctpop(builder.zext(builder.bitcast(found, _MASK), _WIDE))


def _is_byte(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return which of 32 bytes are the byte of the third argument."""
    wanted = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
    wanted = builder.shuffle_vector(wanted, wanted, zeros)
    return builder.icmp_unsigned("==", _load(context, builder, signature, arguments), wanted)


def _scan_to_byte(typing: Any, data: Any, at: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _first(builder, _is_byte(context, builder, signature, arguments))

    return types.int64(data, types.int64, types.uint8), generate


def _count_byte(typing: Any, data: Any, at: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _count(builder, _is_byte(context, builder, signature, arguments))

    return types.int64(data, types.int64, types.uint8), generate


def _mask_nonzero(typing: Any, data: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.icmp_unsigned("!=", _load(context, builder, signature, arguments), _all(0))
        return builder.zext(builder.bitcast(found, _MASK), _WIDE)

    return types.uint64(data, types.int64), generate


def _count_visible(typing: Any, data: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        here = _load(context, builder, signature, arguments)
        # As signed numbers, bytes from 0x80 to 0xBF, which continue a character, are the lowest.
        begins = builder.icmp_signed(">=", here, _all(0xC0))
        visible = builder.and_(begins, builder.icmp_unsigned(">", here, _all(32)))
        wide = builder.icmp_unsigned("<=", builder.sub(here, _all(0xE3)), _all(0xED - 0xE3))
        return builder.add(_count(builder, visible), _count(builder, wide))

    return types.int64(data, types.int64), generate


def _scan_to_markup(typing: Any, data: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        here = _load(context, builder, signature, arguments)
        after = _load(context, builder, signature, arguments, 1)
        # As signed numbers, all bytes beyond ASCII are below the space too.
        found = builder.icmp_signed("<", here, _all(32))
        for byte in (60, 38, 127):
            found = builder.or_(found, builder.icmp_unsigned("==", here, _all(byte)))
        spaces = [builder.icmp_unsigned("==", vector, _all(32)) for vector in (here, after)]
        return _first(builder, builder.or_(found, builder.and_(*spaces)))

    return types.int64(data, types.int64), generate


def _scan_to_reference(typing: Any, data: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        here = _load(context, builder, signature, arguments)
        found = builder.icmp_unsigned("==", here, _all(38))
        for byte in (0, 13):
            found = builder.or_(found, builder.icmp_unsigned("==", here, _all(byte)))
        return _first(builder, found)

    return types.int64(data, types.int64), generate


def _scan_to_slot(typing: Any, table: Any, at: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, array = signature.args[0], arguments[0]
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, array).data
        numbers = ir.VectorType(_WIDE, SLOTS)
        address = builder.bitcast(builder.gep(array, [arguments[1]], source_etype=_WIDE), numbers.as_pointer())
        here = builder.load(address, align=8, typ=numbers)
        wanted = builder.insert_element(
            ir.Constant(numbers, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), SLOTS), [0] * SLOTS)
        wanted = builder.shuffle_vector(wanted, wanted, zeros)
        is_free = builder.icmp_unsigned("==", here, ir.Constant(numbers, [0] * SLOTS))
        found = builder.or_(is_free, builder.icmp_unsigned("==", here, wanted))
        mask = builder.zext(builder.bitcast(found, ir.IntType(SLOTS)), _WIDE)
        return builder.cttz(builder.or_(mask, ir.Constant(_WIDE, 1 << SLOTS)), ir.Constant(ir.IntType(1), 1))

    return types.int64(table, types.int64, types.uint64), generate


def _copy_lanes(typing: Any, data: Any, at: Any, out: Any, used: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[2], arguments[2], arguments[3])
        builder.store(_load(context, builder, signature, arguments), address, align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, out, types.int64), generate


def _add_floats(typing: Any, source: Any, at: Any, target: Any, to: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, addresses = ir.VectorType(ir.FloatType(), _FLOATS), []
        for array, begin in (arguments[:2], arguments[2:]):
            address = builder.gep(array, [begin], source_etype=ir.FloatType())
            addresses.append(builder.bitcast(address, kind.as_pointer()))
        added, before = (builder.load(address, align=4, typ=kind) for address in addresses)
        builder.store(builder.fadd(before, added), addresses[1], align=4)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), generate


def _scalar_scan(ends: Callable[[Any, int], bool]) -> Callable[..., int]:
    return lambda data, at: next((i for i in range(_LANES) if ends(data, at + i)), _LANES)


def _ends_text(data: Any, at: int) -> bool:
    return not 32 <= data[at] < 127 or data[at] in (60, 38) or (data[at] == 32 and data[at + 1] == 32)


def _visible(byte: int) -> int:
    return int(byte > 32 and byte & 0xC0 != 0x80) + int(0xE3 <= byte <= 0xED)


def _add_scalar(source: Any, at: Any, target: Any, to: Any) -> None:
    target[to : to + _FLOATS] += source[at : at + _FLOATS]


def _copy_scalar(data: Any, at: int, out: Any, used: int) -> None:
    out[used : used + _LANES] = data[at : at + _LANES]


if config.DISABLE_JIT:
    scan_to_markup = _scalar_scan(_ends_text)
    scan_to_reference = _scalar_scan(lambda data, at: data[at] in (0, 13, 38))
    copy_lanes, add_floats = _copy_scalar, _add_scalar

    def scan_to_byte(data: Any, at: int, byte: int) -> int:
        """Scan to a byte."""
        return _scalar_scan(lambda data, at: bool(data[at] == byte))(data, at)

    def scan_to_slot(table: Any, at: Any, value: Any) -> int:
        """Scan to a number or 0."""
        return next((slot for slot in range(SLOTS) if table[at + slot] in (0, value)), SLOTS)

    def count_byte(data: Any, at: int, byte: Any) -> int:
        """Count a byte."""
        return sum(int(data[at + lane] == byte) for lane in range(_LANES))

    def mask_nonzero(data: Any, at: int) -> Any:
        """List bytes that are not 0."""
        return np.uint64(sum(1 << lane for lane in range(_LANES) if data[at + lane]))

    def count_visible(data: Any, at: int) -> int:
        """Count visible characters."""
        return sum(_visible(int(data[at + lane])) for lane in range(_LANES))
else:
    scan_to_byte = intrinsic(_scan_to_byte)
    """Scan to a byte."""
    count_byte = intrinsic(_count_byte)
    """Count a byte."""
    mask_nonzero = intrinsic(_mask_nonzero)
    """List which of 32 bytes are not 0, as the bits of a number (uint64), the first byte in the lowest."""
    count_visible = intrinsic(_count_visible)
    """Count the bytes above the space that do not continue a character in UTF-8, those from 0xE3 to 0xED twice."""
    scan_to_markup = intrinsic(_scan_to_markup)
    """Scan to what text cannot be copied with as it is: markup, references, control characters, non-ASCII bytes, and
    the first of two spaces; one byte more must exist."""
    scan_to_reference = intrinsic(_scan_to_reference)
    """Scan to what an attribute value cannot be copied with as it is: references, NUL, carriage return."""
    add_floats = intrinsic(_add_floats)
    """Add 16 numbers of 32 bits to 16 others; both arrays are borrowed."""
    scan_to_slot = intrinsic(_scan_to_slot)
    """Scan `SLOTS` numbers (uint64) of a hash table to the first that is 0 or a given one; all of them must exist."""
    copy_lanes = intrinsic(_copy_lanes)
    """Copy 32 bytes."""
