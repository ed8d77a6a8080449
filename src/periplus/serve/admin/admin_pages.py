"""The admin page: the state of crawl, index, server and ranking, and control of the crawl."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import pairwise
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from periplus.errors import BadInput
from periplus.records import ResultPage
from periplus.serve.actions import Actions
from periplus.serve.admin.admin_commands import AdminCommands
from periplus.serve.admin.admin_plots import Plot, bars, plot
from periplus.serve.admin.admin_protocols import CrawlLimits
from periplus.serve.admin.crawl_panel import NO_CRAWL, crawl_panel
from periplus.serve.admin.quality_panel import quality_panel
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.request_bodies import read_form
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parse_page_request, parse_parameters
from periplus.serve.server_metrics import BUCKETS, Metrics, MetricsSnapshot
from periplus.serve.workers.blocking_calls import call_in_thread
from periplus.typed_decoding import convert_to

__all__ = ["AdminHandlers"]

_MAX_SAMPLES: Final = 1_800
_SAMPLE_SECONDS: Final = 2.0
"""Between samples in the plots: they show the last hour."""
_LIVE_SECONDS: Final = 1.0
_NO_STORE: Final = {"cache-control": "no-store"}
_LOGIN: Final = "login"
"""The purpose of the token in the login form."""
_MAX_SEEDS: Final = 1_000
_LIMITS: Final = ("pages", "host_pages", "minutes", "depth", "scope")


class AdminHandlers:
    """Handlers of the group 'admin' in the route table, which says which of them need a session."""

    def __init__(
        self,
        executor: SearchExecutor,
        renderer: PageRenderer,
        auth: Authenticator,
        commands: AdminCommands,
        actions: Actions,
        metrics: Metrics,
        update_metrics: Callable[[], None],
    ) -> None:
        self._executor = executor
        self._renderer = renderer
        self._auth = auth
        self._commands = commands
        self._actions = actions
        self._metrics = metrics
        self._update_metrics = update_metrics
        self._samples: deque[tuple[float, float, float]] = deque(maxlen=_MAX_SAMPLES)
        """Time, crawled pages a second, number of requests."""

    def sample(self) -> None:
        """Note the rates of crawl and requests for the plots; it reads files."""
        now = time.monotonic()
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE_SECONDS:
            requests = sum(self._metrics.total().requests.values())
            self._samples.append((now, float(self._crawl_status()["rate"]), float(requests)))

    def _crawl_status(self) -> dict[str, Any]:
        control = self._actions.crawl
        status = NO_CRAWL | (control.status() if control else {})
        # The figures of a crawl that has ended are its last ones.
        return status if status["running"] else {**status, "rate": 0.0, "busy": 0}

    async def page(self, request: Request) -> Response:
        """Show the panels."""
        return await self._show(request)

    async def _show(self, request: Request, status: int = 200, error: str = "", form: Any = None) -> Response:
        variables = {
            "token": self._auth.form_token(request.state.session),
            "error": error,
            "form": {"seeds": "", **dict.fromkeys(_LIMITS, ""), **(form or {})},
            "section": "",
            **await self._panels(),
        }
        return self._renderer.response("admin.html", status, _NO_STORE, request, **variables)

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
        """Start, pause, resume or stop the crawl; what is wrong with a start is said above its form."""
        form = await self._read_form(request)
        command, who = form.get("word", ""), request.state.caller
        if command != "start":
            await self._commands.control_crawl(who, command)
            return RedirectResponse("/admin", 303, _NO_STORE)
        try:
            await self._commands.start_crawl(who, _seeds(form.get("seeds", "")), _limits(form))
        except BadInput as error:
            return await self._show(request, 400, f"{error.message} {error.hint}".strip(), form)
        except HTTPException as error:
            return await self._show(request, error.status_code, str(error.detail), form)
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
            section="ranking",
            token=self._auth.form_token(request.state.session),
        )

    async def _read_form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form of the current session."""
        form = await read_form(request)
        self._auth.check_form(request, request.state.session, form.get("token", ""))
        return form

    async def live(self, request: Request) -> Response:
        """Send the current values once a second, as server-sent events."""
        ago = self._renderer.locale(request).ago
        return StreamingResponse(self._events(ago), media_type="text/event-stream", headers=_NO_STORE)

    async def _events(self, ago: Callable[[float], str]) -> AsyncIterator[bytes]:
        while True:
            crawl = await call_in_thread(self._crawl_status)
            figures, plots = self._figures(), self._plots()
            values = {
                "pages": crawl["pages"],
                "rate": round(crawl["rate"], 1),
                "state": crawl["state"],
                "waiting": crawl["waiting"],
                "busy": crawl["busy"],
                "documents": self._executor.documents,
                "requests": figures["requests"],
                "hit_rate": figures["hit_rate"],
                "plots": {name: {**drawn._asdict(), "ago": ago(drawn.seconds)} for name, drawn in plots.items()},
            }
            yield b"data: " + msgspec.json.encode(values) + b"\n\n"
            await asyncio.sleep(_LIVE_SECONDS)

    async def _quality(self) -> dict[str, Any]:
        """Return the quality of ranking, for its panel."""
        if self._actions.quality is None:
            return quality_panel(None, ())
        return quality_panel(*await call_in_thread(self._actions.quality))

    def _figures(self) -> dict[str, Any]:
        """Return the figures of the server."""
        self._update_metrics()
        metrics = self._metrics.total()
        lookups = metrics.values.get("cache_hits", 0) + metrics.values.get("cache_misses", 0)
        return {
            "requests": sum(metrics.requests.values()),
            "refused": sum(n for name, n in metrics.requests.items() if name.endswith((" 429", " 503"))),
            "hit_rate": round(100 * metrics.values.get("cache_hits", 0) / lookups) if lookups else 0,
            "cache_bytes": int(metrics.values.get("cache_bytes", 0)),
            "times": _histogram(metrics),
        }

    def _plots(self) -> dict[str, Plot]:
        """Return the plots over time, by their ids on the page."""
        samples = list(self._samples)
        return {
            "crawl-line": plot([(when, rate) for when, rate, _ in samples]),
            "request-line": plot(_rates([(when, count) for when, _, count in samples])),
        }

    async def _panels(self) -> dict[str, Any]:
        """Return the variables of all panels."""
        crawl = await call_in_thread(self._crawl_status)
        operations = self._actions.operations
        failures = await call_in_thread(operations.failures) if operations is not None else {}
        index = await self._executor.index_parts()
        await call_in_thread(self.sample)
        segments = [(name, alive) for name, _, alive, _ in index.segments] if index else []
        return {
            **crawl_panel(crawl, failures),
            "index": index,
            "segments": bars(segments),
            "parts": bars(sorted(index.parts.items())) if index else [],
            "hosts": bars(index.hosts) if index else [],
            "languages": bars([(code or "?", n) for code, n in index.languages.items()])[:8] if index else [],
            "plots": self._plots(),
            **self._figures(),
            **await self._quality(),
        }


def _seeds(text: str) -> tuple[str, ...]:
    """Return the URLs of a field with one on each line; raise `BadInput` if there are too many."""
    seeds = tuple(line.strip()[:2_048] for line in text.splitlines() if line.strip())
    if len(seeds) > _MAX_SEEDS:
        raise BadInput(f"At most {_MAX_SEEDS:,} URLs can be given here.", "Use a file: periplus crawl --seeds.")
    return tuple(seed if "://" in seed else f"https://{seed}" for seed in seeds)


def _limits(form: Mapping[str, str]) -> CrawlLimits:
    """Return the limits of a form, of which empty fields are not set; raise `BadInput` for one out of bounds."""
    given: dict[str, Any] = {name: value for name in _LIMITS if (value := form.get(name, "").strip()[:30])}
    if form.get("recrawl"):
        given["recrawl"] = True
    try:
        return convert_to(given, CrawlLimits, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(f"A limit is invalid: {str(error)[:200]}.") from None


def _number(text: str, default: float) -> float:
    """Return a number, or the default if the text is not a finite one."""
    try:
        value = float(text)
    except ValueError:
        return default
    return value if math.isfinite(value) else default


def _rates(samples: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the requests a second between samples."""
    return [(b[0], max(0.0, (b[1] - a[1]) / max(0.05, b[0] - a[0]))) for a, b in pairwise(samples)]


def _histogram(metrics: MetricsSnapshot) -> list[Any]:
    """Return the latency histogram as bars, the fastest first."""
    names = [f"≤ {bound * 1000:g} ms" for bound in BUCKETS] + ["more"]
    pairs = [(name, float(n)) for name, n in zip(names, metrics.times, strict=False)]
    order = {name: n for n, name in enumerate(names)}
    return sorted((bar for bar in bars(pairs) if bar.value), key=lambda bar: order[bar.name])
