"""Header lines of HTTP: read from bytes, and written so that a value cannot become two lines."""

from periplus.records import Address

__all__ = ["decode_header", "header_line", "parse_status", "request_headers"]


def parse_status(line: bytes) -> int:
    """Return the status code in a status line, 0 if there is none."""
    words = line.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else 0


def header_line(name: str, value: str) -> bytes:
    """Return one header line; a value received from a peer must not become two lines."""
    return f"{name}: {''.join(char for char in value if char.isprintable())}".encode()


def decode_header(raw: bytes) -> str:
    """Return a name or value as text: UTF-8 if it is that, otherwise Latin-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def request_headers(
    address: Address, agent: str, lines: tuple[str, ...], more: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request, as an archive stores them."""
    standard = {"http": 80, "https": 443}.get(address.scheme)
    host = address.host if address.port == standard else f"{address.host}:{address.port}"
    fixed = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    return (("Host", host), ("User-Agent", agent), *fixed, *more)
