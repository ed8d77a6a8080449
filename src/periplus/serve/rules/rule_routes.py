"""The part of the route table for rules."""

from typing import Final

from periplus.serve.route_records import INVALID, TOO_MANY, Parameter, Route, object_schema, text

__all__ = ["RULE_ROUTES"]

_ID: Final = Parameter("id", "32 hexadecimal digits", text(32, pattern="^[0-9a-f]{32}$"), True, "path")
_IDS: Final = {"type": "array", "items": text(32, pattern="^[0-9a-f]{32}$"), "maxItems": 4}
_UNAVAILABLE: Final = {501: "not available on this server"}
_UNAUTHORIZED: Final = {401: "no key, or an unknown one", 403: "the role of the key does not allow this"}
_HTML: Final = ("text/html",)

RULE_ROUTES: Final = (
    Route(
        "POST",
        "/api/rules",
        "rules.add",
        "Store a rule set: a uBlacklist list, a Goggles file, or lines such as 'block example.com'; searches apply it "
        "with rules=ID",
        ("rules",),
        body=object_schema(
            ("text",),
            text=text(2_000_000, minLength=1),
            name=text(200),
            format={"type": "string", "enum": ["auto", "list", "goggles"], "default": "auto"},
        ),
        responses={
            201: "its id, how many rules it has, and the lines that are ignored",
            413: "the body is too long",
            415: "the body is not JSON",
        }
        | INVALID
        | TOO_MANY
        | _UNAVAILABLE,
    ),
    Route(
        "GET",
        "/api/rules/{id}",
        "rules.get",
        "Return a rule set: its name, its text and how many rules it has",
        ("rules",),
        parameters=(_ID,),
        responses={200: "the rule set", 404: "there is none with this id"} | TOO_MANY | _UNAVAILABLE,
    ),
    Route(
        "GET",
        "/api/server-rules",
        "rules.server_rules",
        "Return the ids of the rule sets that count for all searches on this server",
        ("rules",),
        responses={200: "the ids"} | TOO_MANY | _UNAVAILABLE,
    ),
    Route(
        "PUT",
        "/api/server-rules",
        "rules.set_server_rules",
        "Set which rule sets count for all searches on this server",
        ("rules",),
        "admin",
        body=object_schema(("ids",), ids=_IDS),
        responses={
            200: "the ids",
            404: "there is no rule set with one of the ids",
            413: "the body is too long",
            415: "the body is not JSON",
        }
        | INVALID
        | TOO_MANY
        | _UNAUTHORIZED
        | _UNAVAILABLE,
    ),
    Route("GET", "/rules", "rules.page", media_types=_HTML),
    Route("POST", "/rules", "rules.change", media_types=_HTML),
    Route("GET", "/rules/{id}", "rules.shared", media_types=_HTML),
)
