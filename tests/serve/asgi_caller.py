"""Calls an ASGI application in this process: a request in, status, headers and body out."""

import asyncio
import json
from typing import Any, NamedTuple

from starlette.types import ASGIApp


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def call(
    app: ASGIApp,
    target: str | bytes,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    client: str = "127.0.0.1",
) -> Answer:
    raw = target.encode("utf-8", "surrogatepass") if isinstance(target, str) else target
    path, _, query = raw.partition(b"?")
    given = {"host": "127.0.0.1:8080", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path.decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": (client, 1),
        "server": ("127.0.0.1", 80),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    pairs = [(name.decode(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], dict(pairs), body)


def get(app: ASGIApp, target: str | bytes, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
    return asyncio.run(call(app, target, method, headers))


def send(
    app: ASGIApp, target: str, value: Any, key: str = "", method: str = "POST", headers: dict[str, str] | None = None
) -> Answer:
    """Send a JSON body, with a key if there is one."""
    given = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    return asyncio.run(call(app, target, method, given | (headers or {}), json.dumps(value).encode()))
