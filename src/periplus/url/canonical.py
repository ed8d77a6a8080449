"""The one canonical form of a URL, and the `Address` made of it.

A page has 150 links and most of them are canonical already, so two patterns recognise a text that the URL standard
would leave as it is; only the rest pays for the parser. Both ways give the same answer, which a test holds.
Most links of a page are on every page of its host, too: addresses made a short while ago are given out again.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from periplus.errors import BadUrl
from periplus.hashing import fingerprint_text
from periplus.records import Address
from periplus.url.domains import registered_domain
from periplus.url.parameters import drop_noise, drop_path_session
from periplus.url.whatwg import serialise

__all__ = ["canonical_address", "in_scope", "parse_address"]

_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "gopher": 70}

# Hosts of plain labels whose last one is a word (no address, no punycode); a path without ';' or dot segments, whose
# escapes are in upper case and needed; a query without escapes.
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
_PLAIN: Final = {f"%{ord(sign):02X}": sign for sign in _UNRESERVED}

_LONGEST_PLAIN: Final = 2_048
_MOST_RECENT: Final = 32_768

_recent: dict[str | tuple[str, str], Address] = {}
"""Addresses made a short while ago: of whole URLs by their text, of paths by their origin too."""

_MOST_PASSES: Final = 8


def parse_address(text: str, base: str | None = None) -> Address:
    """Make the canonical address of `text`, found in the page at `base`; BadUrl if it is none, or not for us."""
    if len(text) >= _LONGEST_PLAIN:
        return canonical_address(text, base)
    known = _recent.get(text)
    if known is not None:
        return known
    if base is not None and text[:1] == "/":
        # A path means the same on every page of its origin.
        return _address_of_path(text, base)
    made = _plain_address(text, base)
    if made is None:
        return canonical_address(text, base)
    if text.startswith(("http://", "https://")):
        _remember(text, made)
    return made


def _address_of_path(text: str, base: str) -> Address:
    found = _ORIGIN.match(base)
    key = (found[0] if found else base, text)
    known = _recent.get(key)
    if known is None:
        known = _plain_address(text, base) or canonical_address(text, base)
        _remember(key, known)
    return known


def _remember(key: str | tuple[str, str], made: Address) -> None:
    # Another thread may do the same at the same time, to the same end.
    if len(_recent) >= _MOST_RECENT:
        _recent.clear()
    _recent[key] = made


def canonical_address(text: str, base: str | None = None) -> Address:
    """Do the work of `parse_address` by the full parser, whatever the text looks like."""
    text = text.partition("#")[0]
    on_gopher = base is not None and _GOPHER.match(base) is not None and _FTP.match(text) is None
    is_gopher = on_gopher or _GOPHER.match(text) is not None
    href = _gopher(text, base) if is_gopher else serialise(text, base)
    if href is None and base is not None:
        href = serialise(text, None)
    if href is None:
        raise BadUrl(f"'{_short(text)}' is no URL.", "A whole URL looks like https://example.org/page.")
    found = _HREF.match(href)
    if found is None:
        raise BadUrl(f"'{_short(href)}' is not fetched.", "Only http, https, ftp and gopher are.")
    scheme, host, port, path, query = found.groups()
    if scheme == "ftp":
        return _file_address("gopher" if is_gopher else scheme, host, port, path, query)
    for _ in range(_MOST_PASSES):  # A session that goes may take the stray '%' with it that kept escapes as they were.
        before, path = path, drop_path_session(_normalise(path))
        if path == before:
            break
    return _build(scheme, host, port, path, _canonical_query(query) if query else "")


def _gopher(text: str, base: str | None) -> str | None:
    """Serialise a URL of gopher, which the standard does not know, as one of ftp, which is like it.

    What is joined to it and has a scheme of its own is as it would be anywhere.
    """
    if base is not None and _GOPHER.match(base) is None:
        base = None
    joined = serialise(_GOPHER.sub("ftp:", text), None if base is None else _GOPHER.sub("ftp:", base))
    return joined if joined is None or joined.startswith(("ftp:", "http:", "https:")) else None


def _file_address(scheme: str, host: str, port: str | None, path: str, query: str | None) -> Address:
    """Make the address of a file or menu: no session, no parameter, and nothing that could be a second command."""
    whole = f"{path}?{query}" if query else path
    if _CONTROL.search(whole):
        raise BadUrl(f"'{_short(whole)}' has control characters in it.", "Such URLs of ftp and gopher are not fetched.")
    return _build(scheme, host, None if port == str(_PORTS[scheme]) else port, _normalise(whole), "")


def in_scope(address: Address, seed: Address, scope: str) -> bool:
    """Return whether `address` belongs to the crawl begun at `seed`: same 'host', same 'domain', or any ('web')."""
    if scope == "host":
        return address.host == seed.host
    if scope == "domain":
        return address.domain == seed.domain
    if scope == "web":
        return True
    raise ValueError(f"scope is 'host', 'domain' or 'web', not '{scope}'")


class _Base(NamedTuple):
    scheme: str
    host: str
    port: str | None
    folder: str


def _plain_address(text: str, base: str | None) -> Address | None:
    """Make the address of a text that needs no change, or give None."""
    text = text.partition("#")[0]
    found = _PLAIN_ABSOLUTE.match(text)
    if found is not None:
        scheme, host, path, query = found.groups()
        return _build(scheme, host, None, path, drop_noise(query) if query else "")
    if base is None or (found := _PLAIN_RELATIVE.match(text)) is None or (known := _base(base)) is None:
        return None
    path, query = found.groups()
    if path[0] != "/":
        path = known.folder + path
    return _build(known.scheme, known.host, known.port, path, drop_noise(query) if query else "")


@lru_cache(maxsize=256)
def _base(base: str) -> _Base | None:
    """Take the URL of a page apart once for all of its links; None when only the parser can join them."""
    try:
        whole = canonical_address(base)
    except BadUrl:
        return None
    path = whole.path.partition("?")[0]
    if "%" in path or ";" in path:
        return None
    port = None if whole.port == _PORTS[whole.scheme] else str(whole.port)
    return _Base(whole.scheme, whole.host, port, path[: path.rindex("/") + 1])


def _build(scheme: str, host: str, port: str | None, path: str, query: str) -> Address:
    if query:
        path = f"{path}?{query}"
    number = int(port) if port else _PORTS[scheme]
    url = f"{scheme}://{host}:{port}{path}" if port else f"{scheme}://{host}{path}"
    return Address(url, scheme, host, number, path, registered_domain(host), fingerprint_text(url))


def _canonical_query(query: str) -> str:
    if "%" in query:
        query = "&".join(map(_normalise, query.split("&")))
    return drop_noise(query)


def _normalise(part: str) -> str:
    """Decode escapes of unreserved characters and write the others in upper case."""
    if "%" not in part:
        return part
    if _STRAY_PERCENT.search(part):
        # Decoding could complete the stray '%' to a new escape; so much and no more keeps the form idempotent.
        return _ESCAPE.sub(_upper, part)
    return _ESCAPE.sub(_decode, part)


def _upper(found: re.Match[str]) -> str:
    return found[0].upper()


def _decode(found: re.Match[str]) -> str:
    escape = found[0].upper()
    return _PLAIN.get(escape, escape)


def _short(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text[:120]) + ("..." if len(text) > 120 else "")
