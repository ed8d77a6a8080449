"""Links by target, packed into bytes, as the format says it: one number after the other."""


def number(value):
    """Write a number in groups of 7 bits, low groups first."""
    groups = [value & 127]
    while value := value >> 7:
        groups.append(value & 127)
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


def pack(pairs, rows, counts=None):
    """Pack (target, source) pairs, sorted; `counts` gives a count for each pair."""
    packed = b""
    for row in range(rows):
        sources = [source for target, source in pairs if target == row]
        packed += number(len(sources))
        for place, source in enumerate(sources):
            apart = source - row
            gap = source - sources[place - 1] - 1 if place else 2 * apart if apart >= 0 else -2 * apart - 1
            packed += number(gap)
            if counts:
                packed += number(counts[row, source])
    return packed
