"""Further pages of the admin: hosts, keys, rules, collections, schedule, the log of changes, and what to do next.

Each form calls the function that the API calls; what is wrong with one is said on its page.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from periplus.errors import BadInput, NothingHere, PeriplusError
from periplus.serve.admin.admin_commands import AdminCommands
from periplus.serve.api_keys import ROLES, ApiKeys
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.request_bodies import read_form
from periplus.serve.rules.rule_protocols import RulesLike
from periplus.serve.search_request import parse_parameters
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["AdminSections"]

_NO_STORE: Final = {"cache-control": "no-store"}
_HOSTS: Final = 50
_CHANGES: Final = 200
_HOST: Final = 253
_COLLECTIONS: Final = 200
_MAX_LIMITS: Final = 7_000
_NAME: Final = 64
_USES: Final = frozenset(("filter", "facet", "sort"))


class AdminSections:
    """Handlers of the group 'sections' in the route table; all of them need a session."""

    def __init__(
        self,
        renderer: PageRenderer,
        auth: Authenticator,
        commands: AdminCommands,
        keys: ApiKeys,
        rules: RulesLike | None,
    ) -> None:
        self._renderer = renderer
        self._auth = auth
        self._commands = commands
        self._keys = keys
        self._rules = rules

    async def hosts(self, request: Request) -> Response:
        """Show the hosts of the crawl, and a form to find and to block some."""
        return await self._show_hosts(request, parse_parameters(request.scope["query_string"]).get("host", ""))

    async def _show_hosts(self, request: Request, text: str, status: int = 200, error: str = "") -> Response:
        operations = self._commands.operations()
        rows = await call_in_thread(operations.find_hosts, text[:_HOST], _HOSTS)
        blocked = await call_in_thread(operations.blocked_hosts)
        return self._respond(request, "admin_hosts.html", "hosts", status, error, text=text, rows=rows, blocked=blocked)

    async def change_hosts(self, request: Request) -> Response:
        """Block or unblock a host."""
        form = await self._read_form(request)
        commands = {"block": self._commands.block_host, "unblock": self._commands.unblock_host}
        chosen, host = _choose(commands, form), form.get("host", "")
        return await self._change(
            "/admin/hosts",
            lambda: chosen(request.state.caller, host),
            lambda status, error: self._show_hosts(request, "", status, error),
        )

    async def access(self, request: Request) -> Response:
        """Show the keys, and the rules of the server."""
        return await self._show_access(request)

    async def _show_access(self, request: Request, status: int = 200, error: str = "", secret: str = "") -> Response:
        self._commands.operations()
        variables = {
            "keys": sorted(await call_in_thread(self._keys.all), key=lambda key: key.created),
            "roles": tuple(ROLES),
            "rules": await call_in_thread(self._server_rules),
            "has_rules": self._rules is not None,
            "secret": secret,
            "caller": request.state.caller,
        }
        return self._respond(request, "admin_access.html", "access", status, error, **variables)

    def _server_rules(self) -> list[dict[str, Any]]:
        found = []
        for identifier in self._rules.server_ids() if self._rules is not None else ():
            try:
                assert self._rules is not None
                rules = self._rules.get(identifier)
                counts = {action: rules.count(action) for action in ("block", "allow", "raise", "lower")}
            except NothingHere:
                found.append({"id": identifier, "name": "", "counts": {}})
            else:
                found.append({"id": identifier, "name": rules.name, "counts": {a: n for a, n in counts.items() if n}})
        return found

    async def change_access(self, request: Request) -> Response:
        """Add or revoke a key, add or remove rules of the server."""
        form = await self._read_form(request)
        who, name = request.state.caller, form.get("name", "").strip()
        if form.get("do") == "add-key":
            try:
                limits = form.get("collections", "")[:_MAX_LIMITS].replace(",", " ").split()
                secret = await self._commands.add_key(who, name, form.get("role", ""), limits)
            except BadInput as error:
                return await self._show_access(request, 400, _text(error))
            return await self._show_access(request, 201, secret=secret)
        commands: dict[str, Callable[[], Awaitable[object]]] = {
            "remove-key": lambda: self._commands.remove_key(who, name),
            "add-rules": lambda: self._commands.add_server_rules(who, form.get("text", ""), name[:200]),
            "remove-rules": lambda: self._commands.remove_server_rules(who, form.get("id", "")[:32]),
        }
        chosen = _choose(commands, form)
        return await self._change(
            "/admin/access", chosen, lambda status, error: self._show_access(request, status, error)
        )

    async def collections(self, request: Request) -> Response:
        """Show the collections and their aliases."""
        return await self._show_collections(request)

    async def _show_collections(self, request: Request, status: int = 200, error: str = "") -> Response:
        rows = await call_in_thread(self._collection_rows)
        return self._respond(request, "admin_collections.html", "collections", status, error, rows=rows)

    def _collection_rows(self) -> list[dict[str, Any]] | None:
        """Return the collections with their numbers of documents; None where there can be none."""
        try:
            collections = self._commands.collections()
        except HTTPException:
            return None
        return [collections.describe(one["name"]) or one for one in collections.all()[:_COLLECTIONS]]

    async def change_collections(self, request: Request) -> Response:
        """Create, change or delete a collection, set or remove an alias."""
        form = await self._read_form(request)
        who, name, commands = request.state.caller, form.get("name", "").strip()[:_NAME], self._commands
        alias, public = form.get("alias", "").strip()[:_NAME], bool(form.get("public"))

        async def create() -> None:
            await commands.create_collection(who, name, _read_fields(form.get("fields", "")), public)

        chosen = _choose(
            {
                "create": create,
                "readers": lambda: commands.change_collection(who, name, None, public),
                "delete": lambda: commands.delete_collection(who, name),
                "alias": lambda: commands.change_aliases(who, {alias: name}, ()),
                "remove-alias": lambda: commands.change_aliases(who, {}, (alias,)),
            },
            form,
        )
        return await self._change(
            "/admin/collections", chosen, lambda status, error: self._show_collections(request, status, error)
        )

    async def schedule(self, request: Request) -> Response:
        """Show the schedule, and what is exchanged with other sites."""
        return await self._show_schedule(request)

    async def _show_schedule(self, request: Request, status: int = 200, error: str = "") -> Response:
        operations = self._commands.operations()
        jobs = await call_in_thread(operations.schedule)
        sinks = await call_in_thread(operations.sinks)
        return self._respond(request, "admin_schedule.html", "schedule", status, error, jobs=jobs, sinks=sinks)

    async def change_schedule(self, request: Request) -> Response:
        """Set how often a job is done, or have it done now."""
        form = await self._read_form(request)
        who, job = request.state.caller, form.get("job", "")[:20]
        commands: dict[str, Callable[[], Awaitable[object]]] = {
            "set": lambda: self._commands.set_schedule(
                who, job, _number(form.get("every_hours", "")), _number(form.get("minutes", ""))
            ),
            "now": lambda: self._commands.request_job(who, job),
        }
        chosen = _choose(commands, form)
        return await self._change(
            "/admin/schedule", chosen, lambda status, error: self._show_schedule(request, status, error)
        )

    async def changes(self, request: Request) -> Response:
        """Show the log of changes."""
        changes = await call_in_thread(self._commands.operations().changes, _CHANGES)
        return self._respond(request, "admin_changes.html", "changes", changes=changes)

    async def health(self, request: Request) -> Response:
        """Show what works, what does not, and what to do next."""
        findings = await call_in_thread(self._commands.operations().advice)
        return self._respond(request, "admin_health.html", "health", findings=findings)

    async def _read_form(self, request: Request) -> dict[str, str]:
        form = await read_form(request)
        self._auth.check_form(request, request.state.session, form.get("token", ""))
        return form

    async def _change(
        self,
        page: str,
        command: Callable[[], Awaitable[object]],
        show_error: Callable[[int, str], Awaitable[Response]],
    ) -> Response:
        """Make a change and return to the page, or show on it what is wrong."""
        try:
            await command()
        except BadInput as error:
            return await show_error(400, _text(error))
        except HTTPException as error:
            return await show_error(error.status_code, str(error.detail))
        return RedirectResponse(page, 303, _NO_STORE)

    def _respond(
        self, request: Request, template: str, section: str, status: int = 200, error: str = "", **variables: Any
    ) -> Response:
        token = self._auth.form_token(request.state.session)
        shared = {"token": token, "section": section, "error": error}
        return self._renderer.response(template, status, _NO_STORE, request, **shared, **variables)


def _choose(commands: dict[str, Any], form: dict[str, str]) -> Any:
    command = commands.get(form.get("do", ""))
    if command is None:
        raise HTTPException(400, "This form does not say what to do.")
    return command


def _read_fields(text: str) -> dict[str, dict[str, Any]]:
    """Return fields of documents, written one on each line: a name, a type, and what it is used for."""
    fields: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if len(words) < 2 or not _USES.issuperset(words[2:]):
            raise BadInput(f"This is not a field: '{line.strip()[:80]}'.", "Write for example: price number facet sort")
        fields[words[0]] = {"type": words[1], **dict.fromkeys(words[2:], True)}
    return fields


def _text(error: PeriplusError) -> str:
    return f"{error.message} {error.hint}".strip()


def _number(text: str) -> float:
    """Return a number of a form, 0 for an empty field; raise `BadInput` for what is none."""
    try:
        value = float(text.strip()[:30] or 0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput("This is not a number.", "Write for example: 24")
    return value
