"""The one canonical form of a URL, and the `Address` made of it.

A page has 150 links, and most of them are canonical already, so two patterns recognise a text that the URL standard
would leave unchanged; only the rest pays for the parser. A test checks that both paths agree.
Most links of a page are on every page of its host, too: recent addresses are cached.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from periplus.errors import BadUrl
from periplus.hashing import fingerprint_text
from periplus.records import Address
from periplus.url.domains import registered_domain
from periplus.url.parameters import drop_path_session, drop_tracking
from periplus.url.whatwg import serialise

__all__ = ["canonical_address", "parse_address"]

_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "gopher": 70}

# Hosts of plain labels whose last one is a word (no IP address, no punycode); a path without ';' or dot segments, whose
# escapes are in upper case and necessary; a query without escapes.
_KEPT_ESCAPE: Final = r"%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|5[B-E]|7[B-DF])"
_PLAIN_QUERY: Final = r"(?:\?([A-Za-z0-9_~.!$()*+,=:@&/-]+))?\Z"
_PLAIN_ABSOLUTE: Final = re.compile(
    r"(https?)://((?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24})"
    rf"((?:/(?!\.)[A-Za-z0-9_~.!$()*+,=:@&-]*(?:{_KEPT_ESCAPE}[A-Za-z0-9_~.!$()*+,=:@&-]*)*)+){_PLAIN_QUERY}"
)
_PLAIN_RELATIVE: Final = re.compile(
    r"((?:/(?![/.])|[A-Za-z0-9_~])[A-Za-z0-9_~-]*(?:\.[A-Za-z0-9_~-]+)*"
    rf"(?:/(?!\.)[A-Za-z0-9_~.-]*(?:{_KEPT_ESCAPE}[A-Za-z0-9_~.-]*)*)*){_PLAIN_QUERY}"
)
_HREF: Final = re.compile(
    r"(https?|ftp)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/:?#]+)(?::([0-9]+))?(/[^?#]*)(?:\?([^#]*))?(?:#.*)?\Z", re.DOTALL
)
_GOPHER: Final = re.compile(r"[\x00-\x20]*gopher:", re.IGNORECASE)
_FTP: Final = re.compile(r"[\x00-\x20]*ftp:", re.IGNORECASE)
_CONTROL: Final = re.compile(r"%(?:[01][0-9A-F]|7F)", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"https?://[^/\\?#]+")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN: Final = {f"%{ord(character):02X}": character for character in _UNRESERVED}

_MAX_PLAIN_LENGTH: Final = 2_048
_MAX_RECENT: Final = 32_768

_recent: dict[str | tuple[str, str], Address] = {}
"""Cache of recent addresses: absolute URLs by their text, paths by origin and text."""

_MAX_PASSES: Final = 8


def parse_address(text: str, base: str | None = None) -> Address:
    """Return the canonical address of `text`, found in the page at `base`; raise `BadUrl` if there is none."""
    if len(text) >= _MAX_PLAIN_LENGTH:
        return canonical_address(text, base)
    cached = _recent.get(text)
    if cached is not None:
        return cached
    if base is not None and text[:1] == "/":
        # A path means the same on every page of its origin.
        return _address_of_path(text, base)
    address = _plain_address(text, base)
    if address is None:
        return canonical_address(text, base)
    if text.startswith(("http://", "https://")):
        _cache(text, address)
    return address


def _address_of_path(text: str, base: str) -> Address:
    origin = _ORIGIN.match(base)
    key = (origin[0] if origin else base, text)
    address = _recent.get(key)
    if address is None:
        address = _plain_relative(text.partition("#")[0], base) or canonical_address(text, base)
        _cache(key, address)
        # What is found as a path is requested as a URL, whose canonical form is itself.
        _cache(address.url, address)
    return address


def _cache(key: str | tuple[str, str], address: Address) -> None:
    # Another thread may do the same at the same time, with the same result.
    if len(_recent) >= _MAX_RECENT:
        _recent.clear()
    _recent[key] = address


def canonical_address(text: str, base: str | None = None) -> Address:
    """Return what `parse_address` returns, always by the full parser."""
    text = text.partition("#")[0]
    on_gopher = base is not None and _GOPHER.match(base) is not None and _FTP.match(text) is None
    is_gopher = on_gopher or _GOPHER.match(text) is not None
    href = _gopher(text, base) if is_gopher else serialise(text, base)
    if href is None and base is not None:
        href = serialise(text, None)
    if href is None:
        raise BadUrl(f"'{_short(text)}' is not a URL.", "A complete URL looks like https://example.org/page.")
    components = _HREF.match(href)
    if components is None:
        raise BadUrl(f"'{_short(href)}' cannot be fetched.", "Supported schemes are http, https, ftp and gopher.")
    scheme, host, port, path, query = components.groups()
    if scheme == "ftp":
        return _file_address("gopher" if is_gopher else scheme, host, port, path, query)
    for _ in range(_MAX_PASSES):  # Dropping a session may remove the stray '%' that prevented decoding.
        before, path = path, drop_path_session(_normalise(path))
        if path == before:
            break
    return _build(scheme, host, port, path, _canonical_query(query) if query else "")


def _gopher(text: str, base: str | None) -> str | None:
    """Serialise a gopher URL, which the standard does not cover, as an ftp URL, which has the same form.

    A reference with a scheme of its own is resolved as usual.
    """
    if base is not None and _GOPHER.match(base) is None:
        base = None
    joined = serialise(_GOPHER.sub("ftp:", text), None if base is None else _GOPHER.sub("ftp:", base))
    return joined if joined is None or joined.startswith(("ftp:", "http:", "https:")) else None


def _file_address(scheme: str, host: str, port: str | None, path: str, query: str | None) -> Address:
    """Return the address of a file or menu: no session, no parameters, nothing that could be a second command."""
    target = f"{path}?{query}" if query else path
    if _CONTROL.search(target):
        raise BadUrl(f"'{_short(target)}' contains control characters.", "Such ftp and gopher URLs are not fetched.")
    return _build(scheme, host, None if port == str(_PORTS[scheme]) else port, _normalise(target), "")


class _BaseUrl(NamedTuple):
    """The URL of a page, split for resolving its links."""

    scheme: str
    host: str
    port: str | None
    folder: str


def _plain_address(text: str, base: str | None) -> Address | None:
    """Return the address of a text that needs no change, None for any other text."""
    text = text.partition("#")[0]
    match = _PLAIN_ABSOLUTE.match(text)
    if match is not None:
        scheme, host, path, query = match.groups()
        return _build(scheme, host, None, path, drop_tracking(query) if query else "")
    return None if base is None else _plain_relative(text, base)


def _plain_relative(text: str, base: str) -> Address | None:
    """Return the address of a reference without a scheme that needs no change, None for any other text."""
    if (match := _PLAIN_RELATIVE.match(text)) is None or (parts := _split_base(base)) is None:
        return None
    path, query = match.groups()
    if path[0] != "/":
        path = parts.folder + path
    return _build(parts.scheme, parts.host, parts.port, path, drop_tracking(query) if query else "")


@lru_cache(maxsize=256)
def _split_base(base: str) -> _BaseUrl | None:
    """Split the URL of a page once for all of its links; return None if only the parser can resolve them."""
    try:
        address = parse_address(base)
    except BadUrl:
        return None
    path = address.path.partition("?")[0]
    if "%" in path or ";" in path:
        return None
    port = None if address.port == _PORTS[address.scheme] else str(address.port)
    return _BaseUrl(address.scheme, address.host, port, path[: path.rindex("/") + 1])


def _build(scheme: str, host: str, port: str | None, path: str, query: str) -> Address:
    if query:
        path = f"{path}?{query}"
    number = int(port) if port else _PORTS[scheme]
    url = f"{scheme}://{host}:{port}{path}" if port else f"{scheme}://{host}{path}"
    return Address(url, scheme, host, number, path, registered_domain(host), fingerprint_text(url))


def _canonical_query(query: str) -> str:
    if "%" in query:
        query = "&".join(map(_normalise, query.split("&")))
    return drop_tracking(query)


def _normalise(part: str) -> str:
    """Decode escapes of unreserved characters and convert the others to upper case."""
    if "%" not in part:
        return part
    if _STRAY_PERCENT.search(part):
        # Decoding could complete a stray '%' to a new escape: only changing case keeps the form idempotent.
        return _ESCAPE.sub(_upper, part)
    return _ESCAPE.sub(_decode, part)


def _upper(match: re.Match[str]) -> str:
    return match[0].upper()


def _decode(match: re.Match[str]) -> str:
    escape = match[0].upper()
    return _PLAIN.get(escape, escape)


def _short(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text[:120]) + (
        "..." if len(text) > 120 else ""
    )
