"""ftp and gopher responses in terms of HTTP: content type, modification date, outcome."""

import email.utils
import mimetypes
from typing import Final

from periplus.fetch.outcomes import failure_outcome
from periplus.records import Address, Outcome

__all__ = ["content_type_of", "file_outcome", "is_web", "modified_since", "response_headers", "strip_terminator"]

LISTING: Final = "text/ftp-dir-listing"
MENU: Final = "application/gopher-menu"
_GOPHER: Final = {"0": "text/plain", "1": MENU, "h": "text/html", "d": "application/pdf", "P": "application/pdf"}
_UNKNOWN: Final = "application/octet-stream"
_UNSUPPORTED: Final = "application/x-unread"
_NOT_FOUND: Final = frozenset((9, 19, 78))
"""libcurl's codes for a directory that cannot be entered and files that do not exist."""
_LOGIN_DENIED: Final = 67


def is_web(address: Address) -> bool:
    """Return whether the scheme of an address is http or https."""
    return address.scheme in ("http", "https")


def content_type_of(address: Address) -> str:
    """Return the content type of an ftp or gopher resource, by its name."""
    path = address.path.partition("?")[0]
    if address.scheme == "gopher":
        return _GOPHER.get(path[1:2] or "1", _UNSUPPORTED)
    if path.endswith("/"):
        return LISTING
    name = path.rpartition("/")[2].lower()
    if "." not in name:
        return _UNKNOWN
    kind, encoding = mimetypes.guess_type(name)
    return kind if kind and not encoding else _UNSUPPORTED


def response_headers(address: Address, modified: int) -> tuple[tuple[str, str], ...]:
    """Return response headers: the content type, and the modification time (Unix, 0 if unknown)."""
    kind = ("content-type", content_type_of(address))
    return (kind, ("last-modified", email.utils.formatdate(modified, usegmt=True))) if modified > 0 else (kind,)


def modified_since(headers: tuple[tuple[str, str], ...]) -> int:
    """Return the Unix time of If-Modified-Since, 0 if there is none."""
    text = next((value for name, value in headers if name.lower() == "if-modified-since"), "")
    try:
        return max(0, int(email.utils.parsedate_to_datetime(text).timestamp())) if text else 0
    except (ValueError, TypeError, OverflowError):
        return 0


def file_outcome(code: int, address: Address, answered: bool) -> Outcome:
    """Return the outcome of a transfer that libcurl ended with `code`.

    What does not exist as a file may be a directory, whose URL ends in a slash: that is a redirect.
    """
    if code in _NOT_FOUND and address.scheme == "ftp":
        name = address.path.rpartition("/")[2]
        return Outcome.REDIRECT if name and "." not in name else Outcome.GONE
    return Outcome.CLIENT_ERROR if code == _LOGIN_DENIED else failure_outcome(code, answered)


def strip_terminator(address: Address, body: bytes) -> bytes:
    """Return `body` without the line with a dot that ends gopher menus and texts."""
    if address.scheme == "gopher" and content_type_of(address) in (MENU, "text/plain"):
        text = body.rstrip(b"\r\n")
        if text == b"." or text.endswith(b"\n."):
            return text[:-1]
    return body
