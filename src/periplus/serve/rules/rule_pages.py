"""Handlers of rules: the page on which people write, choose and share them, and the API.

Which rules a person uses is in a cookie: the id of a rule set, nothing else. No account is needed.
"""

import re
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from periplus.errors import BadInput, NothingHere
from periplus.serve.admin.admin_commands import AdminCommands
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.request_bodies import json_response, read_form_bytes, read_json
from periplus.serve.rules.rule_protocols import RuleSetLike, RulesLike
from periplus.serve.search_request import parse_parameters
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["RULES_COOKIE", "RuleHandlers"]

RULES_COOKIE: Final = "periplus_rules"
_COOKIE_SECONDS: Final = 400 * 86_400
_ID: Final = re.compile(r"[0-9a-f]{32}")
_PURPOSE: Final = "rules"
"""The purpose of the token in the form."""
_MAX_FORM_BYTES: Final = 6_500_000
"""A rule set has two million bytes; in a form, most characters but letters take three."""
_MAX_JSON_BYTES: Final = 4_500_000
_NO_STORE: Final = {"cache-control": "no-store"}
_ACTIONS: Final = ("block", "raise", "lower")


class _RulesBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=2_000_000)]
    name: Annotated[str, Meta(max_length=200)] = ""
    format: str = "auto"


class _ServerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ids: Annotated[tuple[Annotated[str, Meta(max_length=32)], ...], Meta(max_length=4)]


class RuleHandlers:
    """Handlers of the group 'rules' in the route table."""

    def __init__(
        self, rules: RulesLike | None, renderer: PageRenderer, auth: Authenticator, commands: AdminCommands
    ) -> None:
        self._rules = rules
        self._commands = commands
        self._renderer = renderer
        self._auth = auth

    def _store(self) -> RulesLike:
        if self._rules is None:
            raise HTTPException(501, "This server has no rules.")
        return self._rules

    async def _find(self, identifier: str) -> RuleSetLike | None:
        store = self._store()
        if not _ID.fullmatch(identifier):
            return None
        try:
            return await call_in_thread(store.get, identifier)
        except NothingHere:
            return None

    async def add(self, request: Request) -> Response:
        """Store a rule set."""
        store, body = self._store(), await read_json(request, _RulesBody, _MAX_JSON_BYTES)
        rules = await call_in_thread(lambda: store.add(body.text, body.format, body.name))
        return json_response(_describe(rules), 201)

    async def get(self, request: Request) -> Response:
        """Return a rule set."""
        rules = await self._find(request.path_params["id"])
        if rules is None:
            raise HTTPException(404, "There are no rules with this id.")
        return json_response({**_describe(rules), "text": rules.source.text})

    async def server_rules(self, _: Request) -> Response:
        """Return which sets count for everybody."""
        return json_response({"ids": await call_in_thread(self._store().server_ids)})

    async def set_server_rules(self, request: Request) -> Response:
        """Set which sets count for everybody."""
        self._store()
        body = await read_json(request, _ServerBody)
        return json_response({"ids": await self._commands.set_server_rules(request.state.caller, body.ids)})

    async def page(self, request: Request) -> Response:
        """Show the rules of this browser, and forms to change them."""
        parameters = parse_parameters(request.scope["query_string"])
        own = await self._find(request.cookies.get(RULES_COOKIE, ""))
        shown = await self._find(parameters.get("from", "")) or own
        return await self._respond(request, own, shown.source.text if shown else "", shown.name if shown else "")

    async def shared(self, request: Request) -> Response:
        """Show a rule set that somebody shares."""
        rules = await self._find(request.path_params["id"])
        if rules is None:
            raise HTTPException(404, "There are no rules with this id.")
        variables = {"rules": rules, "counts": _counts(rules), "token": self._auth.form_token(_PURPOSE)}
        variables["used"] = request.cookies.get(RULES_COOKIE, "") == rules.id
        return self._renderer.response("shared_rules.html", 200, _NO_STORE, request, **variables)

    async def _respond(
        self, request: Request, own: RuleSetLike | None, text: str, name: str, status: int = 200, error: str = ""
    ) -> Response:
        variables = {
            "own": own,
            "counts": _counts(own) if own else (),
            "text": text,
            "title": name,
            "error": error,
            "actions": _ACTIONS,
            "token": self._auth.form_token(_PURPOSE),
            "server": await call_in_thread(self._store().server_ids),
        }
        return self._renderer.response("rules.html", status, _NO_STORE, request, **variables)

    async def change(self, request: Request) -> Response:
        """Save, use or stop using rules, or add a line for one site."""
        store, form = self._store(), await _read_form(request)
        self._auth.check_form(request, _PURPOSE, form.get("token", ""))
        own = await self._find(request.cookies.get(RULES_COOKIE, ""))
        command, text, name = form.get("do", "save"), form.get("text", ""), form.get("name", "")[:200]
        if command == "stop":
            return _redirect(request, "")
        if command == "use":
            chosen = await self._find(form.get("id", ""))
            if chosen is None:
                raise HTTPException(404, "There are no rules with this id.")
            return _redirect(request, chosen.id)
        if command == "site":
            text, name = _with_site(own.source if own else None, form), own.name if own else ""
        try:
            rules = await call_in_thread(lambda: store.add(text, form.get("format", "auto"), name))
        except BadInput as error:
            return await self._respond(request, own, text, name, 400, f"{error.message} {error.hint}".strip())
        return _redirect(request, rules.id)


async def _read_form(request: Request) -> dict[str, str]:
    body = await read_form_bytes(request, _MAX_FORM_BYTES)
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise BadInput("The form has too many fields.") from None


def _with_site(source: Any, form: dict[str, str]) -> str:
    """Return the text of rules with a line for one site; one that is there for the same site goes."""
    action = form.get("action", "")
    site = "".join(form.get("site", "").split())[:300].removeprefix("https://").removeprefix("http://").rstrip("/")
    text: str = source.text if source else ""
    if action not in _ACTIONS:
        return text
    if source is not None and source.format == "goggles":
        option = {"block": "discard", "raise": "boost=3", "lower": "downrank=3"}[action]
        return f"{text}${option},site={site}\n"
    others = [line for line in text.splitlines() if not re.fullmatch(rf"\w+ {re.escape(site)}(?: \d+)?", line.strip())]
    return "\n".join([*others, f"{action} {site}"]) + "\n"


def _redirect(request: Request, identifier: str) -> Response:
    """Return to the page of rules, with a cookie that names them, or without one."""
    response = RedirectResponse("/rules", 303, _NO_STORE)
    options = {"path": "/", "httponly": True, "samesite": "lax", "secure": request.scope["scheme"] == "https"}
    if identifier:
        response.set_cookie(RULES_COOKIE, identifier, max_age=_COOKIE_SECONDS, **options)
    else:
        response.delete_cookie(RULES_COOKIE, **options)
    return response


def _counts(rules: RuleSetLike) -> tuple[tuple[str, int], ...]:
    return tuple(
        (action, rules.count(action)) for action in ("block", "allow", "raise", "lower") if rules.count(action)
    )


def _describe(rules: RuleSetLike) -> dict[str, Any]:
    return {
        "id": rules.id,
        "url": f"/rules/{rules.id}",
        "name": rules.name,
        "description": rules.description,
        "format": rules.source.format,
        "rules": dict(_counts(rules)),
        "blocks_others": rules.blocks_others,
        "ignored": rules.ignored_count,
        "ignored_lines": [{"line": line, "reason": reason} for line, reason in rules.ignored],
    }
