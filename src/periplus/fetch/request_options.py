"""What the operator adds to requests to one host, and what of a request and its response is kept for archives."""

from typing import Final, NamedTuple

__all__ = ["NO_ARCHIVING", "Archiving", "RequestOptions"]


class RequestOptions(NamedTuple):
    """Headers, which may contain secrets, and a proxy. They are sent, but neither stored nor logged."""

    headers: tuple[tuple[str, str], ...] = ()
    proxy: str = ""


class Archiving(NamedTuple):
    """What results contain besides the bodies of pages."""

    requests: bool = False
    """Headers of requests, without those that an operator has added."""
    errors: bool = False
    """Bodies of redirects and errors, in `raw`."""


NO_ARCHIVING: Final = Archiving()
