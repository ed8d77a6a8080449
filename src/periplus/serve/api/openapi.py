"""The OpenAPI 3.1 document, made from the route table."""

from typing import Any

from periplus import __version__
from periplus.serve.route_records import Route, object_schema, text
from periplus.serve.routes import ROUTES

__all__ = ["openapi_document", "public_routes"]


def public_routes() -> tuple[Route, ...]:
    """Return the routes of the public API."""
    return tuple(route for route in ROUTES if route.tags)


def openapi_document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in public_routes():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    error = object_schema(("error", "hint"), error=text(2000), hint=text(2000), id=text(8))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Periplus",
            "version": __version__,
            "description": "Search, publish to and operate a Periplus server. Errors are JSON with error and hint.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": error},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    path = route.path.replace("/", "_").replace("{", "").replace("}", "").replace(".", "_")
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{path}",
        "summary": route.summary,
        "tags": list(route.tags),
        "parameters": [
            {
                "name": parameter.name,
                "in": parameter.location,
                "description": parameter.description,
                "required": parameter.required,
                "schema": parameter.schema,
            }
            for parameter in route.parameters
        ],
        "responses": {
            str(status): _response(status, description, route.media_types)
            for status, description in route.responses.items()
        },
    }
    if route.body is not None:
        required = bool(route.body["required"]) or route.streamed
        content = {kind: {"schema": route.body} if kind == "application/json" else {} for kind in route.body_types}
        operation["requestBody"] = {"required": required, "content": content}
    if route.permission:
        operation["security"] = [{"key": []}]
    return operation


def _response(status: int, description: str, media_types: tuple[str, ...]) -> dict[str, Any]:
    if status >= 400:
        media_types = ("application/json", "text/html") if "text/html" in media_types else ("application/json",)
    return {"description": description, "content": {media_type: {} for media_type in media_types}}
