"""What the operator adds to requests to one host."""

from typing import NamedTuple

__all__ = ["RequestOptions"]


class RequestOptions(NamedTuple):
    """Headers, which may contain secrets, and a proxy. They are sent, but neither stored nor logged."""

    headers: tuple[tuple[str, str], ...] = ()
    proxy: str = ""
