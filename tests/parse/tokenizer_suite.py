"""The tokenizers' suite, run over the functions that the kernel's main loop is made of."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from periplus.parse.kernels import html_entities, html_rows, html_state, html_tables, html_text, html_tokenizer
from periplus.parse.kernels.html_tags import ELEMENT

STATES = {"Data state": "", "PLAINTEXT state": "plaintext", "RCDATA state": "title"} | {
    "RAWTEXT state": "xmp",
    "Script data state": "script",
}
TABLES = html_tables.build_tables()
KEPT = frozenset({"StartTag", "EndTag", "Character"})
Token = list[Any]


class Case(NamedTuple):
    where: str
    text: str
    state: str
    last: str
    expected: list[Token]


def read_cases(path: Path) -> Iterator[Case]:
    """Read the cases of one file that are about text, tags and attributes, in the states that pages have."""
    for number, test in enumerate(json.loads(path.read_text("utf-8")).get("tests", [])):
        raw, output = test["input"], test["output"]
        if test.get("doubleEscaped"):
            raw, output = _unescape(raw), json.loads(_escaped(json.dumps(output)))
        for state in test.get("initialStates", ["Data state"]):
            if state in STATES and not re.search("[\ud800-\udfff]", raw + json.dumps(output, ensure_ascii=False)):
                yield Case(
                    f"{path.name}:{number}:{state}", raw, state, test.get("lastStartTag", ""), _join_text(output)
                )


def _unescape(text: str) -> str:
    return re.sub(r"\\u([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), text)


def _escaped(text: str) -> str:
    return text.replace("\\\\u", "\\u")


def _join_text(tokens: list[Token]) -> list[Token]:
    """Keep what concerns us, with neighbouring text in one piece."""
    joined: list[Token] = []
    for token in tokens:
        if token[0] == "Character" and joined and joined[-1][0] == "Character":
            joined[-1] = ["Character", joined[-1][1] + token[1]]
        elif token[0] in KEPT:
            joined.append(token[:3])
    return joined


class Tokens:
    """Tokens of one input, by the kernel's functions."""

    def __init__(self, text: str) -> None:
        self.data = np.frombuffer(text.replace("\r\n", "\n").replace("\r", "\n").encode(), np.uint8)
        self.tables = TABLES
        self.state = html_state.make_state(8, 8, 0, 4 * len(self.data))
        self.out = np.empty(4 * len(self.data) + 128, np.uint8)
        self.tokens: list[Token] = []

    def read(self, state: str, last: str) -> list[Token]:
        at = self._raw(0, state, last) if STATES[state] else 0
        while at < len(self.data):
            at = self._step(at)
        return _join_text(self.tokens)

    def _raw(self, at: int, state: str, last: str) -> int:
        """Text without tags, until the end tag of the last start tag."""
        key, end = ELEMENT.get(last or STATES[state], np.int64(-1)), len(self.data)
        if key < 0 or not last or state == "PLAINTEXT state":
            stop = end
        elif state == "Script data state":
            stop = html_tokenizer.find_script_end(self.data, at, end, self.tables, key)
        else:
            stop = html_tokenizer.find_raw_end(self.data, at, end, self.tables, key)
        self._text(at, stop, state == "RCDATA state", "\ufffd")
        return int(stop)

    def _step(self, at: int) -> int:
        data, end = self.data, len(self.data)
        if data[at] != 60 or not html_text.begins_markup(data, at, end):
            stop = at + 1
            while stop < end and not (data[stop] == 60 and html_text.begins_markup(data, stop, end)):
                stop += 1
            self._text(at, stop, True, "\0")
            return stop
        following = bytes(data[at + 1 : at + 4])
        if following == b"!--":
            return int(html_tokenizer.find_comment_end(data, at + 4, end)[1])
        ending = following[:1] == b"/"
        if not following[ending : ending + 1].isalpha():
            return int(html_tokenizer.find_bogus_end(data, at + 2, end)) + 1
        begin = at + 1 + ending
        _, name = html_tokenizer.read_name(data, begin, end)
        attributes, after = self._attributes(name)
        if after < 0:
            return end
        word = bytes(data[begin:name]).decode().replace("\0", "\ufffd")
        self.tokens.append(["EndTag", small(word)] if ending else ["StartTag", small(word), attributes])
        return after

    def _attributes(self, at: int) -> tuple[dict[str, str], int]:
        attributes: dict[str, str] = {}
        while True:
            what, at, _, *spans = map(int, html_tokenizer.read_attribute(self.data, at, len(self.data)))
            if what != html_tokenizer.ATTRIBUTE:
                return attributes, -1 if what == html_tokenizer.PAGE_ENDS else at
            first, last, begin, end = spans
            start = html_rows.decode_value(self.data, begin, end, np.int64(1), self.tables, self.state, self.out)
            value = bytes(self.out[start : self.state[html_state.VALUES_END]]).decode()
            attributes.setdefault(small(bytes(self.data[first:last]).decode().replace("\0", "\ufffd")), value)

    def _text(self, at: int, end: int, decode: bool, zero: str) -> None:
        pieces = bytearray()
        while at < end:
            if decode and self.data[at] == 38:
                at, size = html_entities.decode_reference(
                    self.data, at, end, np.int64(0), self.tables, self.out, np.int64(0)
                )
                pieces += bytes(self.out[:size])
            else:
                pieces.append(self.data[at])
                at += 1
        if pieces:
            self.tokens.append(["Character", pieces.decode().replace("\0", zero)])


def small(text: str) -> str:
    return re.sub("[A-Z]", lambda match: match[0].lower(), text)
