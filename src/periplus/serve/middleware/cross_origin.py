"""Cross-origin requests (CORS): scripts of which web pages may use the API, by setting.

Only what a key authorizes is ever allowed: cookies of this server are not accepted from other origins, so a page that
somebody visits cannot act as them. Without the setting, browsers keep other pages from reading any answer.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from periplus.errors import SettingsError
from periplus.serve.routing import is_api_path

__all__ = ["CrossOrigin"]

_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_SEARCHES: Final = frozenset({"/search", "/suggest", "/autocompleter"})
_VARY: Final = (b"vary", b"origin")
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-encoding, content-type, x-api-key"),
    (b"access-control-max-age", b"600"),
)

Headers = tuple[tuple[bytes, bytes], ...]


class CrossOrigin:
    """Which origins may read answers of the API. Raise `SettingsError` for what is no origin."""

    def __init__(self, origins: Sequence[str]) -> None:
        wrong = [origin for origin in origins if origin != "*" and not _ORIGIN.fullmatch(origin.lower())]
        if wrong:
            hint = "An origin is a scheme, a host and a port if it is not the usual one: https://shop.example."
            raise SettingsError(f"serve.cors_origins has '{wrong[0][:80]}', which is no origin.", hint)
        self._any = "*" in origins
        self._origins = frozenset(origin.lower().encode() for origin in origins)

    def headers(self, path: str, origin: bytes) -> Headers:
        """Return the headers of a response to a request of a page of this origin (b'' for none)."""
        if not self._origins or not (is_api_path(path) or path in _SEARCHES):
            return ()
        vary = () if self._any else (_VARY,)
        if not origin or not (self._any or origin.lower() in self._origins):
            return vary
        return (
            (b"access-control-allow-origin", b"*" if self._any else origin),
            (b"access-control-expose-headers", b"retry-after"),
            (b"cross-origin-resource-policy", b"cross-origin"),
            *vary,
        )

    def preflight(self, path: str, method: str, headers: Mapping[bytes, bytes]) -> Headers:
        """Return the headers of the response to a preflight request that is allowed; none for any other request."""
        if method != "OPTIONS" or b"access-control-request-method" not in headers:
            return ()
        allowed = self.headers(path, headers.get(b"origin", b""))
        return (*allowed, *_PREFLIGHT) if len(allowed) > 1 else ()
