"""A web of good pages and documents among bombs of every kind, each on a host of its own."""

import io
import zipfile
from pathlib import Path

from bomb_files import OFFICE, bomb_files, bomb_robots, bomb_sitemaps, page_pdf, stream
from scripted_web import ScriptedWeb

from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, ParseSettings, Settings

GOOD_HOST = "good.test"
SITEMAP_HOST = "maps.test"
ROBOTS_HOST = "rules.test"


class BombWeb:
    """Serves the web; `good` are the URLs that have to be stored, `bombs` those that are met at most once."""

    def __init__(self, pages: int = 20, names: tuple[str, ...] = ()) -> None:
        self.web = ScriptedWeb()
        self.good: list[str] = []
        self.bombs: dict[str, str] = {}
        """Names by URL."""
        self.hosts = [GOOD_HOST, SITEMAP_HOST, ROBOTS_HOST]
        for number, (name, bomb) in enumerate(bomb_files(names).items()):
            host = f"b{number}.test"
            encoding = {"Content_Encoding": bomb.encoding} if bomb.encoding else {}
            self.hosts.append(host)
            self.bombs[f"http://{host}/{name}"] = name
            self.web.put(f"http://{host}/{name}", bomb.body, bomb.kind, **encoding)
        self._put_good(pages)
        if not names:
            self._put_discovery(pages)

    def _put_good(self, pages: int) -> None:
        links = [f"/p{number}" for number in range(pages)] + [f"/d{number}.pdf" for number in range(pages)]
        links += [f"/w{number}.docx" for number in range(pages)] + [f"/t{number}.md" for number in range(pages)]
        for number in range(pages):
            self._put(
                f"/p{number}", f"<title>Page {number}</title><p>Words of page number {number}".encode(), "text/html"
            )
            self._put(f"/d{number}.pdf", good_pdf(number), "application/pdf")
            self._put(f"/w{number}.docx", good_docx(number), OFFICE + "wordprocessingml.document")
            self._put(f"/t{number}.md", f"# Notes {number}\n\nSome *words*.".encode(), "text/markdown")
        outside = [*self.bombs, f"http://{SITEMAP_HOST}/", f"http://{ROBOTS_HOST}/"]
        body = "".join(f'<a href="{link}">x</a> ' for link in (*outside, *links))
        self._put("/", f"<title>Home</title><p>{body}".encode(), "text/html")

    def _put_discovery(self, pages: int) -> None:
        """Add a host whose sitemaps are bombs but one, and one with very many rules."""
        maps = bomb_sitemaps()
        lines = "".join(f"Sitemap: http://{SITEMAP_HOST}/{name}\n" for name in (*maps, "good.xml"))
        self.web.put(f"http://{SITEMAP_HOST}/robots.txt", lines, "text/plain")
        for name, body in maps.items():
            self.web.put(f"http://{SITEMAP_HOST}/{name}", body, "application/xml")
            self.bombs[f"http://{SITEMAP_HOST}/{name}"] = f"sitemap {name}"
        listed = "".join(f"<url><loc>http://{SITEMAP_HOST}/m{number}</loc></url>" for number in range(pages))
        self.web.put(f"http://{SITEMAP_HOST}/good.xml", f"<urlset>{listed}</urlset>", "application/xml")
        self.web.put(f"http://{ROBOTS_HOST}/robots.txt", bomb_robots(), "text/plain")
        links = "".join(f"<a href=/r{number}>x</a> " for number in range(pages))
        for host, start in ((SITEMAP_HOST, "m"), (ROBOTS_HOST, "r")):
            self._put("/", f"<title>Home of {host}</title>{links if start == 'r' else ''}".encode(), "text/html", host)
            for number in range(pages):
                self._put(
                    f"/{start}{number}", f"<title>{host} {number}</title><p>Its words".encode(), "text/html", host
                )

    def _put(self, path: str, body: bytes, kind: str, host: str = GOOD_HOST) -> None:
        self.web.put(f"http://{host}{path}", body, kind)
        self.good.append(f"http://{host}{path}")

    def settings(self, folder: Path, parse: ParseSettings, minutes: float = 0.0) -> Settings:
        """Return settings that find every host here."""
        file = folder / "hosts"
        file.write_text("".join(f"127.0.0.1:{self.web.port} {host}\n" for host in self.hosts))
        return Settings(
            fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(file), timeout=60, connections=16),
            frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.01, max_failures=3, retries=0, per_address=0),
            crawl=CrawlSettings(scope="web", probe=False, minutes=minutes, commit_seconds=0.2, checkpoint_seconds=0.5),
            parse=parse,
        )

    def close(self) -> None:
        self.web.close()


def good_pdf(number: int) -> bytes:
    return page_pdf(stream(b"BT /F 12 Tf 20 100 Td (Words of document number %d) Tj ET" % number))


def good_docx(number: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f"<d><p><t>Words of file number {number}</t></p></d>")
    return packed.getvalue()
