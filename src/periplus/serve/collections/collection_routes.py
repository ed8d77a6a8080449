"""The part of the route table for collections, their documents and aliases."""

from typing import Any, Final

from periplus.serve.document_routes import DOCUMENT_ROUTES
from periplus.serve.route_records import INVALID, TOO_MANY, Parameter, Route, object_schema, text
from periplus.serve.search_routes import COLLECTION_PARAMETERS

__all__ = ["COLLECTION_ROUTES"]

_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
_NAME: Final = text(64, pattern=_PATTERN)
_COLLECTION: Final = Parameter("collection", "its name, or an alias", _NAME, True, "path")
_ALIAS: Final = Parameter("alias", "its name", _NAME, True, "path")
_FIELD: Final = object_schema(
    ("type",),
    type={"type": "string", "enum": ["keyword", "number", "date", "boolean", "text"]},
    filter={"type": "boolean"},
    facet={"type": "boolean"},
    sort={"type": "boolean"},
)
_FIELDS: Final[dict[str, Any]] = {"type": "object", "additionalProperties": _FIELD, "maxProperties": 200}
_ACCESS: Final = {
    401: "no key, or an unknown one",
    403: "the role of the key does not allow this, or it is limited to other collections",
    501: "not available on this server",
    503: "try again later",
}
_BODY: Final = {413: "the body is too long", 415: "the body is not JSON"}
_NONE: Final = {404: "there is no such collection"}
_TAGS: Final = ("collections",)


def _in_collection(route: Route) -> Route:
    """Return a route for the documents of a collection, like that for those of the main index."""
    return route._replace(
        path=route.path.replace("/api/", "/api/collections/{collection}/"),
        summary=f"{route.summary}, in a collection",
        tags=_TAGS,
        permission="" if route.handler == "documents.find" else route.permission,
        parameters=(_COLLECTION, *route.parameters),
        responses={**route.responses, **_NONE, **{403: _ACCESS[403]}},
        scoped=True,
    )


COLLECTION_ROUTES: Final = (
    Route(
        "GET",
        "/api/collections",
        "collections.list",
        "Return the collections that the key may be used for",
        _TAGS,
        "read",
        responses={200: "name, fields, aliases, and whether anybody may search each"} | TOO_MANY | _ACCESS,
        scoped=True,
    ),
    Route(
        "POST",
        "/api/collections",
        "collections.create",
        "Create a collection",
        _TAGS,
        "manage",
        body=object_schema(("name",), name=_NAME, fields=_FIELDS, public={"type": "boolean"}),
        responses={201: "the collection", 409: "the name is taken"} | INVALID | TOO_MANY | _ACCESS | _BODY,
        scoped=True,
    ),
    Route(
        "GET",
        "/api/collections/{collection}",
        "collections.describe",
        "Return a collection: its fields, and how many documents it has",
        _TAGS,
        "read",
        parameters=(_COLLECTION,),
        responses={200: "the collection"} | TOO_MANY | _ACCESS | _NONE,
        scoped=True,
    ),
    Route(
        "PATCH",
        "/api/collections/{collection}",
        "collections.change",
        "Change the fields of a collection (all of them are given), or whether anybody may search it",
        _TAGS,
        "manage",
        parameters=(_COLLECTION,),
        body=object_schema((), fields=_FIELDS, public={"type": "boolean"}),
        responses={200: "the collection"} | INVALID | TOO_MANY | _ACCESS | _BODY | _NONE,
        scoped=True,
    ),
    Route(
        "DELETE",
        "/api/collections/{collection}",
        "collections.delete",
        "Delete a collection with its documents",
        _TAGS,
        "manage",
        parameters=(_COLLECTION,),
        responses={200: "deleted"} | INVALID | TOO_MANY | _ACCESS | _NONE,
        scoped=True,
    ),
    Route(
        "GET",
        "/api/collections/{collection}/search",
        "collections.search",
        "Search a collection; one that is not public needs a key that may read it",
        _TAGS,
        parameters=(_COLLECTION, *COLLECTION_PARAMETERS),
        responses={200: "results, best first"} | INVALID | TOO_MANY | _ACCESS | _NONE,
        scoped=True,
    ),
    *map(_in_collection, DOCUMENT_ROUTES),
    Route(
        "GET",
        "/api/aliases",
        "collections.aliases",
        "Return what each alias stands for",
        _TAGS,
        "read",
        responses={200: "collections by alias"} | TOO_MANY | _ACCESS,
        scoped=True,
    ),
    Route(
        "POST",
        "/api/aliases",
        "collections.change_aliases",
        "Set and remove several aliases in one step; waits until the documents of their collections are searchable",
        _TAGS,
        "manage",
        body=object_schema(
            (),
            set={"type": "object", "additionalProperties": _NAME},
            remove={"type": "array", "items": _NAME, "maxItems": 1000},
        ),
        responses={200: "all aliases"} | INVALID | TOO_MANY | _ACCESS | _BODY,
        scoped=True,
    ),
    Route(
        "PUT",
        "/api/aliases/{alias}",
        "collections.set_alias",
        "Set what an alias stands for, from one request to the next",
        _TAGS,
        "manage",
        parameters=(_ALIAS,),
        body=object_schema(("collection",), collection=_NAME),
        responses={200: "all aliases"} | INVALID | TOO_MANY | _ACCESS | _BODY,
        scoped=True,
    ),
    Route(
        "DELETE",
        "/api/aliases/{alias}",
        "collections.remove_alias",
        "Remove an alias",
        _TAGS,
        "manage",
        parameters=(_ALIAS,),
        responses={200: "all other aliases", 404: "there is no such alias"} | INVALID | TOO_MANY | _ACCESS,
        scoped=True,
    ),
)
