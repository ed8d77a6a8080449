"""Fetch records and responses for the tests of the store."""

from periplus.records import Address, FetchRecord, FetchRequest, FetchResult, Link, Outcome, Page


def address(number: int, host: str = "example.org") -> Address:
    path = f"/page/{number}"
    return Address(f"http://{host}{path}", "http", host, 80, path, host, number + 1)


def make_record(number: int, text: str = "some text") -> FetchRecord:
    target = address(number)
    page = Page(
        target.url, title=f"Page {number}", text=f"{text} {number}", links=(Link("http://example.org/", "home"),)
    )
    return FetchRecord(
        target.url, target.key, Outcome.OK, 1_700_000_000.0 + number, 200, page=page, content=2**64 - 1 - number
    )


def make_result(number: int, body: bytes = b"<p>Hello", headers: tuple[tuple[str, str], ...] = ()) -> FetchResult:
    return FetchResult(
        FetchRequest(address(number)),
        Outcome.OK,
        1_700_000_000.25 + number,
        200,
        (("content-type", "text/html"), *headers),
        body,
        ip="192.0.2.7",
    )
