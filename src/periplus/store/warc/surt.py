"""Sort-friendly URLs (SURT), the keys of a CDXJ index: host names reversed, everything lowered and put in order."""

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

__all__ = ["sort_key"]

_MAX_UNQUOTES: Final = 8
_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "gopher": 70}
_SAFE: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""What stays as it is in a path or query; '%' and '#' do not."""
_WWW: Final = re.compile(r"^www\d*\.")
_SLASHES: Final = re.compile(r"/{2,}")
_SESSION_PATH: Final = re.compile(r"/\([a-z]\([0-9a-z]{24}\)\)(?=/)")
_SESSION_FIELDS: Final = re.compile(
    r"(?:^|(?<=&))(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)"
    r"(?:&|$)"
)


def sort_key(url: str) -> str:
    """Return the key under which tools for web archives look a URL up, such as `org,example)/path?a=1&b=2`."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url.lower()
    host = _WWW.sub("", host)
    name = host if ":" in host else ",".join(reversed(host.split(".")))
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        name += f":{port}"
    path = _SESSION_PATH.sub("", _normalize(parts.path))
    path = _SLASHES.sub("/", path).rstrip("/") or "/"
    query = _SESSION_FIELDS.sub("", _normalize(parts.query)) if parts.query else ""
    if query:
        query = "?" + "&".join(sorted(query.split("&")))
    return f"{name}){path}{query}"


def _normalize(text: str) -> str:
    """Return text with escapes removed, however often it was escaped, then escaped once where necessary; lowered."""
    raw = text.encode("utf-8", "replace")
    for _ in range(_MAX_UNQUOTES):
        plain = unquote_to_bytes(raw)
        if plain == raw:
            break
        raw = plain
    return quote(raw, safe=_SAFE).lower()
