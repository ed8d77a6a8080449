"""Request bodies, read within bounds and only with the expected content type; JSON responses."""

import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from periplus.errors import BadInput
from periplus.typed_decoding import parse_json

__all__ = ["MAX_BODY_BYTES", "encode_json", "json_response", "read_body", "read_form", "read_form_bytes", "read_json"]

T = TypeVar("T")

MAX_BODY_BYTES: Final = 1 << 20
"""A longer body is refused."""
_MAX_DIGITS: Final = 20
_FORM: Final = "application/x-www-form-urlencoded"


async def read_json(request: Request, kind: type[T], limit: int = MAX_BODY_BYTES) -> T:
    """Return a JSON body as `kind`; raise `BadInput` if it is not one. Pages of other sites cannot send this type."""
    _check_type(request, "application/json")
    body = await _read(request, limit)
    try:
        return parse_json(body, kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"The body is invalid: {str(error)[:200]}.", "See /api for its fields.") from None


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    body = await read_form_bytes(request)
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise BadInput("The form has too many fields.") from None


async def read_form_bytes(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    """Return the fields of a form as they were sent; none if there is neither a body nor a type of one."""
    if "content-type" in request.headers or request.headers.get("content-length", "0") != "0":
        _check_type(request, _FORM)
    return await _read(request, limit)


async def read_body(request: Request, limit: int) -> bytes:
    """Return a body of any type; raise `HTTPException` (413) if it has more than `limit` bytes."""
    return await _read(request, limit)


def _check_type(request: Request, expected: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != expected:
        raise HTTPException(415, f"Send {expected}.")


async def _read(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and len(declared) < _MAX_DIGITS and int(declared) > limit:
        raise HTTPException(413, f"Send at most {limit:,} bytes.")
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise HTTPException(413, f"Send at most {limit:,} bytes.")
    except ClientDisconnect:  # the client is gone, or its chunks are malformed: it is answered, in case it is there
        raise HTTPException(400, "The body is incomplete.", {"connection": "close"}) from None
    return bytes(body)


def encode_json(value: Any) -> bytes:
    """Return a value as JSON; NaN and infinity become null."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate from a page is harmless when escaped
        return json.dumps(value).encode()


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a value as JSON."""
    return Response(encode_json(value), status, headers, "application/json")
