"""Hosts that misbehave: slow, broken, trapping, lying and farming ones. None of their pages is a good page.

Every trouble host has a handler that gives the answer for a path; the same path always gives the same answer.
"""

import functools
import gzip
import random
import zlib
from collections.abc import Callable
from html import escape
from typing import Final, NamedTuple

from periplus.fakeweb.content.link_farms import FARM_BOOSTERS, FARM_TARGET, make_booster_handler, respond_as_target
from periplus.fakeweb.content.prose_writer import ProseWriter
from periplus.fakeweb.content.subjects import subject
from periplus.fakeweb.content.word_lists import english_topics, topics
from periplus.fakeweb.server.fake_response import FakeResponse, ScriptStep, head_bytes, html_response

__all__ = ["TroubleHost", "trouble_hosts"]

_HTML: Final = ("Content-Type", "text/html; charset=utf-8")
_BOMB_BYTES: Final = 50_000_000
_HUGE_PIECE: Final = b"<p>All work and no play makes a huge body.</p>\n" * 1_400
_HUGE_TIMES: Final = 3_000


class TroubleHost(NamedTuple):
    """A misbehaving host, the kind of its trouble, and its request handler."""

    name: str
    kind: str
    answer: Callable[[str], FakeResponse]
    linked: bool = True
    """Whether good hosts link to it."""


def trouble_hosts(kinds: tuple[str, ...]) -> tuple[TroubleHost, ...]:
    """Return the trouble hosts of some kinds."""
    return tuple(host for host in _ALL if host.kind in kinds)


def _words(path: str) -> str:
    """Return paragraphs that depend on the path alone."""
    rng = random.Random(zlib.crc32(path.encode("utf-8", "surrogateescape")))
    topic = topics()[rng.choice(english_topics())]
    writer = ProseWriter(topic, subject(topic, rng.randrange(200), 0), rng)
    return "".join(f"<p>{escape(writer.paragraph(), quote=False)}</p>\n" for _ in range(3))


def _page(path: str, links: tuple[str, ...] = (), title: str = "") -> FakeResponse:
    items = "".join(f'<p><a href="{escape(link)}">{escape(link)}</a></p>\n' for link in links)
    return html_response(200, escape(title or f"A page at {path}"), _words(path) + items)


def _slow_ferry(path: str) -> FakeResponse:
    """Respond to every request after a second and a half."""
    response = _page(path, tuple(f"/crossing/{number}" for number in range(5)))
    return FakeResponse(200, steps=(ScriptStep(response.wire, pause=1.5),))


def _dripping_tap(path: str) -> FakeResponse:
    """Send a long page a few bytes at a time."""
    head = head_bytes(200, (_HTML, ("Content-Length", "100000")))
    return FakeResponse(
        200, steps=(ScriptStep(head), ScriptStep(b"<p>drip</p>\n", pause=0.5, times=8_000)), end="close"
    )


def _silent_bell(path: str) -> FakeResponse:
    """Accept the request and never respond."""
    return FakeResponse(200, steps=(ScriptStep(b"", pause=3_600.0),), end="close")


def _broken_compass(path: str) -> FakeResponse:
    """Violate HTTP in a different way at every path."""
    page = _page(path)
    if path in _BROKEN:
        return _BROKEN[path](page)
    return _page(path, tuple(_BROKEN)) if path == "/" else html_response(404, "Not found")


def _zipped(page: FakeResponse) -> bytes:
    return gzip.compress(page.body * 20, mtime=0)


def _scripted(data: bytes, end: str = "close") -> FakeResponse:
    return FakeResponse(200, steps=(ScriptStep(data),), end=end)


def _truncated_gzip(page: FakeResponse) -> FakeResponse:
    body = _zipped(page)[:-40]
    head = head_bytes(200, (_HTML, ("Content-Encoding", "gzip"), ("Content-Length", str(len(body)))))
    return _scripted(head + body, "keep")


def _truncated(page: FakeResponse) -> FakeResponse:
    return _scripted(head_bytes(200, (_HTML, ("Content-Length", str(2 * len(page.body))))) + page.body)


def _bad_chunks(page: FakeResponse) -> FakeResponse:
    head = head_bytes(200, (_HTML, ("Transfer-Encoding", "chunked")))
    return _scripted(head + b"400\r\n" + page.body[:0x400] + b"\r\nxyz\r\n" + page.body[0x400:])


def _missing_chunks(page: FakeResponse) -> FakeResponse:
    head = head_bytes(200, (_HTML, ("Transfer-Encoding", "chunked")))
    return _scripted(head + b"%x\r\n" % (len(page.body) + 100) + page.body)


_BROKEN: Final[dict[str, Callable[[FakeResponse], FakeResponse]]] = {
    "/reset": lambda page: _scripted(b"", "reset"),
    "/reset-midway": lambda page: _scripted(page.wire[:300], "reset"),
    "/empty": lambda page: _scripted(b""),
    "/truncated": _truncated,
    "/bad-chunks": _bad_chunks,
    "/missing-chunks": _missing_chunks,
    "/truncated-gzip": _truncated_gzip,
    "/not-gzip": lambda page: FakeResponse(200, (_HTML, ("Content-Encoding", "gzip")), page.body),
    "/garbage": lambda page: _scripted(b"\x00\xff\xfeHELLO\r\n: : :\r\n\r\n" + page.body),
    "/garbage-headers": lambda page: _scripted(b"HTTP/1.1 200 OK\r\n\xff\xfe\x00no colon\r\n\r\n" + page.body),
    "/endless-headers": lambda page: FakeResponse(
        200,
        steps=(ScriptStep(b"HTTP/1.1 200 OK\r\n"), ScriptStep(b"X-More: " + b"y" * 1_000 + b"\r\n", times=5_000)),
        end="close",
    ),
    "/redirect-nowhere": lambda page: FakeResponse(302, (("Location", "http://[:::]:99999/%%"),)),
    "/500": lambda page: html_response(500, "Server error"),
    "/503": lambda page: html_response(503, "Busy", headers=(("Retry-After", "2"),)),
}


def _endless_calendar(path: str) -> FakeResponse:
    """Respond with a month that links to the months before and after, without end."""
    digits = [part for part in path.split("/") if part.isascii() and part.isdigit()][:2]
    year, month = (int(digits[0][:9]), int(digits[1][:9]) % 12) if len(digits) == 2 else (2024, 0)
    months = [year * 12 + month + step for step in (-1, 1, 12)]
    return _page(
        path, tuple(f"/{count // 12}/{count % 12}/" for count in months), f"Calendar of {year}, month {month + 1}"
    )


def _session_maze(path: str) -> FakeResponse:
    """Respond with links that each have a new session id, so that a few pages have endless URLs."""
    base = path.split("?")[0]
    mark = zlib.crc32(path.encode("utf-8", "surrogateescape"))
    links = tuple(f"/room/{number}?visit={mark ^ number * 2_654_435_761 & 0xFFFFFFFF:08x}" for number in range(6))
    return _page(base, links, f"Room at {base}")


def _deeper_caves(path: str) -> FakeResponse:
    """Respond with links to ever deeper paths."""
    folder = path if path.endswith("/") else f"{path}/"
    return _page(path, (f"{folder}down/", f"{folder}left/"), f"Cave at depth {path.count('/')}")


def _honest_answers(path: str) -> FakeResponse:
    """Respond with wrong types, lengths and sizes."""
    if path in _LIES:
        return _LIES[path](_page(path))
    return _page(path, tuple(_LIES)) if path == "/" else html_response(404, "Not found")


@functools.cache
def _bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"<p>boom</p>\n" * 83_334
    pieces = [packer.compress(block) for _ in range(_BOMB_BYTES // len(block) + 1)]
    return b"".join([*pieces, packer.flush()])


def _huge() -> FakeResponse:
    length = str(len(_HUGE_PIECE) * _HUGE_TIMES)
    head = head_bytes(200, (_HTML, ("Content-Length", length)))
    return FakeResponse(200, steps=(ScriptStep(head), ScriptStep(_HUGE_PIECE, times=_HUGE_TIMES)), end="close")


def _wrong_length(page: FakeResponse, difference: int) -> FakeResponse:
    return _scripted(head_bytes(200, (_HTML, ("Content-Length", str(len(page.body) + difference)))) + page.body)


_LIES: Final[dict[str, Callable[[FakeResponse], FakeResponse]]] = {
    "/photo.html": lambda page: FakeResponse(200, (_HTML,), b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40),
    "/page.png": lambda page: FakeResponse(200, (("Content-Type", "image/png"),), page.body),
    "/no-type": lambda page: FakeResponse(200, (), page.body),
    "/too-short": lambda page: _wrong_length(page, -100),
    "/too-long": lambda page: _wrong_length(page, 100),
    "/bomb": lambda page: FakeResponse(200, (_HTML, ("Content-Encoding", "gzip")), _bomb()),
    "/huge": lambda page: _huge(),
    "/wrong-charset": lambda page: FakeResponse(
        200, (_HTML,), "<title>Caf\u00e9 \u00fcber</title>".encode("latin-1") + page.body
    ),
    "/unknown-charset": lambda page: FakeResponse(200, (("Content-Type", "text/html; charset=klingon"),), page.body),
    "/binary.txt": lambda page: FakeResponse(200, (("Content-Type", "text/plain"),), bytes(range(256)) * 100),
}


def _always_fine(path: str) -> FakeResponse:
    """Respond with 200 to every path, and with links to more."""
    mark = zlib.crc32(path.encode("utf-8", "surrogateescape"))
    links = tuple(f"/offer/{mark + number}" for number in range(4))
    body = "<p>Sorry, the page you are looking for could not be found.</p>\n"
    items = "".join(f'<p><a href="{link}">Special offer</a></p>\n' for link in links)
    return html_response(200, "Welcome", body + items)


_ALL: Final = (
    TroubleHost("slow-ferry.test", "slow", _slow_ferry),
    TroubleHost("dripping-tap.test", "slow", _dripping_tap),
    TroubleHost("silent-bell.test", "slow", _silent_bell),
    TroubleHost("broken-compass.test", "broken", _broken_compass),
    TroubleHost("endless-calendar.test", "trap", _endless_calendar),
    TroubleHost("session-maze.test", "trap", _session_maze),
    TroubleHost("deeper-caves.test", "trap", _deeper_caves),
    TroubleHost("honest-answers.test", "lying", _honest_answers),
    TroubleHost("always-fine.test", "lying", _always_fine),
    TroubleHost(FARM_TARGET, "farm", respond_as_target),
    *(
        TroubleHost(name, "farm", make_booster_handler(number), linked=not number)
        for number, name in enumerate(FARM_BOOSTERS)
    ),
)
