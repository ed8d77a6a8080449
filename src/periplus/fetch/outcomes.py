"""libcurl's result codes and HTTP's status codes as an `Outcome`."""

from typing import Final

from periplus.records import Outcome

__all__ = ["failure_outcome", "status_outcome"]

_DNS: Final = frozenset((5, 6))
_TLS: Final = frozenset((35, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98))
_BROKEN_PIPE: Final = frozenset((55, 56))


def status_outcome(status: int, has_location: bool) -> Outcome:
    """Return the outcome of a complete response."""
    if 200 <= status < 300:
        return Outcome.OK
    if status == 304:
        return Outcome.NOT_MODIFIED
    if 300 <= status < 400:
        return Outcome.REDIRECT if has_location else Outcome.BAD_RESPONSE
    if status in (404, 410):
        return Outcome.GONE
    if status in (429, 503):
        return Outcome.BUSY
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    if 500 <= status < 600:
        return Outcome.SERVER_ERROR
    return Outcome.BAD_RESPONSE


def failure_outcome(code: int, answered: bool) -> Outcome:
    """Return the outcome of a transfer that libcurl ended with `code`; `answered` if a status line was received."""
    if code in _DNS:
        return Outcome.DNS
    if code == 7:
        return Outcome.CONNECT
    if code == 28:
        return Outcome.TIMEOUT
    if code == 63:
        return Outcome.TOO_LARGE
    if code in _TLS:
        return Outcome.TLS
    # A connection that breaks before any response is a network failure; later it is the server's.
    if code in _BROKEN_PIPE and not answered:
        return Outcome.CONNECT
    return Outcome.BAD_RESPONSE
