"""Ways to parse a body in one call."""

from collections.abc import Callable

import pytest
from parse_pages import make_result

from periplus.parse import parse
from periplus.records import Page
from periplus.settings import ParseSettings

PageParser = Callable[..., Page]


@pytest.fixture
def parse_page() -> PageParser:
    """Parse a body that has a parser."""

    def _parse_page(
        body: bytes | str, kind: str = "text/html", settings: ParseSettings | None = None, **headers: str
    ) -> Page:
        raw = body.encode() if isinstance(body, str) else body
        page = parse(make_result(raw, kind, **headers), settings or ParseSettings())
        assert page is not None
        return page

    return _parse_page


@pytest.fixture
def try_parse() -> Callable[..., Page | None]:
    """Parse a body that may have no parser."""
    return lambda body, kind="text/html", **headers: parse(make_result(body, kind, **headers), ParseSettings())
