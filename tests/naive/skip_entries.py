"""Skip entries by definition: differences to the row before as variable-length integers, one byte 0 for a first row."""

from itertools import pairwise

from naive.adjacency import number

Row = tuple[int, int, int]


def pack(rows: list[Row]) -> bytes:
    """Return rows as bytes; the first of each term is all zeros."""
    packed = b""
    for before, row in pairwise([(0, 0, 0), *rows]):
        packed += b"".join(number(b - a) for a, b in zip(before, row, strict=True)) if row[0] else b"\0"
    return packed


def unpack(packed: bytes) -> list[Row] | None:
    """Return the rows, None if the bytes are not those of any."""
    numbers: list[int] = []
    rows: list[Row] = []
    value = shift = 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte & 128:
            if shift == 63:
                return None
            continue
        numbers.append(value)
        value = shift = 0
        if numbers == [0]:
            rows.append((0, 0, 0))
            numbers = []
        elif not rows:
            return None
        elif len(numbers) == 3:
            last = rows[-1]
            row = last[0] + numbers[0], last[1] + numbers[1], last[2] + numbers[2]
            if max(row) >= 1 << 32:
                return None
            rows.append(row)
            numbers = []
    return rows if not numbers and not shift else None


def columns(rows: list[Row]) -> list[tuple[int, ...]]:
    """Return the steps from the row before, by column; in the first row of a term they are 0."""
    steps = [
        (row[0] - before[0], row[1] - before[1], row[2] - before[2]) if row[0] else (0, 0, 0)
        for before, row in pairwise([(0, 0, 0), *rows])
    ]
    return list(zip(*steps, strict=True)) or [(), (), ()]


def add_up(steps: list[Row]) -> list[Row] | None:
    """Return the rows of steps, None if they are not those of any."""
    rows: list[Row] = []
    for one, two, three in steps:
        last = rows[-1] if rows else (0, 0, 0)
        row = (last[0] + one, last[1] + two, last[2] + three) if one else (0, 0, 0)
        if max(row) >= 1 << 32 or (not one and (two or three)) or (one and not rows):
            return None
        rows.append(row)
    return rows
