"""Google's public robots.txt suite: every expectation of every file."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from periplus.robots import parse_robots

SUITE = Path(__file__).parents[3] / "shared" / "data" / "suites" / "robots"
pytestmark = pytest.mark.data

TOKEN = re.compile(rb'\s*(?:#[^\n]*\n|(?P<string>"(?:[^"\\]|\\.)*")|(?P<word>\w+:?)|(?P<sign>[\[\]{},]))', re.DOTALL)
ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
SIMPLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class Case(NamedTuple):
    body: bytes
    url: bytes
    agent: str
    allowed: bool


def unescape(found: re.Match[bytes]) -> bytes:
    code = found[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code.isdigit():
        return bytes([int(code, 8)])
    return SIMPLE.get(code, code)


def fields(text: bytes) -> list[tuple[str, bytes]]:
    """Flatten a text proto into its fields in order; neighbouring strings are one."""
    found: list[tuple[str, bytes]] = []
    name = ""
    for token in TOKEN.finditer(text):
        if token["word"]:
            word = token["word"].decode()
            if word.endswith(":"):
                name = word[:-1]
                found.append((name, b""))
            else:
                found[-1] = (name, word.encode())
        elif token["string"]:
            piece = ESCAPE.sub(unescape, token["string"][1:-1])
            found[-1] = (name, found[-1][1] + piece)
    return found


def cases(path: Path) -> list[Case]:
    result = []
    body = url = b""
    agent = ""
    for name, value in fields(path.read_bytes()):
        if name == "robotstxt":
            body = value
        elif name == "testurl":
            url, agent = value, ""
        elif name == "useragent":
            agent = value.decode()
        elif name == "expected_outcome":
            result.append(Case(body, url, agent, value == b"ALLOWED"))
    return result


def path_of(url: bytes) -> str:
    rest = url.decode().partition("://")[2] or url.decode()
    start = re.search(r"[/?;]", rest)
    return rest[start.start() :] if start else "/"


def test_all_expectations_hold() -> None:
    if not SUITE.exists():
        pytest.skip("needs ../shared/data/suites/robots")
    count = 0
    wrong = []
    for path in sorted(SUITE.rglob("*.textproto")):
        for case in cases(path):
            count += 1
            if parse_robots(case.body, case.agent).allows(path_of(case.url)) != case.allowed:
                wrong.append((path.name, case.url, case.agent, case.allowed))
    assert count == 400
    assert wrong == []
