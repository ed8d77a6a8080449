"""Pages rendered in one Chromium, as a crawl uses it: pages go in, requests and rendered pages come out."""

import contextlib
import selectors
import time
from collections import deque
from typing import Any, Final, NamedTuple

from periplus.errors import BadInput
from periplus.render.chromium_process import ChromiumProcess, find_chromium
from periplus.render.devtools_pipe import DevToolsPipe
from periplus.render.page_session import PageSession, SessionState
from periplus.settings import RenderSettings

__all__ = ["PageRenderer", "RenderedPage", "ResourceRequest"]

_MEMORY_SECONDS: Final = 0.5
"""Between two readings of Chromium's memory."""
_MAX_PAGES: Final = 500
"""Pages after which Chromium is started anew: what it has not freed until then, it never frees."""


class ResourceRequest(NamedTuple):
    """A script or data that a page asks for."""

    page: int
    id: str
    url: str


class RenderedPage(NamedTuple):
    """What became of a page."""

    number: int
    html: bytes
    fault: str
    """What went wrong, in a few words; '' if nothing did."""


class PageRenderer:
    """One Chromium, started with the first page, and the pages that are open in it or wait for it."""

    def __init__(self, settings: RenderSettings) -> None:
        """Raise `SettingsError` if Chromium is not installed."""
        self._settings, self._path = settings, find_chromium(settings.chromium)
        self._selector = selectors.DefaultSelector()
        self._process: ChromiumProcess | None = None
        self._pipe: DevToolsPipe | None = None
        self._queue: deque[tuple[int, str, str, bytes]] = deque()
        self._sessions: dict[int, PageSession] = {}
        self._closing: list[PageSession] = []
        self._next_page = self._next_command = 1
        self._opened = 0
        self._measured = 0.0
        self._done: list[RenderedPage] = []

    def fileno(self) -> int:
        """Return a descriptor that is readable when Chromium has sent something."""
        return self._selector.fileno()

    def busy(self) -> int:
        """Return the number of pages that wait or are open."""
        return len(self._queue) + len(self._sessions) + len(self._done)

    def submit(self, url: str, content_type: str, html: bytes) -> int:
        """Add a page as it was sent; return its number."""
        number, self._next_page = self._next_page, self._next_page + 1
        self._queue.append((number, url, content_type, html))
        return number

    def poll(self) -> tuple[list[ResourceRequest], list[RenderedPage]]:
        """Return what pages ask for, and the pages that are rendered, or failed, since the last call."""
        requests: list[ResourceRequest] = []
        now = time.monotonic()
        try:
            self._open_pages(now)
            if self._pipe is not None:
                self._pipe.flush()
                for message in self._pipe.receive():
                    self._dispatch(message, now, requests)
                self._check(now)
                self._watch()
        except (BadInput, OSError) as error:
            self._fail_all(error.message if isinstance(error, BadInput) else str(error.strerror))
        done, self._done = self._done, []
        return requests, done

    def fulfil(self, request: ResourceRequest, status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> None:
        """Answer a request of a page."""
        if (session := self._sessions.get(request.page)) is not None:
            with contextlib.suppress(BadInput):  # `poll` notices that Chromium has ended.
                session.fulfil(request.id, status, headers, body, time.monotonic())

    def refuse(self, request: ResourceRequest) -> None:
        """Refuse a request of a page."""
        if (session := self._sessions.get(request.page)) is not None:
            with contextlib.suppress(BadInput):
                session.refuse(request.id, time.monotonic())

    def close(self) -> None:
        """End Chromium; pages that are not rendered by now never are."""
        self._stop()
        self._selector.close()

    def _open_pages(self, now: float) -> None:
        if self._opened >= _MAX_PAGES and not self._sessions:
            self._stop()
        while self._queue and len(self._sessions) < self._settings.pages and self._opened < _MAX_PAGES:
            if self._process is None:
                self._start()
            number, url, content_type, html = self._queue.popleft()
            seconds, most = self._settings.seconds, self._settings.requests
            self._sessions[number] = PageSession(number, url, content_type, html, self._send, now, seconds, most)
            self._opened += 1

    def _start(self) -> None:
        self._process = ChromiumProcess(self._path)
        self._pipe = DevToolsPipe(self._process.read, self._process.write)
        self._selector.register(self._process.read, selectors.EVENT_READ)

    def _send(self, method: str, parameters: dict[str, Any], session: str) -> int:
        assert self._pipe is not None
        number, self._next_command = self._next_command, self._next_command + 1
        message = {"id": number, "method": method, "params": parameters}
        self._pipe.send(message | ({"sessionId": session} if session else {}))
        return number

    def _dispatch(self, message: dict[str, Any], now: float, requests: list[ResourceRequest]) -> None:
        try:
            if "id" in message:
                for session in (*self._sessions.values(), *self._closing):
                    if session.is_waiting_for(message["id"]):
                        session.reply(message)
                        break
                return
            for session in self._sessions.values():
                if session.session and session.session == message.get("sessionId"):
                    asked = session.event(str(message.get("method")), message.get("params", {}), now)
                    if asked is not None:
                        requests.append(ResourceRequest(session.number, *asked))
                    break
        except (KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"Chromium sent an unknown message ({type(error).__name__}).") from None

    def _check(self, now: float) -> None:
        for session in list(self._sessions.values()):
            session.check(now)
            if session.state is SessionState.DONE:
                del self._sessions[session.number]
                self._done.append(RenderedPage(session.number, session.rendered, session.fault))
                session.close()
                self._closing = [*self._closing[-self._settings.pages :], session]
        if self._process is not None and self._sessions and now - self._measured >= _MEMORY_SECONDS:
            self._measured = now
            if self._process.memory_mb() > self._settings.memory_mb:
                raise BadInput("Chromium took more memory than render.memory_mb allows.")

    def _watch(self) -> None:
        """Wait for room in the pipe only while there is something to send."""
        assert self._pipe is not None
        assert self._process is not None
        watched = self._process.write in self._selector.get_map()
        if self._pipe.has_unsent and not watched:
            self._selector.register(self._process.write, selectors.EVENT_WRITE)
        elif watched and not self._pipe.has_unsent:
            self._selector.unregister(self._process.write)

    def _fail_all(self, fault: str) -> None:
        """End Chromium: the pages that were open failed, or all that wait if it does not start; others go on."""
        failed = list(self._sessions) or [page[0] for page in self._queue]
        if not self._sessions:
            self._queue.clear()
        self._done += [RenderedPage(number, b"", fault) for number in failed]
        self._stop()

    def _stop(self) -> None:
        self._sessions.clear()
        self._closing.clear()
        if self._process is not None:
            for descriptor in (self._process.read, self._process.write):
                with contextlib.suppress(KeyError):
                    self._selector.unregister(descriptor)
            self._process.kill()
            self._process = self._pipe = None
            self._opened = 0
