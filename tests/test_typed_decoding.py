"""Typed decoding: threads that are the first to decode a class at the same time, and what it returns and refuses."""

import os
import subprocess
import sys
import threading
from typing import NamedTuple

import msgspec
import pytest

from periplus import typed_decoding
from periplus.typed_decoding import convert_to, json_decoder, msgpack_decoder, parse_json, parse_msgpack

_RACE = """
import sys, threading
from typing import NamedTuple
import msgspec
from periplus.typed_decoding import convert_to, parse_json, parse_msgpack

SOURCE = '''
class Point{n}({base}): x: int; y: str
class Line{n}({base}): begin: Point{n}; points: list[Point{n}]
class Shape{n}({base}): line: Line{n}; lines: tuple[Line{n}, ...]; named: dict[str, Point{n}]
'''
failures = []

def run(decode, barrier):
    try:
        barrier.wait(60)
        decode()
    except BaseException as error:
        failures.append(error)

sys.setswitchinterval(1e-6)
for base in ("NamedTuple", "msgspec.Struct"):
    for n in range(40):
        names = {"NamedTuple": NamedTuple, "msgspec": msgspec}
        exec(SOURCE.format(n=n, base=base), names)
        point = names[f"Point{n}"](1, "a")
        line = names[f"Line{n}"](point, [point])
        shape = names[f"Shape{n}"](line, (line,), {"k": point})
        kind, part = type(shape), type(line)
        packed, text = msgspec.msgpack.encode(shape), msgspec.json.encode(shape)
        plain, inner = msgspec.to_builtins(shape), msgspec.json.encode(line)
        ways = [lambda: parse_msgpack(packed, kind), lambda: parse_json(text, kind),
                lambda: convert_to(plain, kind), lambda: parse_json(inner, part)]
        barrier = threading.Barrier(len(ways))
        threads = [threading.Thread(target=run, args=(way, barrier)) for way in ways]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
print(failures)
"""


class Point(NamedTuple):
    """A record."""

    x: int
    y: str


def test_threads_may_be_the_first_to_decode_a_class_together() -> None:
    """In a process of its own: without the lock, msgspec ends it by a segmentation fault within a few classes."""
    ended = subprocess.run([sys.executable, "-c", _RACE], capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "[]"), ended.stderr


def test_values_and_what_is_refused() -> None:
    assert parse_json(b'[1,"a"]', Point) == Point(1, "a")
    assert parse_msgpack(msgspec.msgpack.encode([1, "a"]), Point) == Point(1, "a")
    assert convert_to({"1": "2"}, dict[int, int], strict=False) == {1: 2}
    assert json_decoder(Point) is json_decoder(Point)
    assert msgpack_decoder(Point) is msgpack_decoder(Point)
    for parse in (parse_json, parse_msgpack):
        with pytest.raises(msgspec.MsgspecError):
            parse(b"\xff\xff", Point)
    with pytest.raises(msgspec.ValidationError):
        convert_to({"a": 1}, Point)


def test_a_child_is_not_locked_by_a_thread_that_it_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_decoding, "_LOCK", threading.Lock())
    with typed_decoding._LOCK:
        child = os.fork()
        if child == 0:
            os._exit(0 if typed_decoding._LOCK.acquire(timeout=5) else 1)
        assert os.waitpid(child, 0)[1] == 0
