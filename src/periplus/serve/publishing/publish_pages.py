"""The form with which people publish, and what was published: its content, its metadata, and a page about it.

Thumbnails of crawled images are served here too.
"""

import re
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from periplus.errors import BadInput
from periplus.serve.actions import Actions, ContentLike, PublishRequest, UploadedFile
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.publishing.multipart_forms import FormFile, UploadForm, parse_multipart
from periplus.serve.request_bodies import json_response, read_body, read_form
from periplus.serve.search_request import parse_parameters
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["PublishHandlers"]

_LOGIN: Final = "publish-login"
_ID: Final = re.compile(r"[0-9a-f]{64}")
_THUMBNAIL: Final = re.compile(r"([0-9a-f]{16})\.webp")
_NO_STORE: Final = {"cache-control": "no-store"}
_FIELDS: Final = ("kind", "text", "url", "title", "description", "author", "date", "tags", "language")
_KINDS: Final = ("text", "file", "url")
_MAX_TAGS: Final = 50
_INLINE: Final = frozenset(
    ("text/plain", "text/markdown", "text/uri-list", "image/png", "image/jpeg", "image/gif", "image/webp")
)
"""Types that a browser shows as they are. Any other is downloaded: no page of a stranger runs on this origin."""
_CONTENT_POLICY: Final = "sandbox; default-src 'none'; img-src 'self'; style-src 'none'; frame-ancestors 'none'"
_FORM_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Allows the preview of a chosen picture, which is a blob of the browser's own."""
_MAX_SHOWN: Final = 20_000
"""Characters of a text that its page shows."""


class PublishHandlers:
    """Handlers of the group 'publish' in the route table."""

    def __init__(self, renderer: PageRenderer, auth: Authenticator, actions: Actions, upload_bytes: int) -> None:
        self._renderer = renderer
        self._auth = auth
        self._actions = actions
        self._upload_bytes = upload_bytes

    async def form(self, request: Request) -> Response:
        """Show the form; to those who are not signed in, how to sign in."""
        self._check_available()
        session = self._auth.session(request, "publish")
        return self._form(request, session, {}) if session else self._login_form(request)

    def _login_form(self, request: Request, status: int = 200, error: str = "") -> Response:
        token = self._auth.form_token(_LOGIN)
        return self._renderer.response("publish_login.html", status, _NO_STORE, request, token=token, error=error)

    def _form(
        self, request: Request, session: str, fields: dict[str, str], error: str = "", preview: bool = False
    ) -> Response:
        variables: dict[str, Any] = {
            "fields": {name: fields.get(name, "") for name in _FIELDS},
            "token": self._auth.form_token(session),
            "error": error,
            "preview": preview,
            "tags": _split_tags(fields.get("tags", "")),
            "max_bytes": self._upload_bytes,
        }
        headers = _NO_STORE | {"content-security-policy": _FORM_POLICY}
        return self._renderer.response("publish.html", 400 if error else 200, headers, request, **variables)

    async def login(self, request: Request) -> Response:
        """Start the session of a publisher."""
        form = await read_form(request)
        self._auth.check_form(request, _LOGIN, form.get("token", ""))
        response = RedirectResponse("/publish", 303, _NO_STORE)
        if not self._auth.start_session(request, form.get("key", ""), response, "publish"):
            return self._login_form(request, 403, "This key does not permit publishing.")
        return response

    async def logout(self, request: Request) -> Response:
        """End the session of a publisher."""
        form = await read_form(request)
        self._auth.check_form(request, request.state.session, form.get("token", ""))
        response = RedirectResponse("/", 303, _NO_STORE)
        self._auth.end_session(response, "publish")
        return response

    async def submit(self, request: Request) -> Response:
        """Publish what the form has, or show what it would look like; then go to its page."""
        publish = self._check_available()
        session = request.state.session
        body = await read_body(request, self._upload_bytes + (1 << 20))
        form = parse_multipart(request.headers.get("content-type", ""), body)
        self._auth.check_form(request, session, form.fields.get("token", ""))
        if form.fields.get("step") == "preview":
            return self._form(request, session, form.fields, preview=True)
        try:
            page, file = _read_publication(form, self._upload_bytes)
            receipt = await call_in_thread(publish, page, self._auth.publisher(session), file)
        except BadInput as error:
            return self._form(request, session, form.fields, error=f"{error.message} {error.hint}".strip())
        return RedirectResponse(f"/c/{receipt.id}", 303, _NO_STORE)

    def _check_available(self) -> Any:
        if self._actions.publish is None:
            raise HTTPException(501, "Publishing is not available on this server.")
        return self._actions.publish

    async def content(self, request: Request) -> Response:
        """Return published content to programs, its metadata for `.json`, and a page about it to browsers."""
        name = request.path_params["id"]
        identifier, wants_metadata = name.removesuffix(".json"), name.endswith(".json")
        published = self._actions.published
        found: ContentLike | None = None
        if published is not None and _ID.fullmatch(identifier):
            found = await call_in_thread(published, identifier)
        if found is None:
            raise HTTPException(404, "Nothing was published here.")
        metadata = {key: value for key, value in found.metadata.items() if key not in ("publisher", "format")}
        if wants_metadata:
            return json_response(metadata, headers={"cache-control": "no-cache"})
        raw = "raw" in parse_parameters(request.scope["query_string"])
        if not raw and "text/html" in request.headers.get("accept", ""):
            return self._about(request, found, metadata)
        return _raw(found, metadata)

    async def thumbnail(self, request: Request) -> Response:
        """Return the thumbnail of an image, or the icon of a host."""
        match, read = _THUMBNAIL.fullmatch(request.path_params["name"]), self._actions.thumbnail
        data = await call_in_thread(read, int(match[1], 16)) if match is not None and read is not None else None
        if data is None:
            raise HTTPException(404, "There is no such picture.")
        return Response(data, 200, {"cache-control": "public, max-age=604800"}, "image/webp")

    def _about(self, request: Request, found: ContentLike, metadata: dict[str, Any]) -> Response:
        """Show what was published and what its publisher says about it."""
        is_text = metadata["type"] in ("text/plain", "text/markdown")
        text = found.content.decode("utf-8", "replace") if is_text else ""
        headers = {"cache-control": "no-cache", "vary": "accept"}
        return self._renderer.response(
            "content.html",
            200,
            headers,
            request,
            item=metadata,
            paragraphs=[line for line in text[:_MAX_SHOWN].splitlines() if line.strip()],
            cut=len(text) > _MAX_SHOWN,
            is_image=metadata["type"] in _INLINE and metadata["type"].startswith("image/"),
            is_link=metadata["type"] == "text/uri-list",
        )


def _raw(found: ContentLike, metadata: dict[str, Any]) -> Response:
    kind = metadata["type"] if metadata["type"] in _INLINE else "application/octet-stream"
    headers = {
        "cache-control": "public, max-age=31536000, immutable",
        "vary": "accept",
        "content-security-policy": _CONTENT_POLICY,
        "etag": f'"{metadata["id"]}"',
    }
    if kind == "application/octet-stream":
        headers["content-disposition"] = "attachment"
    return Response(found.content, 200, headers, f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)


def _split_tags(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in text.split(",")[:_MAX_TAGS] if tag.strip()))


def _read_publication(form: UploadForm, max_bytes: int) -> tuple[PublishRequest, UploadedFile | None]:
    """Return what a form publishes: of text, file and URL, the one that is chosen."""
    fields = form.fields
    kind = fields.get("kind", "text") if fields.get("kind", "text") in _KINDS else "text"
    file = form.files.get("file", FormFile("", b""))
    if kind == "file" and not file.data:
        raise BadInput("Choose a file.")
    if len(file.data) > max_bytes:
        raise BadInput(f"The file has {len(file.data):,} bytes.", f"Send at most {max_bytes:,}.")
    page = PublishRequest(
        title=fields.get("title", "").strip(),
        content=fields.get("text", "").replace("\r\n", "\n") if kind == "text" else "",
        url=fields.get("url", "").strip() if kind == "url" else "",
        description=fields.get("description", "").strip(),
        author=fields.get("author", "").strip(),
        date=fields.get("date", "").strip(),
        tags=_split_tags(fields.get("tags", "")),
        language=fields.get("language", "").strip(),
    )
    return page, UploadedFile(file.name, file.data) if kind == "file" else None
