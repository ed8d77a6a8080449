"""Reading pages of the fake web with a parser that is not ours to trust: the standard library's."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from periplus.fakeweb import FakeResponse, FakeWeb, FakeWebPlan

PLAN = FakeWebPlan(seed=11, hosts=30, pages=600)


@dataclass
class Read(HTMLParser):
    """What a page says: its links, title, metas and text."""

    url: str
    links: list[tuple[str, str]] = field(default_factory=list)
    nofollow: set[str] = field(default_factory=set)
    metas: dict[str, str] = field(default_factory=dict)
    canonical: str = ""
    title: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open = ""
        self._href = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self._open = tag
        if tag == "a":
            self._href = urljoin(self.url, found["href"])
            self.links.append((self._href, ""))
            if found.get("rel") == "nofollow":
                self.nofollow.add(self._href)
        elif tag == "meta" and "name" in found:
            self.metas[found["name"]] = found["content"]
        elif tag == "link" and found.get("rel") == "canonical":
            self.canonical = found["href"]

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open == "title":
            self.title += data
        if self._open == "a" and self.links and data.strip():
            self.links[-1] = (self._href, data)

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


def get(web: FakeWeb, url: str, **headers: str) -> FakeResponse:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return web.response(parts.netloc, path, {key.replace("_", "-"): value for key, value in headers.items()})


def decode(response: FakeResponse) -> str:
    """Decode as a browser does: byte order mark, then header, then meta, then UTF-8; no byte may be wrong."""
    body = response.body
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16")
    if body.startswith(b"\xef\xbb\xbf"):
        return body.decode("utf-8-sig")
    label = response.header("content-type").partition("charset=")[2]
    if not label and b'<meta charset="' in body[:1024]:
        label = body.partition(b'<meta charset="')[2].partition(b'"')[0].decode()
    return body.decode(label or "utf-8")


def read(web: FakeWeb, url: str) -> Read:
    response = get(web, url)
    page = Read(url)
    if response.status == 200 and response.header("content-type").startswith("text/html"):
        page.feed(decode(response))
    return page
