"""Handlers for programs that change something: publish a page, submit a site, report visits, control the crawl."""

import re
from typing import Annotated, Any, Final, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadInput
from periplus.records import VisitReport
from periplus.serve.actions import Actions, PublishRequest
from periplus.serve.admin.admin_commands import AdminCommands
from periplus.serve.admin.admin_protocols import CrawlLimits
from periplus.serve.middleware.reporter_hashes import ReporterHasher
from periplus.serve.request_bodies import json_response, read_json
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["SubmissionBody", "VisitBody", "WriteHandlers"]

T = TypeVar("T")
_MAX_VISITS: Final = 5_000
_COMMANDS: Final = ("start", "pause", "resume", "stop")
_ID: Final = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")


class SubmissionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page or site to crawl."""

    url: str


class VisitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One visited page."""

    url: str
    count: int = 1
    digest: str = ""
    when: float = 0.0


class _VisitsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    visits: tuple[VisitBody, ...]


class _StartBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seeds: Annotated[tuple[Annotated[str, msgspec.Meta(max_length=2_048)], ...], msgspec.Meta(max_length=1_000)] = ()
    limits: CrawlLimits | None = None


class WriteHandlers:
    """Handlers of the group 'writes' in the route table."""

    def __init__(self, actions: Actions, reporters: ReporterHasher, commands: AdminCommands) -> None:
        self._actions = actions
        self._commands = commands
        self._reporters = reporters

    async def publish(self, request: Request) -> Response:
        """Publish a page; searches find it within a second."""
        publish = _available(self._actions.publish)
        page = await read_json(request, PublishRequest)
        if not page.content.strip() and not page.url:
            raise BadInput("There is no content.", "See /api for the fields.")
        receipt = await call_in_thread(publish, page, request.state.publisher, None)
        answer = {"id": receipt.id, "url": receipt.url, "content": f"/c/{receipt.id}", "changed": receipt.changed}
        return json_response({**answer, "key": receipt.key, "cached": f"/cached/{receipt.key}"}, 201)

    async def unpublish(self, request: Request) -> Response:
        """Remove a published page."""
        unpublish = _available(self._actions.unpublish)
        page_id = request.path_params["id"]
        if not _ID.fullmatch(page_id):
            raise HTTPException(404, "There is no such page.")
        await call_in_thread(unpublish, page_id, request.state.publisher)
        return json_response({"id": page_id, "status": "forgotten"})

    async def submit(self, request: Request) -> Response:
        """Queue a URL for the crawl."""
        report = _available(self._actions.report)
        body = await read_json(request, SubmissionBody)
        visit = VisitReport(body.url, source=self._reporters.source(request, body.url))
        accepted, _ = await call_in_thread(report, [visit])
        if not accepted:
            raise BadInput("This URL cannot be crawled.", "Send a complete one, such as https://example.org/.")
        return json_response({"url": body.url, "status": "queued"}, 202)

    async def visits(self, request: Request) -> Response:
        """Record visited pages."""
        report = _available(self._actions.report)
        body = await read_json(request, _VisitsBody)
        if len(body.visits) > _MAX_VISITS:
            raise BadInput("Too many visits in one request.", f"Send at most {_MAX_VISITS:,}.")
        reports = [
            VisitReport(visit.url, visit.count, visit.digest, visit.when, self._reporters.source(request, visit.url))
            for visit in body.visits
        ]
        accepted, rejected = await call_in_thread(report, reports)
        return json_response({"taken": accepted, "refused": rejected}, 202)

    async def crawl(self, _: Request) -> Response:
        """Return the state of the crawl."""
        status: dict[str, Any] = await call_in_thread(_available(self._actions.crawl).status)
        return json_response(status)

    async def control_crawl(self, request: Request) -> Response:
        """Start, pause, resume or stop the crawl."""
        self._commands.crawl()
        command, body = request.path_params["word"], _StartBody()
        if command == "start" and "content-type" in request.headers:
            body = await read_json(request, _StartBody)
        if command not in _COMMANDS:
            raise HTTPException(404, "The commands are start, pause, resume and stop.")
        if command == "start":
            await self._commands.start_crawl(request.state.caller, body.seeds, body.limits)
        else:
            await self._commands.control_crawl(request.state.caller, command)
        return json_response({"status": "told", "word": command}, 202)


def _available(action: T | None) -> T:
    if action is None:
        raise HTTPException(501, "This is not available on this server.")
    return action
