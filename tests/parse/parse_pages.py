"""A fetched page made of bytes and headers."""

from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.url import parse_address


def make_result(
    body: bytes, kind: str = "text/html", url: str = "http://h.example/d/x.html", **headers: str
) -> FetchResult:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return FetchResult(FetchRequest(parse_address(url)), Outcome.OK, 0.0, 200, (("content-type", kind), *named), body)
