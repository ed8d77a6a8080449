"""Ways to parse a body in one call."""

from collections.abc import Callable

import pytest
from parse_pages import make_result

from periplus.parse import parse
from periplus.records import Page
from periplus.settings import ParseSettings

Read = Callable[..., Page]


@pytest.fixture
def read() -> Read:
    """Parse a body that some reader must take."""

    def _read(
        body: bytes | str, kind: str = "text/html", settings: ParseSettings | None = None, **headers: str
    ) -> Page:
        raw = body.encode() if isinstance(body, str) else body
        page = parse(make_result(raw, kind, **headers), settings or ParseSettings())
        assert page is not None
        return page

    return _read


@pytest.fixture
def try_read() -> Callable[..., Page | None]:
    """Parse a body that perhaps no reader takes."""
    return lambda body, kind="text/html", **headers: parse(make_result(body, kind, **headers), ParseSettings())
