"""A small fake web, built and read once."""

import pytest
from fakeweb_reading import PLAN, Read, read

from periplus.fakeweb import FakeWeb


@pytest.fixture(scope="session")
def web() -> FakeWeb:
    return FakeWeb(PLAN)


@pytest.fixture(scope="session")
def good(web: FakeWeb) -> dict[str, Read]:
    """Every good page, read."""
    return {page.url: read(web, page.url) for page in web.truth().pages}
