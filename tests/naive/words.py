"""Naive twin of `kernels.words.split`: one character at a time, over Python strings."""

from periplus.text.kernels import tokenizer
from periplus.text.kernels.tokenizer import FoldTable


def split(text: str, fold: FoldTable) -> list[str]:
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
        if kind == tokenizer.MARK:
            continue
        following = text[at + 1] if at + 1 < len(text) else ""
        letter = following.isascii() and following.isalpha()
        if kind == tokenizer.APOSTROPHE and not (word and (letter or following >= "\u00c0")):
            kind = tokenizer.SEPARATOR
        if kind != tokenizer.UNSPACED:
            end_run()
        if kind in (tokenizer.WORD, tokenizer.APOSTROPHE):
            longer = word + folded
            word = longer if len(longer.encode()) <= tokenizer.MAX_WORD else word
            continue
        end_word()
        if kind == tokenizer.UNSPACED:
            if run:
                found.append(run[-1] + folded)
            run.append(folded)
    end_run()
    end_word()
    return found


def _look_up(character: str, fold: FoldTable) -> tuple[int, str]:
    code = ord(character)
    if code < 128:
        if character == "'":
            return tokenizer.APOSTROPHE, "'"
        return (tokenizer.WORD, character.lower()) if character.isalnum() else (tokenizer.SEPARATOR, "")
    if code >= tokenizer.TABLE_SIZE:
        return tokenizer.SEPARATOR, ""
    kind = int(fold.kind[code])
    if kind == tokenizer.APOSTROPHE:
        return kind, "'"
    start = int(fold.start[code])
    if start < 0:
        return kind, character
    size = int(fold.blob[start])
    return kind, fold.blob[start + 1 : start + 1 + size].tobytes().decode()
