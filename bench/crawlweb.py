"""A loopback web of real-sized pages for the crawl benchmark: rendered before it listens, then only sent.

Every page has about 110 kB of markup (a head with styles, scripts and structured data; navigation; an article; a
footer) and about 150 links, most of them on every page of its host, as on real sites. Sizes vary log-normally. With a
`share` below 1 all parts of a page are that much smaller: 0.14 makes pages of 15 kB.
"""

import asyncio
import gzip
import json
import random
import socket
import sys
from html import escape
from typing import Final

PAGES_PER_HOST: Final = 50
_NAVIGATION, _RELATED, _PARTNERS = 45, 39, 12
"""Links of a page outside of its article."""


class BenchWeb:
    """The pages of a web of `pages` pages, by host name and path; the same for the same numbers."""

    def __init__(self, pages: int, share: float = 1.0, seed: int = 7) -> None:
        self._share = share
        self.hosts = max(2, pages // PAGES_PER_HOST)
        self.pages = self.hosts * PAGES_PER_HOST
        self._seed = seed
        chance = random.Random(seed)
        syllables = [a + b for a in "bcdfglmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
        self._words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(6_000)]
        weights = [1 / (rank + 2) for rank in range(len(self._words))]
        picked = chance.choices(self._words, weights, k=60_000)
        self._sentences = [" ".join(picked[at : at + 6 + at % 13]).capitalize() + ". " for at in range(0, 59_000, 19)]
        lines = [
            f"  function {a}_{b}(e){{var t=e.{c}||{{}};return t.{a}?t.{a}(e,'{b}'):null}}\n"
            for a, b, c in zip(picked[:900], picked[900:1800], picked[1800:2700], strict=True)
        ]
        self._script = lines
        self._style = [
            f".{a}-{b}>.{c}{{margin:0 {len(a)}px;color:#{len(b):x}{len(c):x}a}}\n"
            for a, b, c in zip(picked[3000:3500], picked[4000:4500], picked[5000:5500], strict=True)
        ]

    def name(self, host: int) -> str:
        """Return the name of a host."""
        return f"www.site{host}.example"

    def path(self, host: int, page: int) -> str:
        """Return the path of a page; page 0 is the home page."""
        if page == 0:
            return "/"
        word = self._words[(host * 131 + page * 17) % len(self._words)]
        return f"/news/{2000 + page % 25}/{word}-{page}" if page % 7 else f"/list?topic={word}&page={page}"

    def urls(self) -> list[str]:
        """List all pages."""
        return [f"http://{self.name(h)}{self.path(h, p)}" for h in range(self.hosts) for p in range(PAGES_PER_HOST)]

    def render(self, host: int, page: int) -> bytes:
        """Write one page."""
        chance = random.Random(self._seed << 40 | host << 16 | page)
        scale = self._share * min(3.0, max(0.3, chance.lognormvariate(0.0, 0.45)))
        navigation, related, partners = (
            max(5, int(self._share * count)) for count in (_NAVIGATION, _RELATED, _PARTNERS)
        )
        out = ['<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n']
        title = escape(" ".join(chance.choices(self._words, k=6)).capitalize())
        out.append(f'<title>{title}</title>\n<meta name="description" content="{title}">\n')
        out.append(f'<link rel="canonical" href="http://{self.name(host)}{escape(self.path(host, page))}">\n<style>\n')
        out += self._style[: int(250 * scale)]
        out.append('</style>\n<script type="application/ld+json">')
        out.append(json.dumps({"@type": "NewsArticle", "headline": title, "datePublished": "2024-05-01"}))
        out.append("</script>\n<script>\n")
        start = chance.randrange(200)
        out += self._script[start : start + int(300 * scale)]
        out.append('</script></head>\n<body class="page"><header><nav class="menu menu--main"><ul>\n')
        for number in range(navigation):
            out.append(self._item(host, number))
        out.append("</ul></nav></header>\n<main><article>\n")
        out.append(f"<h1>{title}</h1>\n")
        for number in range(max(1, int(34 * scale))):
            out.append(self._paragraph(chance, host, number))
        out.append("</article>\n<aside><h2>More</h2><ul>\n")
        for step in range(1, related + 1):
            out.append(self._item(host, (page + step) % PAGES_PER_HOST))
        out.append("</ul></aside></main>\n<footer><ul>\n")
        for number in range(partners):
            out.append(
                f'<li class="foot"><a href="http://{self.name((host + number + 1) % self.hosts)}/">Partner</a></li>\n'
            )
        out.append("</ul><p>All rights reserved.</p></footer></body></html>\n")
        return "".join(out).encode()

    def _item(self, host: int, page: int) -> str:
        path = escape(self.path(host, page))
        word = self._words[(host + page) % len(self._words)]
        return (
            f'<li class="menu__item menu__item--level-1"><a class="menu__link" data-track="nav-{page}" '
            f'href="{path}"><span class="menu__label">{word}</span></a></li>\n'
        )

    def _paragraph(self, chance: random.Random, host: int, number: int) -> str:
        text = "".join(self._sentences[chance.randrange(len(self._sentences))] for _ in range(9))
        other, page = chance.randrange(self.hosts), chance.randrange(PAGES_PER_HOST)
        near = f'<a href="{escape(self.path(host, page))}#part-{number}">{text[:20]}</a>'
        far = f'<a href="http://{self.name(other)}{escape(self.path(other, page))}">{text[20:44]}</a>'
        image = f'<img src="/images/{page}.jpg" alt="{text[:30]}" width="640" height="480" loading="lazy">'
        heading = f"<h2>{text[:40]}</h2>\n" if number % 6 == 5 else ""
        words = f"{text} {near} {text[::2]} <b>{text[5:18]}</b> {far}"
        return f'{heading}<div class="block block--text"><p>{words}</p>{image}</div>\n'


class _Server(asyncio.Protocol):
    """Answers GET from a table of finished answers."""

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self._answers = answers
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            path = head.split(b" ", 2)[1]
            at = head.lower().find(b"\r\nhost:") + 7
            stop = head.find(b"\r", at)
            host = head[at : stop if stop >= 0 else len(head)].strip().partition(b":")[0]
            self._transport.write(self._answers.get(host + path, _MISSING))  # type: ignore[attr-defined]


_MISSING: Final = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>No</p>"


def answers_of(web: BenchWeb) -> tuple[dict[bytes, bytes], int]:
    """Render and compress everything; give the answers by host and path, and the plain bytes of all pages."""
    table: dict[bytes, bytes] = {}
    plain = 0
    for host in range(web.hosts):
        name = web.name(host).encode()
        table[name + b"/robots.txt"] = _answer(
            b"text/plain", b"User-agent: *\nDisallow: /private/\nDisallow: /*.php$\n"
        )
        for page in range(PAGES_PER_HOST):
            body = web.render(host, page)
            plain += len(body)
            table[name + web.path(host, page).encode()] = _answer(b"text/html; charset=utf-8", body)
    return table, plain


def _answer(kind: bytes, body: bytes) -> bytes:
    packed = gzip.compress(body, 5, mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    return head % (kind, len(packed)) + packed


async def _serve(answers: dict[bytes, bytes], plain: int) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = await asyncio.get_running_loop().create_server(lambda: _Server(answers), sock=listener)
    print(json.dumps({"port": listener.getsockname()[1], "bytes": plain}), flush=True)
    async with server:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(*answers_of(BenchWeb(int(sys.argv[1]), float(sys.argv[2])))))
