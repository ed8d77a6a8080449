"""Tracking and session parameters, which the canonical form drops."""

import re
from typing import Final

__all__ = ["drop_path_session", "drop_tracking"]

_PREFIXES: Final = ("utm_", "aspsessionid", "pk_campaign", "pk_kwd", "hsa_", "mtm_", "oly_", "vero_")

_TRACKING: Final = frozenset(
    [
        "gclid",
        "gclsrc",
        "gbraid",
        "wbraid",
        "dclid",
        "fbclid",
        "msclkid",
        "yclid",
        "ysclid",
        "twclid",
        "ttclid",
        "igshid",
        "igsh",
        "li_fat_id",
        "epik",
        "rdt_cid",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
        "_openstat",
        "wickedid",
        "s_cid",
        "cmpid",
        "xtor",
        "ns_mchannel",
        "ns_campaign",
        "trk_contact",
        "trk_msg",
        "trk_module",
        "trk_sid",
        "__s",
        "rb_clickid",
        "srsltid",
        "zanpid",
        "guccounter",
        "guce_referrer",
        "guce_referrer_sig",
        "phpsessid",
        "jsessionid",
        "oscsid",
        "zenid",
        "cfid",
        "cftoken",
        "sessid",
    ]
)

_SESSION_IF_LONG: Final = frozenset(["sid", "session", "session_id", "sessionid", "phpsid", "osid", "s"])
"""Names that may also mean a story or a search: dropped only with a value that looks like a token."""

_SUSPECT: Final = _TRACKING | _SESSION_IF_LONG

_LONG_TOKEN: Final = re.compile(r"(?=[^=]*[0-9])[0-9A-Za-z,_-]{20,}\Z")

_PATH_SESSION: Final = ("jsessionid=", "phpsessid=")
_DOTS: Final = frozenset([".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"])


def drop_tracking(query: str) -> str:
    """Return `query` (without its '?') without tracking and session parameters."""
    pieces = query.split("&")
    for piece in pieces:
        name = piece.partition("=")[0].lower()
        if name in _SUSPECT or name.startswith(_PREFIXES):
            return "&".join(piece for piece in pieces if not _is_tracking(piece))
    return query


def _is_tracking(piece: str) -> bool:
    name, _, value = piece.partition("=")
    name = name.lower()
    if name in _TRACKING or name.startswith(_PREFIXES):
        return True
    return name in _SESSION_IF_LONG and _LONG_TOKEN.match(value) is not None


def drop_path_session(path: str) -> str:
    """Return `path` without ';jsessionid=...'."""
    if ";" not in path:
        return path
    return "/".join(_without_session(segment) if ";" in segment else segment for segment in path.split("/"))


def _without_session(segment: str) -> str:
    """Drop session parameters of one segment, unless that would make it a '.' or '..'."""
    head, *parameters = segment.split(";")
    remaining = [parameter for parameter in parameters if not parameter.lower().startswith(_PATH_SESSION)]
    return segment if not remaining and head.lower() in _DOTS else ";".join([head, *remaining])
