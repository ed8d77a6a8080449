"""The WHATWG URL parser, by Ada: any string in, the serialised URL or its components out, never an exception."""

from typing import NamedTuple

import ada_url

__all__ = ["UrlParts", "parse_url", "serialise"]


class UrlParts(NamedTuple):
    """The components of a URL, named and spelled as in the URL standard's API."""

    href: str
    origin: str
    protocol: str
    username: str
    password: str
    host: str
    hostname: str
    port: str
    pathname: str
    search: str
    hash: str


def parse_url(text: str, base: str | None = None) -> UrlParts | None:
    """Parse `text`, relative to `base` if given; return None where the standard says failure."""
    try:
        url = ada_url.URL(replace_surrogates(text), None if base is None else replace_surrogates(base))
    except ValueError:
        return None
    return UrlParts(*(getattr(url, name) for name in UrlParts._fields))


def serialise(text: str, base: str | None) -> str | None:
    """Return the serialised form of `text`, relative to `base`; None where the standard says failure."""
    try:
        if base is None:
            return str(ada_url.normalize_url(replace_surrogates(text)))
        return str(ada_url.join_url(replace_surrogates(base), replace_surrogates(text)))
    except ValueError:
        return None


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates by U+FFFD, as browsers do with strings from scripts."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
