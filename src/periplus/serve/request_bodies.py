"""What a request carries, read within bounds and only as what its kind says it is; and JSON, written."""

import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadInput

__all__ = ["LARGEST", "encode_json", "json_response", "read_form", "read_json"]

T = TypeVar("T")

LARGEST: Final = 1 << 20
"""Bytes of a body that are read; a longer one is refused."""


async def read_json(request: Request, kind: type[T]) -> T:
    """Read a JSON body; raise `BadInput` for what is not of its kind. Browsers cannot send this from elsewhere."""
    _check_type(request, "application/json")
    body = await _read(request)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"The body cannot be used: {str(error)[:200]}.", "See /api for what it may be.") from None


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form."""
    _check_type(request, "application/x-www-form-urlencoded")
    body = await _read(request)
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise BadInput("The form has too many fields.") from None


def _check_type(request: Request, wanted: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != wanted:
        raise HTTPException(415, f"Send {wanted}.")


async def _read(request: Request) -> bytes:
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > LARGEST:
        raise HTTPException(413, f"Send at most {LARGEST:,} bytes.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise HTTPException(413, f"Send at most {LARGEST:,} bytes.")
    return bytes(body)


def encode_json(value: Any) -> bytes:
    """Write a value as JSON; a number that JSON has no word for becomes null."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate that came in with a page: escaped, it does no harm
        return json.dumps(value).encode()


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Give a value as JSON."""
    return Response(encode_json(value), status, headers, "application/json")
