"""Typical misspellings, made by a seeded hand: slips of the finger, and spellings by ear.

The slips are those that people are known to make: a neighbouring key, a letter dropped, doubled, added or swapped. The
spellings by ear take letters for others of the same sound. They are made here from plain lists, apart from the tables
that the engine weighs slips with.
"""

import random

KINDS = ("key", "drop", "double", "swap", "add", "ear")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BY_EAR = (
    *(
        ("ie", "ei"),
        ("ei", "ie"),
        ("ph", "f"),
        ("f", "ph"),
        ("ck", "k"),
        ("c", "k"),
        ("k", "c"),
        ("s", "c"),
        ("c", "s"),
    ),
    *(("z", "s"), ("s", "z"), ("tion", "sion"), ("sion", "tion"), ("ance", "ence"), ("ence", "ance"), ("ent", "ant")),
    *(("ant", "ent"), ("able", "ible"), ("ible", "able"), ("er", "ar"), ("or", "er"), ("ou", "u"), ("ea", "ee")),
    *(
        ("ee", "ea"),
        ("ai", "ay"),
        ("y", "i"),
        ("i", "y"),
        ("wh", "w"),
        ("kn", "n"),
        ("gh", "g"),
        ("ll", "l"),
        ("ss", "s"),
    ),
    *(
        ("mm", "m"),
        ("nn", "n"),
        ("tt", "t"),
        ("rr", "r"),
        ("cc", "c"),
        ("pp", "p"),
        ("v", "w"),
        ("x", "ks"),
        ("qu", "kw"),
    ),
    *(("a", "e"), ("e", "a"), ("i", "e"), ("o", "u"), ("u", "o"), ("th", "t"), ("ch", "k"), ("d", "t"), ("b", "p")),
)


def neighbours(letter: str) -> list[str]:
    """Return the keys next to that of a letter."""
    found = []
    for number, row in enumerate(_ROWS):
        at = row.find(letter)
        if at < 0:
            continue
        found += [row[n] for n in (at - 1, at + 1) if 0 <= n < len(row)]
        for other, shifts in ((number - 1, (0, 1)), (number + 1, (-1, 0))):
            if 0 <= other < len(_ROWS):
                found += [_ROWS[other][at + n] for n in shifts if 0 <= at + n < len(_ROWS[other])]
    return found


def misspell(word: str, kind: str, chance: random.Random) -> str:
    """Misspell a word in one way; it stays as it is where that cannot be done."""
    at = chance.randrange(len(word))
    if kind == "key":
        keys = neighbours(word[at])
        return word[:at] + chance.choice(keys) + word[at + 1 :] if keys else word
    if kind == "drop":
        at = chance.randrange(1, len(word))
        return word[:at] + word[at + 1 :]
    if kind == "double":
        return word[: at + 1] + word[at] + word[at + 1 :]
    if kind == "swap":
        at = chance.randrange(len(word) - 1)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "add":
        keys = neighbours(word[at])
        return word[: at + 1] + chance.choice(keys) + word[at + 1 :] if keys else word
    fitting = [(old, new) for old, new in _BY_EAR if old in word]
    if not fitting:
        return word
    old, new = chance.choice(fitting)
    places = [n for n in range(len(word)) if word.startswith(old, n)]
    at = chance.choice(places)
    return word[:at] + new + word[at + len(old) :]
