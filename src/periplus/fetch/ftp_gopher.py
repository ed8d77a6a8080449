"""What ftp and gopher bring, told as if a web server had said it: a type, a date, an outcome."""

import email.utils
import mimetypes
from typing import Final

from periplus.fetch.outcomes import of_failure
from periplus.records import Address, Outcome

__all__ = ["changed_since", "headers_of", "is_web", "kind_of", "of_file_failure", "without_end"]

LISTING: Final = "text/ftp-dir-listing"
MENU: Final = "application/gopher-menu"
_GOPHER: Final = {"0": "text/plain", "1": MENU, "h": "text/html", "d": "application/pdf", "P": "application/pdf"}
_UNKNOWN: Final = "application/octet-stream"
_UNREAD: Final = "application/x-unread"
_NOT_THERE: Final = frozenset((9, 19, 78))
"""libcurl's numbers for a folder that cannot be entered and files that cannot be had."""
_NO_ENTRY: Final = 67


def is_web(place: Address) -> bool:
    """Tell whether an address is one of http or https."""
    return place.scheme in ("http", "https")


def kind_of(place: Address) -> str:
    """Give the content type of what is at an address of ftp or gopher, by its name."""
    path = place.path.partition("?")[0]
    if place.scheme == "gopher":
        return _GOPHER.get(path[1:2] or "1", _UNREAD)
    if path.endswith("/"):
        return LISTING
    name = path.rpartition("/")[2].lower()
    if "." not in name:
        return _UNKNOWN
    kind, packed = mimetypes.guess_type(name)
    return kind if kind and not packed else _UNREAD


def headers_of(place: Address, changed: int) -> tuple[tuple[str, str], ...]:
    """Give headers: the type, and when it was changed, in seconds since 1970, where the server says so."""
    kind = ("content-type", kind_of(place))
    return (kind, ("last-modified", email.utils.formatdate(changed, usegmt=True))) if changed > 0 else (kind,)


def changed_since(headers: tuple[tuple[str, str], ...]) -> int:
    """Give the moment of If-Modified-Since, in seconds since 1970; 0 when there is none."""
    text = next((value for name, value in headers if name.lower() == "if-modified-since"), "")
    try:
        return max(0, int(email.utils.parsedate_to_datetime(text).timestamp())) if text else 0
    except (ValueError, TypeError, OverflowError):
        return 0


def of_file_failure(code: int, place: Address, answered: bool) -> Outcome:
    """Name the outcome of a transfer that libcurl ended with `code`.

    What cannot be had as a file may be a folder, whose address ends in a slash: that is a redirect to there.
    """
    if code in _NOT_THERE and place.scheme == "ftp":
        name = place.path.rpartition("/")[2]
        return Outcome.REDIRECT if name and "." not in name else Outcome.GONE
    return Outcome.CLIENT_ERROR if code == _NO_ENTRY else of_failure(code, answered)


def without_end(place: Address, body: bytes) -> bytes:
    """Leave out the line with a dot that ends menus and texts of gopher."""
    if place.scheme == "gopher" and kind_of(place) in (MENU, "text/plain"):
        bare = body.rstrip(b"\r\n")
        if bare == b"." or bare.endswith(b"\n."):
            return bare[:-1]
    return body
