"""Authentication and authorization: API keys of programs, session cookies of people, tokens of forms."""

import math
import re
import secrets
import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.serve.actions import Publisher
from periplus.serve.api_keys import ApiKey, ApiKeys
from periplus.serve.middleware.rate_limit import RateLimit
from periplus.serve.route_records import Access, Route

__all__ = ["Authenticator"]

_COOKIES: Final = {
    "admin": ("periplus_session", "/admin"),
    "judge": ("periplus_rater", "/"),
    "publish": ("periplus_publisher", "/publish"),
}
"""Name and path of the session cookie, by permission."""
_BEARER: Final = {"www-authenticate": 'Bearer realm="periplus"'}
_NO_SESSION: Final = {
    "admin": HTTPException(403, "Log in at /admin first."),
    "publish": HTTPException(403, "Log in at /publish first."),
    "judge": HTTPException(401, "This needs a key with the role judge, or a signed-in rater.", _BEARER),
}
_SESSION_SECONDS: Final = 12 * 3600
_TOKEN_SECONDS: Final = 4 * 3600
_SESSION: Final = re.compile(r"([0-9]{1,11})\.[0-9a-f]{32}\.([0-9a-f]{16})")
"""When a session expires, a nonce, and the key it belongs to. Tokens of forms are signed with the same secret, so
what is signed need not be a session."""
_TOKEN: Final = re.compile(r"([0-9]{1,11})\.([0-9a-f]{64})")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{64}")
_MAX_LENGTH: Final = 500
"""Characters of a header or cookie that are read."""


class Authenticator:
    """Checks who calls a route of the table, and whether they may.

    public_settings: the names of those settings that open routes to anyone and are on.
    """

    def __init__(self, keys: ApiKeys, limit: RateLimit, public_settings: frozenset[str] = frozenset()) -> None:
        self._keys = keys
        self._limit = limit
        self._public_settings = public_settings

    def authorize(self, request: Request, route: Route) -> None:
        """Raise `HTTPException` unless the caller has the permission that the route needs.

        The session, if that is what proved it, is left in `request.state.session`, and the name of the key in
        `request.state.caller`.
        """
        if not route.permission or route.public_setting in self._public_settings:
            return
        has_key = "authorization" in request.headers or "x-api-key" in request.headers
        if route.access is Access.KEY or (route.access is Access.KEY_OR_SESSION and has_key):
            key = self._require_key(request, route.permission)
            if key.collections and not route.scoped:
                raise HTTPException(403, "This key is limited to collections.")
            request.state.key = key
            request.state.publisher = Publisher(key.digest[:16], key.allows("admin"))
            request.state.caller = key.name
            return
        session = self.session(request, route.permission)
        if not session:
            refusal = _NO_SESSION[route.permission]
            raise HTTPException(refusal.status_code, refusal.detail, refusal.headers)
        if route.access is Access.KEY_OR_SESSION:
            self.check_form(request, session, request.headers.get("x-token", ""))
        request.state.session = session
        request.state.caller = self.caller(session)

    def check_reader(self, request: Request, names: Sequence[str]) -> None:
        """Raise `HTTPException` unless the caller has a key that may read the collection with these names."""
        self.check_scope(self._require_key(request, "read"), names)

    def check_scope(self, key: ApiKey, names: Sequence[str]) -> None:
        """Raise `HTTPException` unless a key may be used for the collection with these names."""
        if not key.covers(names):
            raise HTTPException(403, "This key is limited to other collections.")

    def _require_key(self, request: Request, permission: str) -> ApiKey:
        scheme, _, secret = request.headers.get("authorization", "")[:_MAX_LENGTH].partition(" ")
        secret = secret.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")[:_MAX_LENGTH]
        key = self._keys.find(secret) if secret else None
        if key is None:
            raise HTTPException(401, "This needs a key: send Authorization: Bearer KEY.", _BEARER)
        if not key.allows(permission):
            raise HTTPException(403, f"The role {key.role} does not allow this.")
        if key.role == "read":  # in the hands of many clients, each of which has a limit of its own
            return key
        wait = self._limit.wait("key " + key.name)
        if wait:
            raise HTTPException(429, "Too many requests with one key.", {"retry-after": str(math.ceil(wait))})
        return key

    def start_session(self, request: Request, secret: str, response: Response, permission: str = "admin") -> bool:
        """Set the session cookie if the key allows `permission`; return whether it does."""
        key = self._keys.find(secret[:_MAX_LENGTH])
        if key is None or not key.allows(permission) or key.collections:
            return False
        name, path = _COOKIES[permission]
        text = f"{int(time.time()) + _SESSION_SECONDS}.{secrets.token_hex(16)}.{key.digest[:16]}"
        response.set_cookie(
            name,
            f"{text}.{self._keys.sign(text)}",
            max_age=_SESSION_SECONDS,
            path=path,
            httponly=True,
            samesite="strict",
            secure=request.scope["scheme"] == "https",
        )
        return True

    def end_session(self, response: Response, permission: str = "admin") -> None:
        """Delete the session cookie."""
        name, path = _COOKIES[permission]
        response.delete_cookie(name, path=path, httponly=True, samesite="strict")

    def session(self, request: Request, permission: str = "admin") -> str:
        """Return the session of a request, or ''. Revoking a key ends its sessions."""
        text, _, signature = request.cookies.get(_COOKIES[permission][0], "")[:_MAX_LENGTH].rpartition(".")
        match = _SESSION.fullmatch(text)
        if match is None or not _SIGNATURE.fullmatch(signature) or not self._keys.is_signed(text, signature):
            return ""
        valid = any(
            key.digest[:16] == match[2] and key.allows(permission) and not key.collections for key in self._keys.all()
        )
        return text if valid and int(match[1]) > time.time() else ""

    def publisher(self, session: str) -> Publisher:
        """Return who publishes in a session that `session` returned."""
        key = self._key_of(session)
        return Publisher(key.digest[:16], key.allows("admin")) if key else Publisher("unknown")

    def caller(self, session: str) -> str:
        """Return the name of the key of a session."""
        key = self._key_of(session)
        return key.name if key else "unknown"

    def _key_of(self, session: str) -> ApiKey | None:
        match = _SESSION.fullmatch(session)
        return next((key for key in self._keys.all() if match and key.digest[:16] == match[2]), None)

    def allows_publishing(self) -> bool:
        """Return whether there is a key with which somebody may publish."""
        return any(key.allows("publish") and not key.collections for key in self._keys.all())

    def form_token(self, purpose: str) -> str:
        """Return a token for a form, which proves that the form is ours and recent."""
        now = str(int(time.time()))
        return f"{now}.{self._keys.sign(f'{purpose}.{now}')}"

    def check_form(self, request: Request, purpose: str, token: str) -> None:
        """Raise `HTTPException` for a form that did not come from one of our pages."""
        match = _TOKEN.fullmatch(token)
        fresh = match is not None and 0 <= time.time() - int(match[1]) <= _TOKEN_SECONDS
        signed = match is not None and self._keys.is_signed(f"{purpose}.{match[1]}", match[2])
        if not fresh or not signed or not _is_same_origin(request):
            raise HTTPException(403, "This form has expired, or is not from this site. Load the page again.")


def _is_same_origin(request: Request) -> bool:
    """Return whether the browser reports one of our own pages as the origin of the request."""
    site = request.headers.get("sec-fetch-site", "")
    if site and site not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin", "")
    if not origin or origin == "null":
        return True
    try:
        return urlsplit(origin).netloc == request.headers.get("host", "")
    except ValueError:
        return False
