"""The fetch states of robots.txt (RFC 9309, 2.3.1), as a table of our own: what came, and what is allowed then."""

import pytest

from periplus.crawl.robots_cache import RobotsCache
from periplus.fetch.outcomes import status_outcome
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.url import parse_address

HOME = parse_address("http://www.here.test/page")
BODY = b"User-agent: *\nDisallow: /secret\n"
DAY = 86_400.0
ALLOWED, DISALLOWED, BY_RULES, AGAIN = "all allowed", "all disallowed", "by its rules", "asked again"


def state(book: RobotsCache, outcome: Outcome, now: float = 0.0) -> str:
    """Say in a word what the book lets us do."""
    rules = book.rules(HOME.origin, now)
    if rules is None:
        return AGAIN if outcome is Outcome.REDIRECT else DISALLOWED
    return ALLOWED if rules.allows("/secret") else BY_RULES


def answer(outcome: Outcome, body: bytes = b"", location: str = "", url: str = "") -> FetchResult:
    place = parse_address(url or "http://www.here.test/robots.txt")
    return FetchResult(FetchRequest(place), outcome, 0.0, body=body, location=location)


STATUSES = [
    *((status, BY_RULES) for status in (200, 203, 206)),
    *((status, ALLOWED) for status in (400, 401, 402, 403, 404, 405, 410, 418, 451)),
    *((status, DISALLOWED) for status in (429, 500, 501, 502, 503, 504, 520, 599)),
]


@pytest.mark.parametrize(("status", "expected"), STATUSES)
def test_by_status(status, expected):
    book = RobotsCache("PeriplusBot")
    outcome = status_outcome(status, False)
    assert state(book, book.learn(HOME.origin, answer(outcome, BODY), 0.0)) == expected


FAILURES = [Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT, Outcome.BAD_RESPONSE, Outcome.FORBIDDEN_ADDRESS]


@pytest.mark.parametrize("outcome", FAILURES)
def test_what_cannot_be_reached_allows_nothing(outcome):
    book = RobotsCache("PeriplusBot")
    assert state(book, book.learn(HOME.origin, answer(outcome), 0.0)) == DISALLOWED


@pytest.mark.parametrize("outcome", [*FAILURES, Outcome.SERVER_ERROR, Outcome.BUSY])
def test_an_old_copy_speaks_while_a_new_one_cannot_be_had(outcome):
    book = RobotsCache("PeriplusBot")
    book.learn(HOME.origin, answer(Outcome.OK, BODY), 0.0)
    assert book.rules(HOME.origin, DAY) is None
    book = RobotsCache("PeriplusBot", book.entries(DAY))
    assert state(book, book.learn(HOME.origin, answer(outcome), DAY), DAY) == BY_RULES
    assert book.rules(HOME.origin, DAY + 7200) is None
    book.learn(HOME.origin, answer(outcome), 29 * DAY)
    assert state(book, outcome, 29 * DAY) == BY_RULES
    assert state(book, book.learn(HOME.origin, answer(outcome), 31 * DAY), 31 * DAY) == DISALLOWED
    assert book.entries(31 * DAY) == ()


BODIES = [
    (b"", ALLOWED),
    (b"\xef\xbb\xbf" + BODY, BY_RULES),
    (BODY.replace(b"\n", b"\r\n"), BY_RULES),
    (BODY.replace(b"\n", b"\r"), BY_RULES),
    (b"<html><body>Not found</body></html>", ALLOWED),
    (b"\x00\xff\xfe garbage \n" + BODY, BY_RULES),
    (b"#" * 400_000 + b"\n" + BODY, BY_RULES),
    (b"#" * 600_000 + b"\n" + BODY, ALLOWED),
]


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_by_body(body, expected):
    book = RobotsCache("PeriplusBot")
    assert state(book, book.learn(HOME.origin, answer(Outcome.OK, body), 0.0)) == expected


@pytest.mark.parametrize("first", [Outcome.TOO_LARGE, Outcome.OK])
def test_the_first_500_kib_count_of_a_body_without_end(first):
    book = RobotsCache("PeriplusBot")
    book.learn(HOME.origin, answer(first, BODY + b"x" * 4_000_000), 0.0)
    assert state(book, first) == BY_RULES
    assert len(book.entries(0.0)[0].body) <= 512_000


HOPS = [
    (["http://www.here.test/r"], BY_RULES),
    (["http://other.test/robots.txt"], BY_RULES),
    ([f"http://www.here.test/{hop}" for hop in range(5)], BY_RULES),
    ([f"http://www.here.test/{hop}" for hop in range(6)], ALLOWED),
    (["http://www.here.test/robots.txt"] * 6, ALLOWED),
    (["javascript:void(0)"], ALLOWED),
    ([""], ALLOWED),
]


@pytest.mark.parametrize(("hops", "expected"), HOPS)
def test_by_redirects(hops, expected):
    book = RobotsCache("PeriplusBot")
    outcome = Outcome.REDIRECT
    for hop in hops:
        outcome = book.learn(HOME.origin, answer(Outcome.REDIRECT, location=hop), 0.0)
    if outcome is Outcome.REDIRECT:
        assert book.target(HOME).url == hops[-1]
        outcome = book.learn(HOME.origin, answer(Outcome.OK, BODY, url=hops[-1]), 0.0)
    assert state(book, outcome) == expected


def test_a_copy_is_good_for_a_day_and_for_one_origin():
    book = RobotsCache("PeriplusBot")
    book.learn(HOME.origin, answer(Outcome.OK, BODY), 0.0)
    assert book.rules(HOME.origin, DAY - 1) is not None
    assert book.rules(HOME.origin, DAY + 1) is None
    for other in ("https://www.here.test/", "http://www.here.test:81/", "http://here.test/"):
        assert book.rules(parse_address(other).origin, 0.0) is None
