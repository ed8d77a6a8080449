"""Rules for robots in pages and headers: for all, for us by the configured name, for others."""

import pytest

from periplus.parse import parse
from periplus.records import SNIPPET_LIMITS, FetchRequest, FetchResult, Outcome, Page, PageFlag
from periplus.settings import ParseSettings
from periplus.url import parse_address

ONE = PageFlag.SNIPPET_LIMIT & -PageFlag.SNIPPET_LIMIT


def page_of(*headers: str, body: bytes = b"<p>words", kind: str = "text/html", robot: str = "mybot2") -> Page:
    pairs = (("content-type", kind), *(("x-robots-tag", value) for value in headers))
    request = FetchRequest(parse_address("http://a.test/"))
    page = parse(FetchResult(request, Outcome.OK, 0.0, 200, pairs, body), ParseSettings(robot=robot))
    assert page is not None
    return page


def limit_of(page: Page) -> int:
    level = (page.flags & PageFlag.SNIPPET_LIMIT) // ONE
    return SNIPPET_LIMITS[level - 1] if level else -1


@pytest.mark.parametrize(
    ("headers", "noindex", "nofollow", "noarchive", "limit"),
    [
        (["noindex"], True, False, False, -1),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex"], True, False, False, -1),
        (["none"], True, True, False, -1),
        (["MyBot2: noindex, nofollow"], True, True, False, -1),
        (["otherbot: noindex, nofollow, noarchive, nosnippet"], False, False, False, -1),
        (["noarchive, otherbot: noindex, mybot2: nofollow"], False, True, True, -1),
        (["otherbot: noindex", "nocache"], False, False, True, -1),
        (["nosnippet"], False, False, False, 0),
        (["max-snippet:0"], False, False, False, 0),
        (["max-snippet: 95, max-image-preview:large"], False, False, False, 80),
        (["max-snippet:-1"], False, False, False, -1),
        (["max-snippet:5000"], False, False, False, -1),
        (["max-snippet:90", "mybot2: max-snippet:30"], False, False, False, 20),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], False, False, False, -1),
        (["periplus: noindex"], True, False, False, -1),
        (["max-snippet:\u0663", "max-snippet:" + "9" * 500, ":,:,::", ",".join("x" * 9 for _ in range(999))],)
        + (False,) * 3
        + (-1,),
    ],
)
@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_rules_in_headers(
    headers: list[str], noindex: bool, nofollow: bool, noarchive: bool, limit: int, kind: str
) -> None:
    page = page_of(*headers, kind=kind)
    assert (page.noindex, page.nofollow) == (noindex, nofollow)
    assert bool(page.flags & PageFlag.NOARCHIVE) == noarchive
    assert limit_of(page) == limit


def test_rules_in_elements() -> None:
    body = b"<meta name=robots content='noarchive'><meta name=MyBot2 content=nosnippet><meta name=x content=noindex>w"
    page = page_of(body=body)
    assert (bool(page.flags & PageFlag.NOARCHIVE), limit_of(page), page.noindex) == (True, 0, False)
    assert limit_of(page_of(body=body, robot="")) == -1
    assert page_of("periplusbot: noindex", robot="").noindex
