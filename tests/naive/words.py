"""Naive twin of `kernels.words.split`: one character at a time, over Python strings."""

from periplus.kernels import words
from periplus.kernels.words import Fold


def split(text: str, fold: Fold) -> list[str]:
    found: list[str] = []
    word, run = "", []

    def end_word() -> None:
        nonlocal word
        if word:
            found.append(word)
        word = ""

    def end_run() -> None:
        if len(run) == 1:
            found.append(run[0])
        run.clear()

    for at, character in enumerate(text):
        kind, folded = _look_up(character, fold)
        if kind == words.MARK:
            continue
        following = text[at + 1] if at + 1 < len(text) else ""
        letter = following.isascii() and following.isalpha()
        if kind == words.APOSTROPHE and not (word and (letter or following >= "\u00c0")):
            kind = words.SEPARATOR
        if kind != words.UNSPACED:
            end_run()
        if kind in (words.WORD, words.APOSTROPHE):
            longer = word + folded
            word = longer if len(longer.encode()) <= words.MAX_WORD else word
            continue
        end_word()
        if kind == words.UNSPACED:
            if run:
                found.append(run[-1] + folded)
            run.append(folded)
    end_run()
    end_word()
    return found


def _look_up(character: str, fold: Fold) -> tuple[int, str]:
    code = ord(character)
    if code < 128:
        if character == "'":
            return words.APOSTROPHE, "'"
        return (words.WORD, character.lower()) if character.isalnum() else (words.SEPARATOR, "")
    if code >= words.TABLE_SIZE:
        return words.SEPARATOR, ""
    kind = int(fold.kind[code])
    if kind == words.APOSTROPHE:
        return kind, "'"
    start = int(fold.start[code])
    if start < 0:
        return kind, character
    size = int(fold.blob[start])
    return kind, fold.blob[start + 1 : start + 1 + size].tobytes().decode()
