"""A hostile web on loopback, for one test: redirects without end, drips, bombs, mazes, robots that flood."""

import gzip
import socket
import socketserver
import threading
import zlib
from collections import Counter

GOOD_HOSTS = ("good-one.test", "good-two.test")
PAGES = 12


def bomb(size: int = 200_000_000) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"<p>boom</p>\n" * 80_000
    return b"".join([packer.compress(block) for _ in range(size // len(block))]) + packer.flush()


BOMB = bomb()


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def links(*urls: str) -> bytes:
    return "".join(f'<p><a href="{url}">a link to somewhere</a></p>' for url in urls).encode()


class HostileWeb:
    """Answers for good and for hostile hosts by the name they are asked for, and counts."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.stop = threading.Event()
        web = self

        class Talk(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                web.talk(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Talk)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()

    def talk(self, peer: socket.socket) -> None:
        try:
            waiting = b""
            while True:
                while b"\r\n\r\n" not in waiting:
                    part = peer.recv(65536)
                    if not part:
                        return
                    waiting += part
                head, _, waiting = waiting.partition(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                path = lines[0].split(" ")[1]
                host = next(line[5:].strip() for line in lines if line.lower().startswith("host:")).partition(":")[0]
                self.counts[host] += 1
                if not self.respond(peer, host, path):
                    return
        except OSError:
            return

    def respond(self, peer: socket.socket, host: str, path: str) -> bool:
        """Send the answer; False to hang up."""
        if path == "/robots.txt" and host not in ("robots-flood.test", "robots-giant.test", "sitemap-circle.test"):
            peer.sendall(answer(b"", "404 Not Found"))
            return True
        if host in GOOD_HOSTS:
            peer.sendall(self.good(host, path))
            return True
        special = getattr(self, host.removesuffix(".test").replace("-", "_"))
        return bool(special(peer, path))

    def good(self, host: str, path: str) -> bytes:
        number = int(path[2:]) if path[1:2] == "p" and path[2:].isdigit() else 0
        if path not in ("/", f"/p{number}") or number >= PAGES:
            return answer(b"<h1>No</h1>", "404 Not Found")
        body = f"<title>{host} {number}</title><p>Good words of page {number} at {host}.</p>".encode()
        evil = HOSTILE if number == 0 else ()
        return answer(body + links(f"/p{number + 1}", f"/p{number * 2 + 1}", *(f"http://{name}/" for name in evil)))

    def endless_redirects(self, peer: socket.socket, path: str) -> bool:
        peer.sendall(answer(b"", "302 Found", f"Location: /{len(path)}x{path[:200]}"))
        return True

    def redirect_inside(self, peer: socket.socket, path: str) -> bool:
        target = {"/": "http://127.0.0.99:1/", "/m": "http://169.254.169.254/latest/"}.get(path, "http://[::1]:1/")
        peer.sendall(answer(b"", "302 Found", f"Location: {target}"))
        return True

    def slow_drip(self, peer: socket.socket, path: str) -> bool:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
        while not self.stop.wait(0.1):
            peer.sendall(b"d")
        return False

    def huge_body(self, peer: socket.socket, path: str) -> bool:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while not self.stop.is_set():
            peer.sendall(b"<p>more and more of it</p>" * 4_000)
        return False

    def gzip_bomb(self, peer: socket.socket, path: str) -> bool:
        peer.sendall(answer(BOMB, "200 OK", "Content-Encoding: gzip"))
        return True

    def header_flood(self, peer: socket.socket, path: str) -> bool:
        peer.sendall(b"HTTP/1.1 200 OK\r\n")
        while not self.stop.is_set():
            peer.sendall(b"X-Flood: " + b"y" * 900 + b"\r\n")
        return False

    def robots_flood(self, peer: socket.socket, path: str) -> bool:
        if path == "/robots.txt":
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /no\n")
            while not self.stop.is_set():
                peer.sendall(b"# " + b"z" * 90_000 + b"\n")
            return False
        peer.sendall(answer(links("/no/1", "/yes")))
        return True

    def calendar(self, peer: socket.socket, path: str) -> bool:
        digits = [int(part) for part in path.split("/") if part.isdigit()]
        month = digits[0] * 12 + digits[1] - 1 if len(digits) == 2 else 2024 * 12
        near = [f"/{at // 12}/{at % 12 + 1}/" for at in (month - 1, month + 1, month + 12, month + 1200)]
        peer.sendall(answer(f"<p>Month {month} has no events.</p>".encode() + links(*near)))
        return True

    def session_maze(self, peer: socket.socket, path: str) -> bool:
        mark = zlib.crc32(path.encode())
        rooms = [f"/room{n}?visit={mark ^ n * 2654435761 & 0xFFFFFFFF:08x}" for n in range(4)]
        peer.sendall(answer(f"<title>{path.partition('?')[0]}</title><p>A room</p>".encode() + links(*rooms)))
        return True

    def many_links(self, peer: socket.socket, path: str) -> bool:
        body = links(*(f"http://good-one.test/p{n}?x" for n in range(100_000))) if path == "/" else b"<p>x</p>"
        peer.sendall(answer(gzip.compress(body, 1), "200 OK", "Content-Encoding: gzip"))
        return True

    def yes_to_all(self, peer: socket.socket, path: str) -> bool:
        mark = zlib.crc32(path.encode())
        peer.sendall(answer(b"<title>Welcome</title><p>Nothing here</p>" + links(*(f"/{mark + n}" for n in range(4)))))
        return True

    def robots_giant(self, peer: socket.socket, path: str) -> bool:
        """A robots.txt of a gigabyte, by its own word."""
        if path == "/robots.txt":
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1073741824\r\n\r\n")
            peer.sendall(b"User-agent: *\nDisallow: /no\n")
            while not self.stop.is_set():
                peer.sendall(b"Disallow: /" + b"z" * 90_000 + b"\n")
            return False
        peer.sendall(answer(links("/no/1", "/yes")))
        return True

    def sitemap_circle(self, peer: socket.socket, path: str) -> bool:
        """Sitemaps that name each other, themselves, and ever new ones."""
        if path == "/robots.txt":
            peer.sendall(answer(b"Sitemap: http://sitemap-circle.test/map0.xml\n"))
        elif path.startswith("/map"):
            number = int(path[4:].removesuffix(".xml") or 0)
            near = "".join(
                f"<sitemap><loc>http://sitemap-circle.test/map{n}.xml</loc></sitemap>"
                for n in (0, number, number + 1, number * 2 + 1, number * 1_000 + 7)
            )
            peer.sendall(answer(f"<sitemapindex>{near}</sitemapindex>".encode()))
        else:
            peer.sendall(answer(b"<p>A page of a site whose sitemaps go round in circles.</p>"))
        return True

    def echo_404(self, peer: socket.socket, path: str) -> bool:
        """Says yes to everything, and repeats the address."""
        mark = zlib.crc32(path.encode())
        body = f"<title>{path}</title><p>We looked for {path} and could not find it.</p>".encode()
        peer.sendall(answer(body + links(*(f"/sub{n}/{mark + n}" for n in range(4)))))
        return True

    def refresh_loop(self, peer: socket.socket, path: str) -> bool:
        other = f"/{zlib.crc32(path.encode())}"
        peer.sendall(answer(f'<meta http-equiv="refresh" content="0;url={other}"><p>Wait.</p>'.encode()))
        return True

    def trailer_flood(self, peer: socket.socket, path: str) -> bool:
        peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n")
        while not self.stop.is_set():
            peer.sendall(b"X-Trailer: " + b"y" * 900 + b"\r\n")
        return False

    def wrong_charset(self, peer: socket.socket, path: str) -> bool:
        body = "<meta charset=utf-16><title>Café</title><p>Grüße</p>".encode("latin-1") + bytes(range(128, 256))
        peer.sendall(answer(body, "200 OK", "X-Type: text/html; charset=klingon"))
        return True

    def chunk_lies(self, peer: socket.socket, path: str) -> bool:
        peer.sendall(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhi"
        )
        return False


HOSTILE = (
    "endless-redirects.test",
    "redirect-inside.test",
    "slow-drip.test",
    "huge-body.test",
    "gzip-bomb.test",
    "header-flood.test",
    "robots-flood.test",
    "calendar.test",
    "session-maze.test",
    "many-links.test",
    "yes-to-all.test",
    "wrong-charset.test",
    "chunk-lies.test",
    "robots-giant.test",
    "sitemap-circle.test",
    "echo-404.test",
    "refresh-loop.test",
    "trailer-flood.test",
)
