"""A fetched page made of bytes and headers."""

from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.url import address


def fetched(
    body: bytes, kind: str = "text/html", url: str = "http://h.example/d/x.html", **headers: str
) -> FetchResult:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return FetchResult(FetchRequest(address(url)), Outcome.OK, 0.0, 200, (("content-type", kind), *named), body)
