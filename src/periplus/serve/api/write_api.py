"""What programs may change: publish a page, submit a site, report visits, steer the crawl. Each needs a key."""

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadInput, BadUrl
from periplus.records import VisitReport
from periplus.serve.actions import Actions, PublishRequest
from periplus.serve.middleware.auth import Doors
from periplus.serve.middleware.reporters import Reporters
from periplus.serve.request_bodies import json_response, read_json

__all__ = ["Changes", "Seen", "Submission"]

T = TypeVar("T")
_MOST_SEEN: Final = 5_000
_ID: Final = re.compile(r"[0-9a-f]{16}")


class Submission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page or site that somebody wants crawled."""

    url: str


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One visit that somebody made."""

    url: str
    count: int = 1
    digest: str = ""
    when: float = 0.0


class _Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    visits: tuple[Seen, ...]


class _Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seeds: Annotated[tuple[Annotated[str, msgspec.Meta(max_length=2_048)], ...], msgspec.Meta(max_length=1_000)] = ()


class Changes:
    """The views that change something."""

    def __init__(self, actions: Actions, doors: Doors, open_to_all: bool, reporters: Reporters) -> None:
        self._actions = actions
        self._doors = doors
        self._open = open_to_all
        self._reporters = reporters

    async def publish(self, request: Request) -> Response:
        """Take a page; it can be found within a second."""
        self._doors.need(request, "publish")
        publish = _there(self._actions.publish)
        given = await read_json(request, PublishRequest)
        done = await asyncio.to_thread(publish, given)
        return json_response({"id": done.id, "url": done.url, "cached": f"/cached/{done.id}"}, 201)

    async def forget(self, request: Request) -> Response:
        """Take a published page back."""
        self._doors.need(request, "publish")
        unpublish = _there(self._actions.unpublish)
        name = request.path_params["id"]
        if not _ID.fullmatch(name):
            raise HTTPException(404, "There is no such page.")
        await asyncio.to_thread(unpublish, name)
        return json_response({"id": name, "status": "forgotten"})

    async def submit(self, request: Request) -> Response:
        """Queue a URL for the crawl."""
        if not self._open:
            self._doors.need(request, "submit")
        report = _there(self._actions.report)
        given = await read_json(request, Submission)
        seen = VisitReport(given.url, source=self._reporters.source(request, given.url))
        taken, _ = await asyncio.to_thread(report, [seen])
        if not taken:
            raise BadInput("That is no URL that can be crawled.", "Give a whole one, such as https://example.org/.")
        return json_response({"url": given.url, "status": "queued"}, 202)

    async def visits(self, request: Request) -> Response:
        """Take note of visits that others made."""
        self._doors.need(request, "report")
        report = _there(self._actions.report)
        given = await read_json(request, _Report)
        if len(given.visits) > _MOST_SEEN:
            raise BadInput("Too many visits at once.", f"Send at most {_MOST_SEEN:,}.")
        sources = [self._reporters.source(request, one.url) for one in given.visits]
        pairs = zip(given.visits, sources, strict=True)
        seen = [VisitReport(one.url, one.count, one.digest, one.when, source) for one, source in pairs]
        taken, refused = await asyncio.to_thread(report, seen)
        return json_response({"taken": taken, "refused": refused}, 202)

    async def crawl(self, request: Request) -> Response:
        """Say how the crawl is."""
        self._doors.need(request, "crawl")
        found: dict[str, Any] = await asyncio.to_thread(_there(self._actions.crawl).status)
        return json_response(found)

    async def tell(self, request: Request) -> Response:
        """Let the crawl start, with some seeds or where it was, pause, resume or stop."""
        self._doors.need(request, "crawl")
        crawl = _there(self._actions.crawl)
        given = _Start()
        if request.path_params["word"] == "start" and "content-type" in request.headers:
            given = await read_json(request, _Start)
        words: dict[str, Callable[[], None]] = {
            "start": lambda: crawl.start(given.seeds),
            "pause": crawl.pause,
            "resume": crawl.resume,
            "stop": crawl.stop,
        }
        word = request.path_params["word"]
        if word not in words:
            raise HTTPException(404, "A crawl can start, pause, resume and stop.")
        try:
            await asyncio.to_thread(words[word])
        except BadUrl:
            raise
        except BadInput:
            said = "It runs already, or there is nothing to begin with: give seeds, or submit a site first."
            raise HTTPException(409, said if word == "start" else "No crawl is running.") from None
        return json_response({"status": "told", "word": word}, 202)


def _there(action: T | None) -> T:
    if action is None:
        raise HTTPException(501, "This server was started without that.")
    return action
