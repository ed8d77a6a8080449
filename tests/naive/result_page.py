"""Naive twin of `serve.result_html`: a page of results by one template, `results.html` in this folder."""

import functools
from pathlib import Path

import jinja2

from periplus.serve.pages.locales import Locale
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.result_html.result_parts import ResultView
from periplus.serve.search_request import PAGE_SIZE

__all__ = ["render_page"]


@functools.cache
def _template(renderer: PageRenderer, locale: Locale) -> jinja2.Template:
    environment = renderer._environment(locale)
    assert environment.loader is not None
    own = jinja2.FileSystemLoader(Path(__file__).parent)
    return environment.overlay(loader=jinja2.ChoiceLoader([own, environment.loader])).get_template("results.html")


def render_page(renderer: PageRenderer, view: ResultView, locale: Locale) -> bytes:
    """Return a page of results."""
    current = view.query.start // PAGE_SIZE + 1
    variables = view._asdict() | {"current": current, "page_size": PAGE_SIZE}
    return _template(renderer, locale).render(variables).encode("utf-8", "replace")
