"""One request under way: a reused libcurl handle, and the callbacks that bound what a peer can send."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pycurl

from periplus.errors import BadUrl
from periplus.fetch.address_guard import AddressGuard, permits_port
from periplus.fetch.ftp_gopher import changed_since, headers_of, is_web, kind_of, of_file_failure, without_end
from periplus.fetch.outcomes import of_failure, of_status
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import FetchSettings
from periplus.url import parse_address

__all__ = ["Transfer"]

_MAX_HEADERS: Final = 200
_MAX_HEADER_BYTES: Final = 65_536
_ABORT: Final = -1
_ACCEPT: Final = "Accept: text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5"
_VERSIONS: Final = {1: "HTTP/1.0", 2: "HTTP/1.1", 3: "HTTP/2", 30: "HTTP/3"}
_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)


class Transfer:
    """A libcurl handle with all fixed options set once, and the state of the request it carries now."""

    def __init__(self, settings: FetchSettings, guard: AddressGuard, accepts: Callable[[str], bool]) -> None:
        self._max_bytes = settings.max_bytes
        self._guard = guard
        self._accepts = accepts
        self.interrupted = False
        """Whether Ctrl-C came while libcurl was calling us; libcurl itself would swallow it."""
        self._due: FetchRequest | None = None
        self._route: str | None = None
        self._sent: tuple[tuple[str, str], ...] = ()
        self._unannounced: bool | None = None
        self._since = 0
        self._clear()
        self.curl = pycurl.Curl()
        self._set_options(settings)

    def _set_options(self, settings: FetchSettings) -> None:
        set_option = self.curl.setopt
        set_option(pycurl.NOSIGNAL, 1)
        set_option(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS | pycurl.PROTO_FTP | pycurl.PROTO_GOPHER)
        set_option(pycurl.OPT_FILETIME, 1)
        set_option(pycurl.FTP_FILEMETHOD, pycurl.FTPMETHOD_NOCWD)
        set_option(pycurl.FTP_SKIP_PASV_IP, 1)
        set_option(pycurl.FOLLOWLOCATION, 0)
        set_option(pycurl.PATH_AS_IS, 1)
        set_option(pycurl.PROXY, "")
        set_option(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        set_option(pycurl.ACCEPT_ENCODING, "")
        set_option(pycurl.HTTPHEADER, [_ACCEPT])
        set_option(pycurl.USERAGENT, settings.user_agent)
        set_option(pycurl.CONNECTTIMEOUT_MS, _milliseconds(settings.connect_timeout))
        set_option(pycurl.TIMEOUT_MS, _milliseconds(settings.timeout))
        set_option(pycurl.LOW_SPEED_LIMIT, 256)
        set_option(pycurl.LOW_SPEED_TIME, settings.slow_seconds)
        set_option(pycurl.SSL_VERIFYPEER, 1)
        set_option(pycurl.SSL_VERIFYHOST, 2)
        bundle = settings.trust or next((path for path in _BUNDLES if Path(path).is_file()), None)
        if bundle is not None:
            set_option(pycurl.CAINFO, bundle)
        set_option(pycurl.WRITEFUNCTION, self._on_body)
        set_option(pycurl.HEADERFUNCTION, self._on_header)
        set_option(pycurl.OPENSOCKETFUNCTION, self._on_open)

    def _clear(self) -> None:
        self._body = bytearray()
        self._headers: list[tuple[str, str]] = []
        self._header_bytes = 0
        self._status = 0
        self._complete = False
        self._refused = ""
        self._why: tuple[Outcome, str] | None = None

    def begin(self, due: FetchRequest, headers: tuple[tuple[str, str], ...], route: str | None, any_type: bool) -> None:
        """Get ready to carry `due`. `route` is a CONNECT_TO rule; `any_type` takes every content type and length."""
        self._clear()
        self._due = due
        self._web, self._good_port = is_web(due.address), permits_port(due.address)
        self._any_type = any_type
        if any_type != self._unannounced:
            # Of robots.txt and sitemaps the beginning is worth having, however long they say they are.
            self._unannounced = any_type
            self.curl.setopt(pycurl.MAXFILESIZE_LARGE, 0 if any_type else self._max_bytes)
        self._when = time.time()
        self.curl.setopt(pycurl.URL, due.address.url)
        since = 0 if self._web else changed_since(headers)
        if since != self._since:
            self._since = since
            self.curl.setopt(pycurl.TIMEVALUE, since)
            wanted = pycurl.TIMECONDITION_IFMODSINCE if since else pycurl.TIMECONDITION_NONE
            self.curl.setopt(pycurl.TIMECONDITION, wanted)
        if route != self._route:
            self._route = route
            self.curl.setopt(pycurl.CONNECT_TO, [route] if route else [])
        if headers != self._sent:
            self._sent = headers
            self.curl.setopt(pycurl.HTTPHEADER, [_ACCEPT, *(_line(name, value) for name, value in headers)])

    def _on_open(self, purpose: int, wanted: Any) -> Any:
        """Check the address at the very moment of connecting; names may change their address between two looks."""
        try:
            ip = str(wanted.addr[0]) if wanted.addr else ""
            if not self._good_port or not self._guard.permits(ip):
                self._refused = (ip or "an address of an unknown kind") if self._good_port else "a port of others"
                return pycurl.SOCKET_BAD
            return socket.socket(wanted.family, wanted.socktype, wanted.protocol)
        except KeyboardInterrupt:
            self.interrupted = True
        except Exception as error:
            self._why = (Outcome.CONNECT, str(error))
        return pycurl.SOCKET_BAD

    def _on_header(self, line: bytes) -> int | None:
        try:
            return None if self._take_header(line) else _ABORT
        except KeyboardInterrupt:
            self.interrupted = True
            return _ABORT

    def _take_header(self, line: bytes) -> bool:
        self._header_bytes += len(line)
        if self._header_bytes > _MAX_HEADER_BYTES or len(self._headers) >= _MAX_HEADERS:
            self._why = (Outcome.BAD_RESPONSE, "Too many or too long headers.")
            return False
        if self._complete:
            # Trailers mean nothing to us, but they count.
            return True
        if not self._web:
            # What an ftp server says to each command is of no use; that it says so much is.
            return True
        if line.startswith(b"HTTP/"):
            self._headers.clear()
            self._status = _status_of(line)
        elif line.strip():
            name, colon, value = line.partition(b":")
            if colon:
                self._headers.append((_decode(name).strip().lower(), _decode(value).strip()))
        elif self._status >= 200:
            self._complete = True
            return self._takes_type()
        return True

    def _takes_type(self) -> bool:
        """Stop early when the body is of a type that nobody reads."""
        kind = self._header("content-type")
        if self._any_type or not 200 <= self._status < 300 or not kind or self._accepts(kind):
            return True
        self._why = (Outcome.WRONG_TYPE, f"No reader for '{kind[:80]}'.")
        return False

    def _takes_file(self) -> bool:
        """Stop early when a file, by its name, is of a type that nobody reads."""
        assert self._due is not None
        kind = kind_of(self._due.address)
        if self._any_type or self._accepts(kind):
            return True
        self._why = (Outcome.WRONG_TYPE, f"No reader for '{kind}'.")
        return False

    def _on_body(self, part: bytes) -> int | None:
        try:
            if not self._web and not self._body and not self._takes_file():
                return _ABORT
            room = self._max_bytes - len(self._body)
            if len(part) > room:
                self._body += part[:room]
                self._why = (Outcome.TOO_LARGE, f"More than {self._max_bytes} bytes.")
                return _ABORT
            self._body += part
            return None
        except KeyboardInterrupt:
            self.interrupted = True
            return _ABORT

    def _header(self, name: str) -> str:
        return next((value for key, value in self._headers if key == name), "")

    def finish(self, code: int = 0, message: str = "") -> FetchResult:
        """Say what came of it; `code` is libcurl's, 0 when all went well."""
        assert self._due is not None
        outcome, error = self._outcome(code, message)
        location = self._location() if outcome is Outcome.REDIRECT else ""
        keep = outcome in (Outcome.OK, Outcome.TOO_LARGE)
        if not self._web and keep:
            self._status = 200
            self._headers = [*headers_of(self._due.address, self.curl.getinfo(pycurl.INFO_FILETIME))]
            self._body = bytearray(without_end(self._due.address, bytes(self._body)))
        fetched = FetchResult(
            request=self._due,
            outcome=outcome,
            when=self._when,
            status=self._status,
            headers=tuple(self._headers),
            body=bytes(self._body) if keep else b"",
            elapsed=self.curl.getinfo(pycurl.TOTAL_TIME),
            ip=self.curl.getinfo(pycurl.PRIMARY_IP),
            version=_VERSIONS.get(self.curl.getinfo(pycurl.INFO_HTTP_VERSION), "HTTP/1.1"),
            location=location,
            error=error,
        )
        self._due = None
        self._clear()
        return fetched

    def _outcome(self, code: int, message: str) -> tuple[Outcome, str]:
        if self._refused and (code or not self._complete):
            return Outcome.FORBIDDEN_ADDRESS, f"{self._refused} may not be fetched (see fetch.allow)."
        if not self._web and code and self._why is None:
            assert self._due is not None
            return of_file_failure(code, self._due.address, self._header_bytes > 0), message
        if not self._web and self._since and self.curl.getinfo(pycurl.CONDITION_UNMET):
            self._status = 304
            return Outcome.NOT_MODIFIED, ""
        if not self._web:
            return self._why or (Outcome.OK, "")
        known = of_status(self._status, bool(self._header("location")))
        if self._complete and known is not Outcome.OK:
            # An error page that is endless or broken still is that error page.
            return known, "" if known is not Outcome.BAD_RESPONSE else f"Status {self._status}."
        if self._why is not None:
            return self._why
        if code:
            return of_failure(code, self._status > 0), message
        return known, ""

    def _location(self) -> str:
        assert self._due is not None
        text = self._header("location") if self._web else f"{self._due.address.url}/"
        try:
            return parse_address(text, self._due.address.url).url
        except BadUrl:
            return text


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _status_of(line: bytes) -> int:
    words = line.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else 0


def _line(name: str, value: str) -> bytes:
    """Write one header; what a peer sent us must not become two of them."""
    return f"{name}: {''.join(char for char in value if char.isprintable())}".encode()


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
