"""One page that is open in Chromium: the commands from an empty tab to the HTML that its scripts have made.

A state machine without I/O: commands go out through a function, replies and events come in, and so does the time.

    OPENING -> LOADING -> READING -> DONE      any state -> DONE with a fault
"""

import base64
import enum
from collections.abc import Callable
from typing import Any, Final

__all__ = ["PageSession", "SessionState"]

_RESOURCES: Final = frozenset({"Script", "XHR", "Fetch"})
"""What pages may load: nothing that is only seen or heard."""
_QUIET_SECONDS: Final = 0.5
"""After the page has loaded and nothing is under way: what is shown later, on a timer, is not waited for."""
_READ_SECONDS: Final = 5.0
"""For the HTML: a script that never ends keeps it back."""

Send = Callable[[str, dict[str, Any], str], int]
"""send(method, parameters, session): returns the number of the command."""


class SessionState(enum.StrEnum):
    """What a page is waiting for."""

    OPENING = "opening"
    LOADING = "loading"
    READING = "reading"
    DONE = "done"


class PageSession:
    """A page from its HTML as it was sent to its HTML as it is shown."""

    def __init__(
        self,
        number: int,
        url: str,
        content_type: str,
        html: bytes,
        send: Send,
        now: float,
        seconds: float,
        most: int,
    ) -> None:
        """Open a page; it is read after `seconds` at the latest, and may ask for `most` scripts and data."""
        self.number, self.url = number, url
        self._html, self._send = html, send
        self._headers = (("content-type", content_type or "text/html"),)
        self._deadline, self._most = now + seconds, most
        self.state = SessionState.OPENING
        self.rendered, self.fault = b"", ""
        self.session = ""
        self._context = self._target = ""
        self._waiting: dict[int, Callable[[dict[str, Any]], None]] = {}
        self._open: set[str] = set()
        """Requests that the caller has not answered."""
        self._asked = 0
        self._loaded = False
        self._moved = now
        self._call("Target.createBrowserContext", {"disposeOnDetach": True}, self._create)

    def is_waiting_for(self, command: int) -> bool:
        """Return whether the reply to a command is for this page."""
        return command in self._waiting

    def reply(self, message: dict[str, Any]) -> None:
        """Go on with the reply to a command."""
        then = self._waiting.pop(message["id"])
        if "result" in message:
            then(message["result"])
        elif self.state is not SessionState.DONE and then != self._ignore:
            self._fail("Chromium refused a command")

    def event(self, method: str, parameters: dict[str, Any], now: float) -> tuple[str, str] | None:
        """Go on with an event; return id and URL of a script or data that the page asks for."""
        self._moved = now
        if method == "Fetch.requestPaused":
            return self._pause(parameters)
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Page.javascriptDialogOpening":
            self._call("Page.handleJavaScriptDialog", {"accept": False})
        elif method in ("Inspector.targetCrashed", "Inspector.detached"):
            self._fail("it crashed")
        return None

    def fulfil(self, request: str, status: int, headers: tuple[tuple[str, str], ...], body: bytes, now: float) -> None:
        """Answer a request of the page."""
        if request in self._open:
            self._open.discard(request)
            self._moved = now
            fields = [{"name": name, "value": value} for name, value in headers]
            parameters = {"requestId": request, "responseCode": status, "responseHeaders": fields}
            self._call("Fetch.fulfillRequest", parameters | {"body": base64.b64encode(body).decode("ascii")})

    def refuse(self, request: str, now: float) -> None:
        """Refuse a request of the page."""
        if request in self._open:
            self._open.discard(request)
            self._moved = now
            self._block(request)

    def check(self, now: float) -> None:
        """Read the page if nothing moves any more or its time is over; give up if it cannot be read."""
        if self.state is SessionState.LOADING:
            quiet = self._loaded and not self._open and now - self._moved >= _QUIET_SECONDS
            if quiet or now >= self._deadline:
                self.state = SessionState.READING
                self._deadline = now + _READ_SECONDS
                self._call("DOM.getDocument", {"depth": 0}, self._read)
        elif self.state is not SessionState.DONE and now >= self._deadline:
            self._fail("its scripts take too long")

    def close(self) -> None:
        """Close the tab, whatever it is doing."""
        self.state = SessionState.DONE
        if self._target:
            self._call("Target.closeTarget", {"targetId": self._target}, browser=True)
        if self._context:
            self._call("Target.disposeBrowserContext", {"browserContextId": self._context}, browser=True)

    def _call(
        self,
        method: str,
        parameters: dict[str, Any],
        then: Callable[[dict[str, Any]], None] | None = None,
        *,
        browser: bool = False,
    ) -> None:
        session = "" if browser or not self.session else self.session
        self._waiting[self._send(method, parameters, session)] = then or self._ignore

    def _ignore(self, result: dict[str, Any]) -> None:
        pass

    def _create(self, result: dict[str, Any]) -> None:
        self._context = str(result["browserContextId"])
        self._call(
            "Target.createTarget", {"url": "about:blank", "browserContextId": self._context}, self._attach, browser=True
        )

    def _attach(self, result: dict[str, Any]) -> None:
        self._target = str(result["targetId"])
        self._call("Target.attachToTarget", {"targetId": self._target, "flatten": True}, self._navigate, browser=True)

    def _navigate(self, result: dict[str, Any]) -> None:
        self.session = str(result["sessionId"])
        self._call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
        self._call("Page.enable", {})
        self._call("Network.setBypassServiceWorker", {"bypass": True})
        self._call("Page.navigate", {"url": self.url})
        self.state = SessionState.LOADING

    def _pause(self, parameters: dict[str, Any]) -> tuple[str, str] | None:
        request, kind = str(parameters["requestId"]), parameters.get("resourceType")
        url, method = str(parameters["request"]["url"]), parameters["request"].get("method")
        if kind == "Document" and self._html:
            body, self._html = self._html, b""
            self._open.add(request)
            self.fulfil(request, 200, self._headers, body, self._moved)
        elif kind in _RESOURCES and method == "GET" and self._asked < self._most and url.startswith("http"):
            self._asked += 1
            self._open.add(request)
            return request, url
        else:
            self._block(request)
        return None

    def _block(self, request: str) -> None:
        self._call("Fetch.failRequest", {"requestId": request, "errorReason": "BlockedByClient"})

    def _read(self, result: dict[str, Any]) -> None:
        self._call("DOM.getOuterHTML", {"nodeId": result["root"]["nodeId"]}, self._finish)

    def _finish(self, result: dict[str, Any]) -> None:
        self.rendered = str(result["outerHTML"]).encode("utf-8", "replace")
        self.state = SessionState.DONE

    def _fail(self, fault: str) -> None:
        self.fault = fault
        self.state = SessionState.DONE
