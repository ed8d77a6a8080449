"""The part of the route table for documents of applications."""

from typing import Any, Final

from periplus.serve.route_records import INVALID, TOO_MANY, Parameter, Route, text

__all__ = ["DOCUMENT_ROUTES"]

_ACCESS: Final = {
    401: "no key, or an unknown one",
    403: "the role of the key does not allow this",
    501: "not available on this server",
}
_BUSY: Final = {503: "too many documents wait to be indexed; try again later"}
_DOCUMENT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "integer"], "maxLength": 500},
        "url": text(4000),
        "title": text(1000),
        "text": {"type": "string"},
        "description": text(2000),
        "author": text(200),
        "date": text(40),
        "tags": {"type": "array", "items": text(100), "maxItems": 100},
        "language": text(40),
        "links": {"type": "array", "maxItems": 1000},
        "popularity": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "additionalProperties": True,
}
_ID: Final = Parameter("id", "its id, or its URL, percent-encoded", text(4000, minLength=1), True, "path")

DOCUMENT_ROUTES: Final = (
    Route(
        "POST",
        "/api/documents",
        "documents.upload",
        "Add or replace documents: one, an array, or JSON lines; gzip or zstd. They are durable once this is answered",
        ("documents",),
        "publish",
        parameters=(
            Parameter("wait", "1 answers only once they are searchable", {"type": "string", "enum": ["0", "1"]}),
        ),
        body=_DOCUMENT | {"type": ["object", "array"], "items": _DOCUMENT, "required": []},
        body_types=("application/json", "application/x-ndjson"),
        streamed=True,
        responses={
            202: "how many were taken, what is wrong with the others by line, and a task",
            408: "the body came too slowly",
            413: "the body is too long",
            415: "the body is neither JSON nor JSON lines",
            507: "the disk limit leaves no room for them",
        }
        | INVALID
        | TOO_MANY
        | _ACCESS
        | _BUSY,
    ),
    Route(
        "DELETE",
        "/api/documents",
        "documents.delete_matching",
        "Delete the documents that a filter selects; filter=* is all of them",
        ("documents",),
        "publish",
        parameters=(
            Parameter("filter", "an expression such as brand:acme AND price:..10", text(2000, minLength=1), True),
        ),
        responses={202: "how many, and a task"} | INVALID | TOO_MANY | _ACCESS | _BUSY,
    ),
    Route(
        "GET",
        "/api/tasks/{task}",
        "documents.task",
        "Return how far the documents of an upload are",
        ("documents",),
        "publish",
        parameters=(
            Parameter(
                "task", "from the answer to the upload", text(33, pattern="^[0-9a-f]{16}-[0-9a-f]{16}$"), True, "path"
            ),
        ),
        responses={200: "indexed or waiting, and how many documents wait", 404: "no such task"}
        | TOO_MANY
        | _ACCESS
        | {503: "try again later"},
    ),
    Route(
        "GET",
        "/api/documents/{id}",
        "documents.find",
        "Return a document as it was sent",
        ("documents",),
        "publish",
        parameters=(_ID,),
        deep=True,
        responses={200: "the document", 404: "there is none"} | INVALID | TOO_MANY | _ACCESS | {503: "try again later"},
    ),
    Route(
        "DELETE",
        "/api/documents/{id}",
        "documents.delete",
        "Delete a document",
        ("documents",),
        "publish",
        parameters=(_ID,),
        deep=True,
        responses={200: "deleted", 404: "there is none"} | INVALID | TOO_MANY | _ACCESS | _BUSY,
    ),
)
