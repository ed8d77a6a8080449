"""Naive twin of `kernels.tokenizer.split`: one character at a time, over Python strings."""

import re

from periplus.text.kernels import tokenizer
from periplus.text.kernels.tokenizer import FoldTable

_SYMBOL = re.compile(r"\+\+(?![a-zA-Z#+=])|[+#](?![a-zA-Z0-9#+=])")
_LEADING_DOT = re.compile(r"(?:^|(?<=[\x00-\x20\"'`(\[/,:=>\x80-\U0010ffff]))\.(?=[a-zA-Z])")


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

    symbol_end = 0
    for at, character in enumerate(text):
        if at < symbol_end:
            continue
        kind, folded = _look_up(character, fold)
        if character == "\u200c" and "\u0600" <= text[at + 1 : at + 2] <= "\u06ff":
            kind = tokenizer.SEPARATOR
        if kind in (tokenizer.MARK, tokenizer.MODIFIER):
            continue
        if kind != tokenizer.UNSPACED:
            end_run()
        if kind == tokenizer.WORD:
            longer = word + folded
            word = longer if len(longer.encode()) <= tokenizer.MAX_WORD else word
            continue
        symbol = _SYMBOL.match(text, at) if word else _LEADING_DOT.match(text, at)
        end_word()
        if symbol:
            found.append(symbol[0])
            symbol_end = symbol.end()
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
        return (tokenizer.WORD, character.lower()) if character.isalnum() else (tokenizer.SEPARATOR, "")
    if code >= tokenizer.TABLE_SIZE:
        return tokenizer.SEPARATOR, ""
    kind = int(fold.kind[code])
    start = int(fold.start[code])
    if start < 0:
        return kind, character
    size = int(fold.blob[start])
    return kind, fold.blob[start + 1 : start + 1 + size].tobytes().decode()
