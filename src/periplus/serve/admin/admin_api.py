"""The API of operators: keys, hosts of the crawl, schedule, sinks, the log of changes, and what to do next."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadInput
from periplus.serve.admin.admin_commands import AdminCommands
from periplus.serve.api_keys import ApiKey, ApiKeys
from periplus.serve.request_bodies import json_response, read_json
from periplus.serve.search_request import parse_parameters
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["AdminApi"]

_MAX_CHANGES: Final = 1_000
_MAX_HOSTS: Final = 500
_HOST: Final = 253


class _KeyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    role: Annotated[str, Meta(max_length=20)]
    collections: Annotated[tuple[Annotated[str, Meta(max_length=65)], ...], Meta(max_length=100)] = ()


class _ScheduleBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    every_hours: Annotated[float, Meta(ge=0, le=8_760)]
    minutes: Annotated[float, Meta(ge=0, le=10_080)] = 0.0


class AdminApi:
    """Handlers of the group 'operations' in the route table."""

    def __init__(self, commands: AdminCommands, keys: ApiKeys) -> None:
        self._commands = commands
        self._keys = keys

    async def health(self, _: Request) -> Response:
        """Return the state of everything, and what to do next."""
        return json_response({"findings": await call_in_thread(self._commands.operations().advice)})

    async def changes(self, request: Request) -> Response:
        """Return the latest changes."""
        changes = await call_in_thread(self._commands.operations().changes, _count(request, 100, _MAX_CHANGES))
        return json_response({"changes": changes})

    async def keys(self, _: Request) -> Response:
        """Return all keys, without their secrets."""
        self._commands.operations()
        keys = await call_in_thread(self._keys.all)
        return json_response({"keys": [_described(key) for key in keys]})

    async def add_key(self, request: Request) -> Response:
        """Create a key; its secret is in this response only."""
        self._commands.operations()
        body = await read_json(request, _KeyBody)
        secret = await self._commands.add_key(request.state.caller, body.name, body.role, body.collections)
        made = {"name": body.name, "role": body.role, "collections": body.collections}
        return json_response({**made, "key": secret}, 201)

    async def remove_key(self, request: Request) -> Response:
        """Revoke a key."""
        name = request.path_params["name"]
        await self._commands.remove_key(request.state.caller, name)
        return json_response({"name": name, "status": "revoked"})

    async def hosts(self, request: Request) -> Response:
        """Return hosts of the crawl whose names contain a text."""
        operations = self._commands.operations()
        text = parse_parameters(request.scope["query_string"]).get("q", "")[:_HOST]
        hosts = await call_in_thread(operations.find_hosts, text, _count(request, 50, _MAX_HOSTS))
        return json_response({"hosts": hosts})

    async def failures(self, _: Request) -> Response:
        """Return a few requests that failed lately, by outcome."""
        return json_response({"failures": await call_in_thread(self._commands.operations().failures)})

    async def blocked(self, _: Request) -> Response:
        """Return the blocked hosts."""
        return json_response({"hosts": list(await call_in_thread(self._commands.operations().blocked_hosts))})

    async def block(self, request: Request) -> Response:
        """Block a host."""
        host = await self._commands.block_host(request.state.caller, request.path_params["host"])
        return json_response({"host": host, "status": "blocked"})

    async def unblock(self, request: Request) -> Response:
        """Unblock a host."""
        self._commands.operations()
        try:
            host = await self._commands.unblock_host(request.state.caller, request.path_params["host"])
        except BadInput as error:
            raise HTTPException(404, error.message) from None
        return json_response({"host": host, "status": "allowed"})

    async def schedule(self, _: Request) -> Response:
        """Return the scheduled jobs."""
        return json_response({"jobs": await call_in_thread(self._commands.operations().schedule)})

    async def set_schedule(self, request: Request) -> Response:
        """Set how often a job is done."""
        self._commands.operations()
        body = await read_json(request, _ScheduleBody)
        job = request.path_params["job"]
        await self._commands.set_schedule(request.state.caller, job, body.every_hours, body.minutes)
        return json_response({"job": job, "every_hours": body.every_hours, "minutes": body.minutes})

    async def request_job(self, request: Request) -> Response:
        """Have a job done at once."""
        job = request.path_params["job"]
        await self._commands.request_job(request.state.caller, job)
        return json_response({"job": job, "status": "requested"}, 202)

    async def sinks(self, _: Request) -> Response:
        """Return what this server exchanges with other sites."""
        sinks: dict[str, Any] = await call_in_thread(self._commands.operations().sinks)
        return json_response(sinks)


def _count(request: Request, default: int, most: int) -> int:
    """Return the parameter `count`; raise `BadInput` if it is out of bounds."""
    text = parse_parameters(request.scope["query_string"]).get("count", str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise BadInput("count is invalid.", f"Use a whole number from 1 to {most:,}.")
    return int(text)


def _described(key: ApiKey) -> dict[str, Any]:
    return {"name": key.name, "role": key.role, "created": key.created, "collections": list(key.collections)}
