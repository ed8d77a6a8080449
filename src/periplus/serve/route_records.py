"""The records of the route table: a route, its parameters, how its caller is authorized, and its JSON schemas."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

__all__ = ["INVALID", "TOO_MANY", "Access", "Parameter", "Route", "Schema", "integer", "object_schema", "text"]

Schema = dict[str, Any]
INVALID: Final = {400: "invalid parameter or body"}
TOO_MANY: Final = {429: "too many requests; see Retry-After"}
"""Responses of many routes."""


class Access(enum.Enum):
    """How the caller of a route proves the permission that it needs."""

    KEY = "an API key in a header"
    SESSION = "a session cookie"
    KEY_OR_SESSION = "either; a session with a form token in X-Token"
    LOGIN_PAGE = "a session cookie; others are shown the login form instead"


class Parameter(NamedTuple):
    """One parameter of a route."""

    name: str
    description: str
    schema: Schema
    required: bool = False
    location: str = "query"
    """'query' or 'path'."""


class Route(NamedTuple):
    """One row of the table: a method and a path, who answers them, who may call, and what goes in and out."""

    method: str
    path: str
    handler: str
    """The group of handlers and the method: 'api.statistics'. Of a `direct` route, the one for other HTTP methods."""
    summary: str = ""
    tags: tuple[str, ...] = ()
    """Sections of the OpenAPI document; a route without tags is not part of the public API."""
    permission: str = ""
    """A permission of `api_keys.ROLES`, '' for anyone."""
    access: Access = Access.KEY
    public_setting: str = ""
    """The setting of `serve` that opens the route to anyone."""
    parameters: tuple[Parameter, ...] = ()
    body: Schema | None = None
    responses: Mapping[int, str] = MappingProxyType({})
    media_types: tuple[str, ...] = ("application/json",)
    metric: str = ""
    """The label of its metrics, if it is not the constant part of the path."""
    rate_limited: bool = True
    body_types: tuple[str, ...] = ("application/json",)
    """Content types of the body."""
    streamed: bool = False
    """Whether the body is read as it arrives, however long that takes."""
    deep: bool = False
    """Whether its last parameter may contain slashes."""
    scoped: bool = False
    """Whether its handler checks what a key is limited to; other routes refuse keys with such a limit."""
    direct: bool = False
    """Answered by `SearchMiddleware`, from the cache if possible, without the framework (docs/decisions/014)."""

    @property
    def metric_label(self) -> str:
        """The label under which requests are counted; it never contains what a client sent."""
        return self.metric or self.path.partition("/{")[0]


def text(max_length: int = 200, **more: Any) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", "maxLength": max_length, **more}


def integer(minimum: int, maximum: int, default: int | None = None) -> Schema:
    """Return the schema of a whole number; the default is left out where it is a setting."""
    schema: Schema = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return schema if default is None else schema | {"default": default}


def object_schema(required: tuple[str, ...], **properties: Schema) -> Schema:
    """Return the schema of an object that has no other properties."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
