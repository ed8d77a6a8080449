"""The administration pages: the state of crawl, index, server and ranking, and control of the crawl."""

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

from periplus.errors import BadInput
from periplus.records import ResultPage
from periplus.serve.actions import Actions
from periplus.serve.admin.admin_plots import bars, line
from periplus.serve.admin.quality_panel import quality_panel
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.request_bodies import read_form
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parse_page_request, parse_parameters
from periplus.serve.server_metrics import BUCKETS, Metrics, MetricsSnapshot
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["AdminHandlers"]

_MAX_SAMPLES: Final = 600
"""Samples in the plots, one a second."""
_LIVE_SECONDS: Final = 1.0
_NO_STORE: Final = {"cache-control": "no-store"}
_COMMANDS: Final = ("pause", "resume", "stop")
_NO_CRAWL: Final = {"running": False, "state": "none", "pages": 0, "rate": 0.0, "waiting": 0, "recent": ()}
"""The status when there never was a crawl."""
_LOGIN: Final = "login"
"""The purpose of the token in the login form."""


class AdminHandlers:
    """Handlers of the group 'admin' in the route table, which says which of them need a session."""

    def __init__(
        self,
        executor: SearchExecutor,
        renderer: PageRenderer,
        auth: Authenticator,
        actions: Actions,
        metrics: Metrics,
        update_metrics: Callable[[], None],
    ) -> None:
        self._executor = executor
        self._renderer = renderer
        self._auth = auth
        self._actions = actions
        self._metrics = metrics
        self._update_metrics = update_metrics
        self._samples: deque[tuple[float, float, float]] = deque(maxlen=_MAX_SAMPLES)
        """Time, crawled pages a second, number of requests."""

    async def page(self, request: Request) -> Response:
        """Show the panels."""
        token = self._auth.form_token(request.state.session)
        return self._renderer.response("admin.html", 200, _NO_STORE, request, token=token, **await self._panels())

    def login_form(self, request: Request, status: int = 200, error: str = "") -> Response:
        """Show the form to log in."""
        token = self._auth.form_token(_LOGIN)
        return self._renderer.response("login.html", status, _NO_STORE, request, token=token, error=error)

    async def login(self, request: Request) -> Response:
        """Start a session for the holder of an admin key."""
        form = await read_form(request)
        self._auth.check_form(request, _LOGIN, form.get("token", ""))
        response = RedirectResponse("/admin", 303, _NO_STORE)
        if self._auth.start_session(request, form.get("key", ""), response):
            return response
        return self.login_form(request, 403, "This is not a key with the role admin.")

    async def logout(self, request: Request) -> Response:
        """End the session."""
        await self._read_form(request)
        response = RedirectResponse("/admin", 303, _NO_STORE)
        self._auth.end_session(response)
        return response

    async def crawl(self, request: Request) -> Response:
        """Pause, resume or stop the crawl."""
        form = await self._read_form(request)
        control, command = self._actions.crawl, form.get("word", "")
        if control is None or command not in _COMMANDS:
            raise HTTPException(400, "The commands are pause, resume and stop.")
        try:
            await call_in_thread({"pause": control.pause, "resume": control.resume, "stop": control.stop}[command])
        except BadInput:
            raise HTTPException(409, "No crawl is running.") from None
        return RedirectResponse("/admin", 303, _NO_STORE)

    async def ranking(self, request: Request) -> Response:
        """Show the results of a query side by side: with the current weights and with other ones."""
        parameters = parse_parameters(request.scope["query_string"])
        weights = self._executor.weights()
        values = {weight.name: _number(parameters.get(weight.name, ""), weight.value) for weight in weights}
        search = parse_page_request({"q": parameters.get("q", "")})
        pages: tuple[ResultPage, ...] = ()
        if search.query.words:
            pages = (await self._executor.search(search.query), await self._executor.preview(search.query, values))
        changed = {weight.name: values[weight.name] for weight in weights if values[weight.name] != weight.value}
        ranks = {hit.key: rank for rank, hit in enumerate(pages[0].hits, 1)} if pages else {}
        return self._renderer.response(
            "ranking.html",
            200,
            _NO_STORE,
            request,
            request=search,
            weights=weights,
            values=values,
            changed=changed,
            pages=pages,
            ranks=ranks,
        )

    async def _read_form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form of the current session."""
        form = await read_form(request)
        self._auth.check_form(request, request.state.session, form.get("token", ""))
        return form

    async def live(self, _: Request) -> Response:
        """Send the current values once a second, as server-sent events."""
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=_NO_STORE)

    async def _events(self) -> AsyncIterator[bytes]:
        while True:
            panels = await self._panels()
            values = {
                "pages": panels["crawl"]["pages"],
                "rate": round(panels["crawl"]["rate"], 1),
                "state": panels["crawl"]["state"],
                "waiting": panels["crawl"]["waiting"],
                "documents": panels["index"].documents if panels["index"] else 0,
                "requests": panels["requests"],
                "hit_rate": panels["hit_rate"],
                "crawl_line": panels["crawl_line"],
                "request_line": panels["request_line"],
            }
            yield b"data: " + msgspec.json.encode(values) + b"\n\n"
            await asyncio.sleep(_LIVE_SECONDS)

    async def _quality(self) -> dict[str, Any]:
        """Return the quality of ranking, for its panel."""
        if self._actions.quality is None:
            return quality_panel(None, ())
        return quality_panel(*await call_in_thread(self._actions.quality))

    async def _panels(self) -> dict[str, Any]:
        """Return the variables of all panels."""
        control = self._actions.crawl
        crawl: dict[str, Any] = _NO_CRAWL | (await call_in_thread(control.status) if control else {})
        index = await self._executor.index_parts()
        self._update_metrics()
        metrics = self._metrics.total()
        requests = sum(metrics.requests.values())
        self._samples.append((time.monotonic(), float(crawl["rate"]), float(requests)))
        lookups = metrics.values.get("cache_hits", 0) + metrics.values.get("cache_misses", 0)
        segments = [(name, alive) for name, _, alive, _ in index.segments] if index else []
        return {
            "crawl": crawl,
            "index": index,
            "requests": requests,
            "refused": sum(n for name, n in metrics.requests.items() if name.endswith((" 429", " 503"))),
            "hit_rate": round(100 * metrics.values.get("cache_hits", 0) / lookups) if lookups else 0,
            "cache_bytes": int(metrics.values.get("cache_bytes", 0)),
            "times": _histogram(metrics),
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


def _number(text: str, default: float) -> float:
    """Return a number, or the default if the text is not a finite one."""
    try:
        value = float(text)
    except ValueError:
        return default
    return value if math.isfinite(value) else default


def _rates(samples: list[tuple[float, float]]) -> list[float]:
    """Return the requests a second between samples."""
    return [max(0.0, (b[1] - a[1]) / max(0.05, b[0] - a[0])) for a, b in pairwise(samples)]


def _histogram(metrics: MetricsSnapshot) -> list[Any]:
    """Return the latency histogram as bars, the fastest first."""
    names = [f"≤ {bound * 1000:g} ms" for bound in BUCKETS] + ["more"]
    pairs = [(name, float(n)) for name, n in zip(names, metrics.times, strict=False)]
    order = {name: n for n, name in enumerate(names)}
    return sorted((bar for bar in bars(pairs) if bar.value), key=lambda bar: order[bar.name])
