"""The tools that a model may call: their names, descriptions and arguments, and the check of what it sends."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from periplus.errors import BadInput

__all__ = ["TOOLS", "ToolSchema", "read_arguments"]

Schema = dict[str, Any]

_MAX_ARGUMENTS: Final = 20
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


class ToolSchema(NamedTuple):
    """One tool."""

    name: str
    title: str
    description: str
    properties: dict[str, Schema]
    """The JSON schemas of its arguments: strings and whole numbers."""
    required: tuple[str, ...]

    @property
    def input_schema(self) -> Schema:
        """The JSON schema of all its arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str, most: int, **more: Any) -> Schema:
    return {"type": "string", "description": description, "minLength": 1, "maxLength": most, **more}


def _number(description: str, least: int, most: int, default: int) -> Schema:
    return {"type": "integer", "description": description, "minimum": least, "maximum": most, "default": default}


_QUERY: Final = _text(
    'The query in the words of a person; "..." is a phrase, -word excludes, site:example.org restricts.', 500
)
_URL: Final = _text("The URL of the page, as a result shows it.", 2048)
_BUDGET: Final = {
    "tokens": _number("About how long all passages are together, in tokens.", 100, 16_000, 2_000),
    "count": _number("Number of results.", 1, 50, 10),
    "start": _number("Number of results to skip; the passages are those of the remaining ones.", 0, 500, 0),
}
_LIMITS: Final = {
    "language": _text("Only pages in this language: a code such as en.", 3, pattern="^[a-z]{2,3}$"),
    "time_range": {
        "type": "string",
        "description": "Only pages with a date in the last day, week, month or year.",
        "enum": ["day", "week", "month", "year"],
    },
}

TOOLS: Final = (
    ToolSchema(
        "search",
        "Search",
        "Search the pages of this search engine. Returns the results, best first, and of the best pages the passages "
        "that say most about the query, each with its URL, headings and the time when the page was fetched.",
        {"query": _QUERY, **_BUDGET, **_LIMITS, "site": _text("Only pages of this host, and of hosts below it.", 253)},
        ("query",),
    ),
    ToolSchema(
        "find_in_site",
        "Find in a site",
        "Search the pages of one site only: a host and the hosts below it. Use it to find where a documentation or an "
        "organisation says something.",
        {"site": _text("The host, such as docs.example.org.", 253), "query": _QUERY, **_BUDGET, **_LIMITS},
        ("site", "query"),
    ),
    ToolSchema(
        "read_page",
        "Read a page",
        "Return a page of this search engine as Markdown, in parts of 20,000 characters. Only pages that were crawled "
        "or published here can be read; nothing is fetched from the web.",
        {"url": _URL, "part": _number("Which part, from 1; an answer says how many there are.", 1, 10_000, 1)},
        ("url",),
    ),
    ToolSchema(
        "why_not",
        "Why a page is not found",
        "Return what became of a page in a query of this search engine: where it ranks, or why it is not among the "
        "results (never crawled, excluded, filtered, without some words, lost in ranking), and what would change that.",
        {"query": _QUERY, "url": _URL, **_LIMITS},
        ("query", "url"),
    ),
)


def read_arguments(tool: ToolSchema, arguments: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the arguments of a call, complete and within bounds; raise `BadInput` that says what is wrong with one."""
    if len(arguments) > _MAX_ARGUMENTS or not arguments.keys() <= tool.properties.keys():
        names = ", ".join(tool.properties)
        raise BadInput(f"{tool.name} has no such argument.", f"Its arguments are: {names}.")
    read: dict[str, str | int] = {}
    for name, schema in tool.properties.items():
        value = arguments.get(name)
        if value is None or value == "":
            if name in tool.required:
                raise BadInput(f"{name} is missing.", str(schema["description"]))
            value = schema.get("default")
        if value is not None:
            read[name] = (
                _read_number(name, value, schema) if schema["type"] == "integer" else _read_text(name, value, schema)
            )
    return read


def _read_number(name: str, value: Any, schema: Schema) -> int:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 1 << 31
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value, whole = int(value), True
    if not whole or value != int(value) or not schema["minimum"] <= value <= schema["maximum"]:
        raise BadInput(f"{name} is invalid.", f"Use a whole number from {schema['minimum']} to {schema['maximum']}.")
    return int(value)


def _read_text(name: str, value: Any, schema: Schema) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{name} is invalid.", "Use a text.")
    if len(value) > (most := schema.get("maxLength", 100)):
        raise BadInput(f"{name} is too long.", f"Use {most:,} characters at most.")
    text = _UNPRINTABLE.sub(" ", value).strip()
    if "enum" in schema and text not in schema["enum"]:
        raise BadInput(f"{name} is invalid.", f"Use one of {', '.join(schema['enum'])}.")
    if not text or ("pattern" in schema and not re.fullmatch(schema["pattern"], text)):
        raise BadInput(f"{name} is invalid.", str(schema["description"]))
    return text
