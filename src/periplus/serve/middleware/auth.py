"""Who may come in: keys sent by programs, sessions of the admin page, tokens of forms."""

import math
import secrets
import time
from typing import Final
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.serve.api_keys import ApiKey, ApiKeys
from periplus.serve.middleware.rate_limit import RateLimit

__all__ = ["Doors"]

_COOKIES: Final = {"admin": ("periplus_session", "/admin"), "judge": ("periplus_rater", "/")}
"""By what a session is for: the name of its cookie, and the paths that it is sent to."""
_SESSION_SECONDS: Final = 12 * 3600
_TOKEN_SECONDS: Final = 4 * 3600
_LONGEST: Final = 500


class Doors:
    """Checks who asks before anything is changed."""

    def __init__(self, keys: ApiKeys, limit: RateLimit) -> None:
        self._keys = keys
        self._limit = limit

    def need(self, request: Request, what: str) -> ApiKey:
        """Give the key that a program sent; refuse when there is none, or it does not allow `what`."""
        kind, _, secret = request.headers.get("authorization", "")[:_LONGEST].partition(" ")
        secret = secret.strip() if kind.lower() == "bearer" else request.headers.get("x-api-key", "")[:_LONGEST]
        key = self._keys.find(secret) if secret else None
        if key is None:
            raise HTTPException(
                401,
                "This needs a key: send Authorization: Bearer KEY.",
                {"www-authenticate": 'Bearer realm="periplus"'},
            )
        if not key.allows(what):
            raise HTTPException(403, f"The role {key.role} may not do this.")
        wait = self._limit.wait("key " + key.name)
        if wait:
            raise HTTPException(429, "Too many requests with one key.", {"retry-after": str(math.ceil(wait))})
        return key

    def begin(self, request: Request, secret: str, response: Response, what: str = "admin") -> bool:
        """Begin a session for the holder of a key that allows `what`; say whether that is who it is."""
        key = self._keys.find(secret[:_LONGEST])
        if key is None or not key.allows(what):
            return False
        name, path = _COOKIES[what]
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

    def end(self, response: Response, what: str = "admin") -> None:
        """End the session."""
        name, path = _COOKIES[what]
        response.delete_cookie(name, path=path, httponly=True, samesite="strict")

    def session(self, request: Request, what: str = "admin") -> str:
        """Give the name of the session that a request belongs to, or ''. A key taken back ends its sessions."""
        text, _, signature = request.cookies.get(_COOKIES[what][0], "")[:_LONGEST].rpartition(".")
        if not text or not self._keys.is_signed(text, signature):
            return ""
        until, _, mark = text.split(".")
        known = any(key.digest[:16] == mark and key.allows(what) for key in self._keys.all())
        return text if known and int(until) > time.time() else ""

    def token(self, purpose: str) -> str:
        """Make a token for a form: it shows that the form came from here, and not long ago."""
        when = str(int(time.time()))
        return f"{when}.{self._keys.sign(f'{purpose}.{when}')}"

    def check_form(self, request: Request, purpose: str, token: str) -> None:
        """Refuse a form that did not come from here."""
        when, _, signature = token[:_LONGEST].partition(".")
        fresh = when.isdigit() and len(when) < 12 and 0 <= time.time() - int(when) <= _TOKEN_SECONDS
        if not fresh or not self._keys.is_signed(f"{purpose}.{when}", signature) or not _from_here(request):
            raise HTTPException(403, "This form is too old, or not ours. Load the page again.")


def _from_here(request: Request) -> bool:
    """Say whether a browser says that one of our own pages asks."""
    site = request.headers.get("sec-fetch-site", "")
    if site and site not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin", "")
    return not origin or origin == "null" or urlsplit(origin).netloc == request.headers.get("host", "")
