"""Blocks of text as they are described on paper, over strings: the twin of the blocks kernel."""

import re

_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^>"'=]|=\ *"[^"]*(?:"|\Z)|=\ *'[^']*(?:'|\Z)|["'=])*)(?:>|\Z)""")

_ONWARD = re.compile(r"""(?i)\s(?:acce|rel=["']?(?:pr|ne|up|st|al|co.t))""")
_IS_MAIN = re.compile(r"""\srole=(["']?)main\1(?:\s|\Z)""")


def blocks(markup, tables):
    """Return (begin, end, chars, linked, kind, inside, container) of each block of ASCII markup, raw elements aside."""
    table = {}
    for packed, does, region in zip(
        tables.tags.tolist(), tables.effects.tolist(), tables.regions.tolist(), strict=True
    ):
        table[packed.to_bytes(8, "big").lstrip(b"\0").decode()] = (does, region)
    found, stack, containers = [], [("", 0, 0)], 1
    place = begin = chars = linked = 0
    kind, in_link, onward = 1, False, 0

    def flush(end):
        nonlocal chars, linked, onward
        if chars:
            found.append((begin, end, chars, linked, kind, stack[-1][1] | onward * 1024, stack[-1][2]))
        chars = linked = onward = 0

    while place < len(markup):
        tag = _TAG.match(markup, place)
        if tag is None:
            seen = markup[place] > " "
            chars += seen
            linked += seen and in_link and markup[place] != "<"
            place += 1
            continue
        name = "".join(chr(ord(letter) | 32) for letter in tag[2][:8])
        does, region = table.get(name, (0, 0))
        if does == 8:
            in_link = not tag[1]
            onward = onward or bool(in_link and _ONWARD.search(tag[3]))
        if does in (0, 8):
            place = tag.end()
            continue
        flush(place)
        if does == 1:
            kind, in_link = 1, False
            if not tag[1]:
                inherited, region = stack[-1][1], region & ~512
                region |= 32 if _IS_MAIN.search(tag[3]) else 0
                inherited &= ~(128 | 4096) if region & 32 else -1
                if region & 8 and inherited & (16 | 32):
                    region &= ~8
                stack.append((name, inherited | region, containers))
                containers += 1
            else:
                for up in range(len(stack) - 1, 0, -1):
                    if stack[up][0] == name:
                        del stack[up:]
                        break
        elif does != 7:
            kind = 1 if tag[1] else does
        place = begin = tag.end()
    flush(place)
    return found
