"""Descriptions of services: OpenAPI, Swagger and WSDL documents, API reference pages, portals that link to them."""

import re
from typing import Any, Final

import msgspec
from yaml import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    CSafeLoader,
    DocumentEndEvent,
    MappingStartEvent,
    NodeEvent,
    SequenceStartEvent,
    YAMLError,
)

from periplus.discovery import walk
from periplus.parse.charset.decoding import decode
from periplus.parse.html.kernels.markup_hints import METHODS
from periplus.parse.link_collector import LinkCollector
from periplus.parse.link_survey import survey_links
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, paragraphs
from periplus.records import FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["parse_openapi_json", "parse_openapi_yaml", "parse_wsdl", "service_kind"]

_MAX_BYTES: Final = 4 << 20
_MAX_OPERATIONS: Final = 2_000
_METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
_YAML_START: Final = re.compile(r"^[ {\"']{0,8}(?:openapi|swagger)[\"']?\s{0,8}:", re.MULTILINE)
_MAX_YAML_EVENTS: Final = 300_000
_MAX_YAML_DEPTH: Final = 64
_ENDPOINT: Final = re.compile(
    r"(?:^|\s)(GET|POST|PUT|PATCH|DELETE)\s+(?:https?://[^\s/]+)?/[\w{}:./?=&-]*", re.MULTILINE
)
_REFERENCE_WORDS: Final = re.compile(
    r"\b(?:api reference|rest api|api documentation|endpoints?|query parameters?|request body|status codes?|"
    r"bearer|api key|authorization:|curl -|application/json|json response|rate limit)\b",
    re.IGNORECASE,
)
_COMMON_METHODS: Final = ("GET", "POST")
"""Every API reference mentions one of these."""
_MAX_TEXT: Final = 60_000


def service_kind(title: str, text: str, links: tuple[Link, ...], hints: int = METHODS) -> str:
    """Return which kind of service page a web page is: 'api-reference', 'portal', or ''.

    hints: what `find_text_hints` has found in its text; every API reference mentions a common method.
    """
    start = text[:_MAX_TEXT]
    if hints & METHODS and any(map(start.__contains__, _COMMON_METHODS)):
        endpoints = len(_ENDPOINT.findall(start))
        words = len({word.lower() for word in _REFERENCE_WORDS.findall(start)}) if endpoints else 0
        in_title = re.search(r"\bapi\b", title, re.IGNORECASE) is not None
        if (endpoints >= 3 and (words >= 2 or in_title)) or (endpoints and words >= 4 and in_title):
            return "api-reference"
    return "portal" if survey_links(links).descriptions else ""


def parse_openapi_json(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of an OpenAPI or Swagger description; None for any other JSON."""
    if len(result.body) > _MAX_BYTES or not (b'"openapi"' in result.body or b'"swagger"' in result.body):
        return None
    try:
        document = msgspec.json.decode(result.body.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    return _description(document, result, settings, "application/json")


def _description(document: Any, result: FetchResult, settings: ParseSettings, kind: str) -> Page | None:
    """Return the page of a decoded OpenAPI or Swagger description; None if the document is something else."""
    if not isinstance(document, dict) or not isinstance(document.get("paths"), dict):
        return None
    service = next((name for name in ("openapi", "swagger") if name in document), "")
    if not service:
        return None
    info = document.get("info") if isinstance(document.get("info"), dict) else {}
    lines = [_string_at(info, "title"), _string_at(info, "description"), *_operations(document["paths"])]
    return _page(result, settings, service, _string_at(info, "title"), lines, _servers(document), kind)


def _string_at(mapping: Any, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""


def _operations(paths: dict[str, Any]) -> list[str]:
    """Return a line for each operation: method, path, summary, description, parameters."""
    lines: list[str] = []
    for path, item in paths.items():
        if not isinstance(item, dict):
            continue
        for method, operation in item.items():
            if method not in _METHODS or not isinstance(operation, dict):
                continue
            parameters = operation.get("parameters")
            names = [_string_at(item, "name") for item in parameters[:50]] if isinstance(parameters, list) else []
            texts = (_string_at(operation, key) for key in ("summary", "description", "operationId"))
            lines.append(" ".join(filter(None, (method.upper(), str(path)[:300], *texts, *names)))[:2_000])
            if len(lines) >= _MAX_OPERATIONS:
                return lines
    return lines


def _servers(document: dict[str, Any]) -> list[str]:
    servers = document.get("servers")
    urls = [_string_at(server, "url") for server in servers[:20]] if isinstance(servers, list) else []
    external = document.get("externalDocs")
    return [*urls, _string_at(external, "url")]


def parse_openapi_yaml(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of an OpenAPI or Swagger description in YAML; None for any other YAML."""
    text, _ = decode(result.body[:_MAX_BYTES], result.header("content-type"), markup=False)
    # Some programs sort the keys, so that this one comes last. libyaml takes quadratic time for tag directives.
    if not (_YAML_START.search(text[:4_096]) or _YAML_START.search(text[4_096:][-4_096:])) or "%TAG" in text:
        return None
    return _description(_read_yaml_tree(text), result, settings, "application/yaml")


def _read_yaml_tree(text: str) -> Any:
    """Return the first document as dicts, lists and strings; as much of it as comes before an error or a limit.

    Built from libyaml's events rather than by a loader: no tag makes an object, no scalar is converted, and an alias is
    the very object that its anchor names, so that nothing is ever expanded.
    """
    root: list[Any] = []
    stack: list[dict[str, Any] | list[Any]] = [root]
    keys: list[str | None] = [None]
    anchors: dict[str, Any] = {}
    loader = CSafeLoader(text)
    try:
        for _ in range(_MAX_YAML_EVENTS):
            event = loader.get_event()
            if isinstance(event, CollectionEndEvent):
                stack.pop()
                keys.pop()
            elif isinstance(event, NodeEvent):
                node = _yaml_node(event, anchors)
                _add_node(stack[-1], keys, node)
                if isinstance(event, CollectionStartEvent):
                    stack.append(node)
                    keys.append(None)
            elif event is None or isinstance(event, DocumentEndEvent):
                break
            if len(stack) > _MAX_YAML_DEPTH:
                break
    except YAMLError:
        pass  # what precedes the error counts: bodies are truncated, and many files are written by hand
    finally:
        loader.dispose()
    return root[0] if root else None


def _yaml_node(event: NodeEvent, anchors: dict[str, Any]) -> Any:
    """Return the value that an event stands for or begins."""
    if isinstance(event, AliasEvent):
        return anchors.get(event.anchor)
    node: Any = (
        {} if isinstance(event, MappingStartEvent) else [] if isinstance(event, SequenceStartEvent) else event.value
    )
    if event.anchor:
        anchors[event.anchor] = node
    return node


def _add_node(parent: dict[str, Any] | list[Any], keys: list[str | None], node: Any) -> None:
    """Put a node into its parent: in a mapping, every other node is a key."""
    if isinstance(parent, list):
        parent.append(node)
    elif keys[-1] is None:
        keys[-1] = node if isinstance(node, str) else ""
    else:
        parent[keys[-1]] = node
        keys[-1] = None


def parse_wsdl(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a WSDL description: services, ports, operations, documentation; None if it is another file."""
    lines: list[str] = []
    endpoints: list[str] = []
    current: list[str] = []
    header = {"wsdl": False, "title": ""}

    def start(name: str, attributes: dict[str, str]) -> bool:
        current.clear()
        if name == "definitions":
            header["wsdl"] = "wsdl" in " ".join(attributes.values())
            header["title"] = attributes.get("name", "")
        elif name in {"service", "portType", "operation", "port"}:
            lines.append(f"{name} {attributes.get('name', '')}")
            header["title"] = header["title"] or attributes.get("name", "")
        elif name == "address":
            endpoints.append(attributes.get("location", ""))
        return bool(header["wsdl"]) and len(lines) < _MAX_OPERATIONS

    def end(name: str) -> None:
        if name == "documentation":
            lines.append("".join(current)[:2_000])
        current.clear()

    walk(result.body[:_MAX_BYTES], start, end, current.append)
    if not header["wsdl"]:
        return None
    return _page(
        result, settings, "wsdl", str(header["title"]), list(dict.fromkeys(lines)), endpoints, "application/wsdl+xml"
    )


def _page(
    result: FetchResult,
    settings: ParseSettings,
    service: str,
    title: str,
    lines: list[str],
    urls: list[str],
    kind: str,
) -> Page:
    head = PageHead(result, result.request.address.url)
    links = LinkCollector(result.request.address.url, settings.all_links)
    for url in urls:
        links.add(url)
    return Page(
        url=result.request.address.url,
        title=one_line(title, 300),
        text=paragraphs("\n".join(lines), settings.max_text),
        links=links.collected(head.nofollow),
        kind=kind,
        noindex=head.noindex,
        nofollow=head.nofollow,
        service=service,
    )
