"""The names in a title, word by word."""

import re


def title_names(title: str) -> set[str]:
    """Return what stands between spaces and has three letters, without punctuation, ASCII in lower case."""
    names = set()
    for word in re.split("[\x00-\x20]+", title):
        name = re.sub("[\x21-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]", "", word)
        name = "".join(letter.lower() if letter.isascii() else letter for letter in name)
        if sum(len(letter.encode()) if not letter.isascii() else letter.isalpha() for letter in name) >= 3:
            names.add(name)
    return names
