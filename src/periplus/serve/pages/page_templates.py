"""Templates: read once from the package, rendered with everything escaped."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import jinja2
from jinja2 import nodes
from jinja2.visitor import NodeTransformer
from starlette.requests import Request
from starlette.responses import Response

from periplus.records import Query
from periplus.serve.pages.locales import LOCALES, Locale, choose_locale, load_locale
from periplus.serve.pages.page_links import safe_link
from periplus.serve.pages.static_files import Asset
from periplus.serve.search_request import SearchRequest, parse_parameters, request_url

__all__ = ["PageRenderer"]

_STATIC: Final = "/static/"
_PACKAGE: Final = Path(__file__).parents[1]
_EMPTY_REQUEST: Final = SearchRequest(Query(""))
_TRANSLATE: Final = "_"
"""The name of the function in templates that translates a text."""


class PageRenderer:
    """Renders templates, in the locale of each request."""

    def __init__(self, assets: Mapping[str, Asset], offers_publishing: Callable[[], bool] = lambda: False) -> None:
        """Make links to assets; offers_publishing: whether pages link to the form for publishing."""
        self.offers_publishing = offers_publishing
        self._links = {name: f"{_STATIC}{name}?v={asset.version}" for name, asset in assets.items()}
        self._environments: dict[str, jinja2.Environment] = {}

    def render(self, name: str, locale: Locale, **variables: Any) -> bytes:
        """Return a rendered template; characters without a UTF-8 form become question marks."""
        return self.render_part(name, locale, now=time.time(), **variables).encode("utf-8", "replace")

    def render_part(self, name: str, locale: Locale, **variables: Any) -> str:
        """Return a rendered template that is a part of a page."""
        variables.setdefault("request", _EMPTY_REQUEST)
        variables.setdefault("query", variables["request"].query)
        return self._environment(locale).get_template(name).render(variables)

    def response(
        self,
        name: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        http_request: Request | None = None,
        **variables: Any,
    ) -> Response:
        """Return a rendered template as a response."""
        media_type = "text/html" if name.endswith(".html") else "application/opensearchdescription+xml"
        return Response(self.render(name, self.locale(http_request), **variables), status, headers, media_type)

    def locale(self, http_request: Request | None) -> Locale:
        """Return the locale of a request."""
        if http_request is None:
            return load_locale("en")
        parameters = parse_parameters(http_request.scope["query_string"])
        return choose_locale(parameters, http_request.headers.get("accept-language", ""))

    def _environment(self, locale: Locale) -> jinja2.Environment:
        """Return the templates of one locale, which are compiled on first use."""
        environment = self._environments.get(locale.code)
        if environment is None:
            environment = _TranslatedEnvironment(locale)
            environment.globals.update(
                {
                    "static": self._links,
                    "safe_link": safe_link,
                    "request_url": request_url,
                    "offers_publishing": self.offers_publishing,
                    "locales": LOCALES,
                    "locale": locale,
                    _TRANSLATE: locale.translate,
                }
            )
            self._environments[locale.code] = environment
        return environment


class _TranslatedEnvironment(jinja2.Environment):
    """Templates of one locale: texts without values are translated when a template is compiled."""

    def __init__(self, locale: Locale) -> None:
        super().__init__(
            loader=jinja2.FileSystemLoader(_PACKAGE / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._locale = locale

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        _Translator(self._locale).visit(tree)
        return tree


class _Translator(NodeTransformer):
    """Replaces calls that translate a constant text by the translation."""

    def __init__(self, locale: Locale) -> None:
        self._locale = locale

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 - the visitor's own spelling
        """Replace a call."""
        function, arguments = node.node, node.args
        is_translation = isinstance(function, nodes.Name) and function.name == _TRANSLATE
        if not is_translation or node.kwargs or len(arguments) != 1 or not isinstance(arguments[0], nodes.Const):
            return self.generic_visit(node)
        return nodes.Const(self._locale.translate(arguments[0].value), lineno=node.lineno)
