"""Handlers for documents of applications: upload them in bulk, follow that, read and delete them."""

import asyncio
import re
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from periplus.errors import BadInput, Overloaded, PeriplusError
from periplus.serve.actions import DocumentsLike, UploadLike
from periplus.serve.collections.collection_handlers import CollectionAccess
from periplus.serve.request_bodies import json_response
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["DocumentHandlers"]

_LINES: Final = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}
)
_MAX_UPLOADS: Final = 8
"""Uploads that are read at a time; further ones are refused."""
_PIECE: Final = 1 << 18
"""Bytes of a body that are taken at a time."""
_SECONDS: Final = 120.0
_WAIT_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.02
_TASK: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")


class DocumentHandlers:
    """Handlers of the group 'documents' in the route table. most: bytes of one upload."""

    def __init__(
        self, documents: DocumentsLike | None, executor: SearchExecutor, most: int, access: CollectionAccess
    ) -> None:
        self._executor = executor
        self._access = access
        self._documents = documents
        self._most = most
        self._uploads = 0

    async def _available(self, request: Request, *, reads: bool = False) -> DocumentsLike:
        """Return the documents that a request is about: those of a collection, or of the main index.

        reads: whether a key that may only read is enough.
        """
        name = request.path_params.get("collection")
        if name is None:
            if self._documents is None:
                raise HTTPException(501, "This is not available on this server.")
            return self._documents
        if reads:
            self._access.check_reader(request, name)
        else:
            self._access.check_key(request, name)
        documents: DocumentsLike | None = await call_in_thread(self._access.available().documents, name)
        if documents is None:
            raise HTTPException(404, "There is no such collection.")
        return documents

    async def _refresh(self, request: Request) -> None:
        """Open the newest generation of the index that a request is about."""
        name = request.path_params.get("collection")
        if name is None:
            await self._executor.refresh()
        else:
            collections = self._access.available()
            await call_in_thread(lambda: collections.searcher(name, at_once=True))

    async def upload(self, request: Request) -> Response:
        """Read documents; answer when they are durable, or with wait=1 when they are searchable."""
        documents = await self._available(request)
        answer = await self.receive(request, documents)
        if request.query_params.get("wait") == "1" and answer.get("task"):
            answer |= await self._wait(documents, answer["task"])
            await self._refresh(request)
        return json_response(answer, 202 if answer["taken"] or not answer["failed"] else 400)

    async def receive(self, request: Request, documents: DocumentsLike) -> dict[str, Any]:
        """Read the body of an upload; return what became of its documents."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and kind not in _LINES:
            raise HTTPException(415, "Send application/json or application/x-ndjson.")
        if self._uploads >= _MAX_UPLOADS:
            raise Overloaded("Too many uploads at once.", "Try again later.")
        encoding = request.headers.get("content-encoding", "identity").strip().lower() or "identity"
        self._uploads += 1
        try:
            upload = await call_in_thread(documents.begin_upload, encoding, kind in _LINES)
            return await self._read(request, upload)
        finally:
            self._uploads -= 1

    async def _read(self, request: Request, upload: UploadLike) -> dict[str, Any]:
        """Pass the body on in pieces. What was taken before a failure stays taken, and the answer says how much."""
        piece, size = bytearray(), 0
        try:
            async for part in request.stream():
                size += len(part)
                if size > self._most:
                    raise HTTPException(413, f"Send at most {self._most:,} bytes at once.")
                piece += part
                if len(piece) >= _PIECE:
                    await call_in_thread(upload.feed, bytes(piece), seconds=_SECONDS)
                    piece.clear()
            await call_in_thread(upload.feed, bytes(piece), seconds=_SECONDS)
            return await call_in_thread(upload.finish, seconds=_SECONDS)
        except ClientDisconnect:
            raise HTTPException(400, "The body is incomplete.", {"connection": "close"}) from None
        except PeriplusError as error:
            report = upload.report()
            if not report["taken"]:
                raise
            return report | {"complete": False, "error": error.message}

    async def _wait(self, documents: DocumentsLike, task: str) -> dict[str, Any]:
        """Return the state of a task once it is indexed, or after half a minute."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _WAIT_SECONDS
        while True:
            state = await call_in_thread(documents.task, task)
            if state["status"] == "indexed" or loop.time() > deadline:
                return state
            await asyncio.sleep(_POLL_SECONDS)

    async def task(self, request: Request) -> Response:
        """Return how far an upload is."""
        documents, name = await self._available(request), request.path_params["task"]
        if not _TASK.fullmatch(name):
            raise HTTPException(404, "There is no such task.")
        return json_response(await call_in_thread(documents.task, name))

    async def find(self, request: Request) -> Response:
        """Return a document."""
        documents = await self._available(request, reads=True)
        document = await call_in_thread(documents.find, request.path_params["id"])
        if document is None:
            raise HTTPException(404, "There is no such document.")
        return json_response(document)

    async def delete(self, request: Request) -> Response:
        """Delete a document."""
        documents, identifier = await self._available(request), request.path_params["id"]
        if not await call_in_thread(documents.delete, identifier):
            raise HTTPException(404, "There is no such document.")
        return json_response({"id": identifier, "status": "deleted"})

    async def delete_matching(self, request: Request) -> Response:
        """Delete the documents that a filter selects."""
        expression = request.query_params.get("filter", "").strip()
        if not expression:
            raise BadInput("The filter is missing.", "Add filter, for example filter=brand:acme; filter=* is all.")
        documents = await self._available(request)
        return json_response(await call_in_thread(documents.delete_matching, expression, seconds=_SECONDS), 202)
