"""Handlers for collections: create, describe, change, delete and search them, and let aliases stand for them."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.records import ResultPage, SearchLimits
from periplus.serve.admin.admin_commands import AdminCommands
from periplus.serve.api.result_formats import as_json
from periplus.serve.api_keys import ApiKey
from periplus.serve.collections.collection_protocols import CollectionsLike
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.request_bodies import encode_json, json_response, read_json
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parse_api_request, parse_parameters, seems_expensive
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["CollectionAccess", "CollectionHandlers"]

_EMPTY: Final = "Nothing is indexed yet: send documents to /api/collections/NAME/documents."
_Name = Annotated[str, Meta(max_length=64)]


class _NewCollection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    fields: dict[str, Any] = {}
    public: bool = False


class _CollectionChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fields: dict[str, Any] | None = None
    public: bool | None = None


class _Alias(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    collection: _Name


class _AliasChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    set: Annotated[dict[_Name, _Name], Meta(max_length=1_000)] = {}
    remove: Annotated[tuple[_Name, ...], Meta(max_length=1_000)] = ()


class CollectionAccess:
    """Who may do what with which collection."""

    def __init__(self, collections: CollectionsLike | None, auth: Authenticator) -> None:
        self._collections = collections
        self._auth = auth

    def available(self) -> CollectionsLike:
        """Return the collections; raise `HTTPException` where there are none."""
        if self._collections is None:
            raise HTTPException(501, "This is not available on this server.")
        return self._collections

    def check_key(self, request: Request, *names: str) -> None:
        """Raise `HTTPException` unless the key of the request may be used for each of these names.

        A name that is an alias is that of its collection too.
        """
        for name in names:
            self._auth.check_scope(_key(request), self._names(name))

    def check_reader(self, request: Request, name: str) -> None:
        """Raise `HTTPException` unless the collection is public, or the caller has a key that may read it.

        Nobody else learns whether it exists.
        """
        found = self.available().find(name)
        if found is None or not found.public:
            self._auth.check_reader(request, self._names(name))
        if found is None:
            raise HTTPException(404, "There is no such collection.")

    def may_see(self, request: Request, names: Sequence[str]) -> bool:
        """Return whether the key of the request may be used for a collection with these names."""
        return _key(request).covers(names)

    def _names(self, name: str) -> list[str]:
        found = self.available().find(name)
        return [name] if found is None else [name, found.name]


class CollectionHandlers:
    """Handlers of the group 'collections' in the route table."""

    def __init__(self, access: CollectionAccess, executor: SearchExecutor, commands: AdminCommands) -> None:
        self._access = access
        self._executor = executor
        self._commands = commands

    async def list(self, request: Request) -> Response:
        """Return the collections that the key may be used for."""
        found = await call_in_thread(self._access.available().all)
        seen = [one for one in found if self._access.may_see(request, [one["name"], *one["aliases"]])]
        return json_response({"collections": seen})

    async def create(self, request: Request) -> Response:
        """Create a collection."""
        self._access.available()
        body = await read_json(request, _NewCollection)
        self._access.check_key(request, body.name)
        who = request.state.caller
        return json_response(await self._commands.create_collection(who, body.name, body.fields, body.public), 201)

    async def describe(self, request: Request) -> Response:
        """Return a collection, its fields and its number of documents."""
        name = self._existing(request)
        return json_response(await call_in_thread(self._access.available().describe, name))

    async def change(self, request: Request) -> Response:
        """Change the fields of a collection, or who may read it."""
        name, body = self._existing(request), await read_json(request, _CollectionChange)
        who = request.state.caller
        return json_response(await self._commands.change_collection(who, name, body.fields, body.public))

    async def delete(self, request: Request) -> Response:
        """Delete a collection."""
        name = self._existing(request)
        await self._commands.delete_collection(request.state.caller, name)
        return json_response({"name": name, "status": "deleted"})

    def _existing(self, request: Request) -> str:
        """Return the name of the collection that is meant; raise `HTTPException` if there is none."""
        name = request.path_params["collection"]
        collections = self._access.available()
        self._access.check_key(request, name)
        if collections.find(name) is None:
            raise HTTPException(404, "There is no such collection.")
        return str(name)

    async def search(self, request: Request) -> Response:
        """Search a collection."""
        name, query_string = request.path_params["collection"], request.scope["query_string"]
        self._access.check_reader(request, name)
        asked, collections = parse_api_request(parse_parameters(query_string)), self._access.available()

        def search(limits: SearchLimits) -> ResultPage | None:
            searcher = collections.searcher(name)
            return searcher.search(asked.query, limits) if searcher is not None else None

        page = await self._executor.run_search(search, expensive=seems_expensive(query_string))
        if page is None:
            raise HTTPException(404, "There is no such collection.")
        if not page.documents:
            page = msgspec.structs.replace(page, notes=(*page.notes, _EMPTY))
        answer = as_json(page, asked)
        for result in answer["results"]:
            result["cached"] = ""  # cached copies are those of the main index
        return Response(encode_json(answer), 200, {"cache-control": "private, no-cache"}, "application/json")

    async def aliases(self, request: Request) -> Response:
        """Return the aliases that the key may be used for."""
        aliases = await call_in_thread(self._access.available().aliases)
        seen = {alias: name for alias, name in aliases.items() if self._access.may_see(request, [alias, name])}
        return json_response({"aliases": seen})

    async def change_aliases(self, request: Request) -> Response:
        """Set and remove aliases, all in one step."""
        body = await read_json(request, _AliasChange)
        return await self._change_aliases(request, body.set, body.remove)

    async def set_alias(self, request: Request) -> Response:
        """Set what an alias stands for."""
        body = await read_json(request, _Alias)
        return await self._change_aliases(request, {request.path_params["alias"]: body.collection}, ())

    async def remove_alias(self, request: Request) -> Response:
        """Remove an alias."""
        alias = request.path_params["alias"]
        self._access.check_key(request, alias)
        if alias not in await call_in_thread(self._access.available().aliases):
            raise HTTPException(404, "There is no such alias.")
        return await self._change_aliases(request, {}, (alias,))

    async def _change_aliases(self, request: Request, targets: dict[str, str], removed: Sequence[str]) -> Response:
        self._access.check_key(request, *targets, *targets.values(), *removed)
        aliases = await self._commands.change_aliases(request.state.caller, targets, removed)
        seen = {alias: name for alias, name in aliases.items() if self._access.may_see(request, [alias, name])}
        return json_response({"aliases": seen})


def _key(request: Request) -> ApiKey:
    key: ApiKey = request.state.key
    return key
