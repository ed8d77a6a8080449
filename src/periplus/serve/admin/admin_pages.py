"""The admin page: how the crawl, the index and the server are, and the few things that can be told to them."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from periplus.errors import BadInput
from periplus.records import ResultPage
from periplus.serve.actions import Actions
from periplus.serve.admin.admin_plots import bars, line
from periplus.serve.admin.quality_panel import quality_panel
from periplus.serve.middleware.auth import Doors
from periplus.serve.pages.page_templates import Pages
from periplus.serve.request_bodies import read_form
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import ask_page, parameters
from periplus.serve.server_metrics import EDGES, Figures, Metrics

__all__ = ["Admin"]

_KEPT: Final = 600
"""Samples that the plots show, one a second."""
_LIVE_SECONDS: Final = 1.0
_NO_STORE: Final = {"cache-control": "no-store"}
_WORDS: Final = ("pause", "resume", "stop")
_NO_CRAWL: Final = {"running": False, "state": "none", "pages": 0, "rate": 0.0, "waiting": 0, "recent": ()}
"""How it is when there never was a crawl."""


class Admin:
    """The views of the admin page. All but the first want a session."""

    def __init__(
        self,
        gate: SearchExecutor,
        pages: Pages,
        doors: Doors,
        actions: Actions,
        metrics: Metrics,
        renew: Callable[[], None],
    ) -> None:
        self._gate = gate
        self._pages = pages
        self._doors = doors
        self._actions = actions
        self._metrics = metrics
        self._renew = renew
        self._samples: deque[tuple[float, float, float]] = deque(maxlen=_KEPT)
        """Crawled pages a second, requests, documents."""

    def routes(self) -> list[Route]:
        """List what is answered below /admin."""
        return [
            Route("/admin", self.page),
            Route("/admin/login", self.login, methods=["POST"]),
            Route("/admin/logout", self.logout, methods=["POST"]),
            Route("/admin/crawl", self.crawl, methods=["POST"]),
            Route("/admin/live", self.live),
            Route("/admin/ranking", self.ranking),
        ]

    async def page(self, request: Request) -> Response:
        """Show the panels, or the door."""
        session = self._doors.session(request)
        if not session:
            return self._door(request)
        return self._pages.page(
            "admin.html", 200, _NO_STORE, request, token=self._doors.token(session), **await self._panels()
        )

    def _door(self, request: Request, status: int = 200, wrong: str = "") -> Response:
        token = self._doors.token("login")
        return self._pages.page("login.html", status, _NO_STORE, request, token=token, wrong=wrong)

    async def login(self, request: Request) -> Response:
        """Let the holder of an admin key in."""
        form = await read_form(request)
        self._doors.check_form(request, "login", form.get("token", ""))
        answer = RedirectResponse("/admin", 303, _NO_STORE)
        if self._doors.begin(request, form.get("key", ""), answer):
            return answer
        return self._door(request, 403, "That is no key with the role admin.")

    async def logout(self, request: Request) -> Response:
        """End the session."""
        await self._form(request)
        answer = RedirectResponse("/admin", 303, _NO_STORE)
        self._doors.end(answer)
        return answer

    async def crawl(self, request: Request) -> Response:
        """Tell the crawl something."""
        form = await self._form(request)
        control, word = self._actions.crawl, form.get("word", "")
        if control is None or word not in _WORDS:
            raise HTTPException(400, "A crawl can pause, resume and stop.")
        try:
            await asyncio.to_thread({"pause": control.pause, "resume": control.resume, "stop": control.stop}[word])
        except BadInput:
            raise HTTPException(409, "No crawl is running.") from None
        return RedirectResponse("/admin", 303, _NO_STORE)

    async def ranking(self, request: Request) -> Response:
        """Show the results of a query side by side: as ranked now, and as other weights would rank them."""
        if not self._doors.session(request):
            return self._door(request)
        given = parameters(request.scope["query_string"])
        weights = self._gate.weights()
        tried = {weight.name: _number(given.get(weight.name, ""), weight.value) for weight in weights}
        asked = ask_page({"q": given.get("q", "")})
        sides: tuple[ResultPage, ...] = ()
        if asked.query.words:
            sides = (await self._gate.search(asked.query), await self._gate.preview(asked.query, tried))
        changed = {weight.name: tried[weight.name] for weight in weights if tried[weight.name] != weight.value}
        before = {hit.key: place for place, hit in enumerate(sides[0].hits, 1)} if sides else {}
        return self._pages.page(
            "ranking.html",
            200,
            _NO_STORE,
            request,
            asked=asked,
            weights=weights,
            tried=tried,
            changed=changed,
            sides=sides,
            before=before,
        )

    async def _form(self, request: Request) -> dict[str, str]:
        """Read a form of somebody who is logged in; refuse all others."""
        session = self._doors.session(request)
        if not session:
            raise HTTPException(403, "Log in at /admin first.")
        form = await read_form(request)
        self._doors.check_form(request, session, form.get("token", ""))
        return form

    async def live(self, request: Request) -> Response:
        """Send the figures once a second, as server-sent events."""
        if not self._doors.session(request):
            raise HTTPException(403, "Log in at /admin first.")
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=_NO_STORE)

    async def _events(self) -> AsyncIterator[bytes]:
        while True:
            found = await self._panels()
            live = {
                "pages": found["crawl"]["pages"],
                "rate": round(found["crawl"]["rate"], 1),
                "state": found["crawl"]["state"],
                "waiting": found["crawl"]["waiting"],
                "documents": found["index"].documents if found["index"] else 0,
                "requests": found["requests"],
                "hit_rate": found["hit_rate"],
                "crawl_line": found["crawl_line"],
                "request_line": found["request_line"],
            }
            yield b"data: " + msgspec.json.encode(live) + b"\n\n"
            await asyncio.sleep(_LIVE_SECONDS)

    async def _quality(self) -> dict[str, Any]:
        """Give what is known of the quality of ranking."""
        if self._actions.quality is None:
            return quality_panel(None, ())
        return quality_panel(*await asyncio.to_thread(self._actions.quality))

    async def _panels(self) -> dict[str, Any]:
        """Gather what all panels show."""
        control = self._actions.crawl
        crawl: dict[str, Any] = _NO_CRAWL | (await asyncio.to_thread(control.status) if control else {})
        index = await self._gate.parts()
        self._renew()
        figures = self._metrics.everybody()
        requests = sum(figures.requests.values())
        self._samples.append((time.monotonic(), float(crawl["rate"]), float(requests)))
        asked = figures.values.get("cache_hits", 0) + figures.values.get("cache_misses", 0)
        segments = [(name, alive) for name, _, alive, _ in index.segments] if index else []
        return {
            "crawl": crawl,
            "index": index,
            "requests": requests,
            "refused": sum(n for name, n in figures.requests.items() if name.endswith((" 429", " 503"))),
            "hit_rate": round(100 * figures.values.get("cache_hits", 0) / asked) if asked else 0,
            "cache_bytes": int(figures.values.get("cache_bytes", 0)),
            "times": _histogram(figures),
            "errors": bars(sorted(crawl.get("errors", {}).items())),
            "slowest": bars([(host, seconds) for host, seconds in crawl.get("slowest", ())]),
            "segments": bars(segments),
            "parts": bars(sorted(index.parts.items())) if index else [],
            "hosts": bars(index.hosts) if index else [],
            **await self._quality(),
            "languages": bars([(code or "?", n) for code, n in index.languages.items()])[:8] if index else [],
            "crawl_line": line([rate for _, rate, _ in self._samples]),
            "request_line": line(_rates([(when, count) for when, _, count in self._samples])),
        }


def _number(text: str, otherwise: float) -> float:
    """Read a number; what is none is left as it was."""
    try:
        value = float(text)
    except ValueError:
        return otherwise
    return value if math.isfinite(value) else otherwise


def _rates(samples: list[tuple[float, float]]) -> list[float]:
    """Give the requests a second between samples."""
    return [max(0.0, (b[1] - a[1]) / max(0.05, b[0] - a[0])) for a, b in pairwise(samples)]


def _histogram(figures: Figures) -> list[Any]:
    """Give the times of answers as bars, the quickest first."""
    names = [f"≤ {edge * 1000:g} ms" for edge in EDGES] + ["more"]
    pairs = [(name, float(n)) for name, n in zip(names, figures.times, strict=False)]
    order = {name: n for n, name in enumerate(names)}
    return sorted((bar for bar in bars(pairs) if bar.value), key=lambda bar: order[bar.name])
