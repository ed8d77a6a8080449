"""One request in flight: a reused libcurl handle, and the callbacks that bound what a peer can send."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pycurl

from periplus.errors import BadUrl
from periplus.fetch.address_guard import AddressGuard, is_ip, is_private_name, is_under, permits_port
from periplus.fetch.bandwidth import TokenBucket, receive_buffer
from periplus.fetch.body_buffer import BodyBuffer, announces_more, decode_list, is_readable_in_part
from periplus.fetch.content_decoding import ACCEPTED, decode_body, encodings_of
from periplus.fetch.ftp_gopher import (
    content_type_of,
    file_outcome,
    is_web,
    modified_since,
    response_headers,
    strip_terminator,
)
from periplus.fetch.header_lines import header_line, request_headers
from periplus.fetch.outcomes import failure_outcome, status_outcome
from periplus.fetch.request_options import NO_ARCHIVING, Archiving, RequestOptions
from periplus.fetch.response_head import ABORT, ResponseHead
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import FetchSettings
from periplus.url import parse_address

__all__ = ["Transfer"]

_SUPPRESS_CONNECT_HEADERS: Final = 265
"""An option of libcurl that pycurl has no name for: what a proxy answers to CONNECT is not part of the response."""
_ACCEPT: Final = "Accept: text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5"
_ENCODINGS: Final = f"Accept-Encoding: {ACCEPTED}"
_BUFFER: Final = 131_072
"""Bytes that libcurl reads at once: most bodies arrive in one piece."""
_MIN_BUFFER: Final = 1_024
"""The least that libcurl allows."""
_READS: Final = 40
"""With a bandwidth limit, reads that take what a socket holds; libcurl reads eleven times before it returns."""
_VERSIONS: Final = {1: "HTTP/1.0", 2: "HTTP/1.1", 3: "HTTP/2", 30: "HTTP/3"}
_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)


class Transfer:
    """A libcurl handle with all fixed options set once, and the state of its current request."""

    def __init__(
        self,
        settings: FetchSettings,
        guard: AddressGuard,
        accepts: Callable[[str], bool],
        bucket: TokenBucket | None = None,
        sharing: int = 1,
        *,
        only_own: bool = False,
        archiving: Archiving = NO_ARCHIVING,
    ) -> None:
        """Prepare a handle; `sharing` of them share the bandwidth of `bucket`, if there is one.

        With `only_own`, public addresses are refused unless the host is one of `fetch.own_hosts`.
        """
        self._own_hosts = frozenset(name.lower().strip(".") for name in settings.own_hosts) if only_own else None
        self._max_bytes, self._max_list = settings.max_bytes, settings.max_list_bytes
        self._body = BodyBuffer(settings.max_bytes)
        self._as_list = False
        self._agent, self._archiving = settings.agent, archiving
        self._bucket = bucket
        self._deducted = 0
        self._receive_buffer = receive_buffer(bucket.rate, sharing) if bucket else 0
        self._guard = guard
        self._accepts = accepts
        self.interrupted = False
        """Whether Ctrl-C arrived during a callback; libcurl itself would swallow it."""
        self._request: FetchRequest | None = None
        self._route: str | None = None
        self._sent: tuple[tuple[str, str], ...] = ()
        self._options = RequestOptions()
        self._since = 0
        self._head = ResponseHead(self._on_headers, self._interrupt, bucket)
        self._clear()
        self.curl = pycurl.Curl()
        self._set_options(settings, sharing)

    def _set_options(self, settings: FetchSettings, sharing: int) -> None:
        set_option = self.curl.setopt
        set_option(pycurl.NOSIGNAL, 1)
        set_option(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS | pycurl.PROTO_FTP | pycurl.PROTO_GOPHER)
        set_option(pycurl.OPT_FILETIME, 1)
        set_option(pycurl.FTP_FILEMETHOD, pycurl.FTPMETHOD_NOCWD)
        set_option(pycurl.FTP_SKIP_PASV_IP, 1)
        set_option(pycurl.FOLLOWLOCATION, 0)
        set_option(pycurl.PATH_AS_IS, 1)
        set_option(pycurl.PROXY, "")
        set_option(pycurl.NOPROXY, "")
        set_option(_SUPPRESS_CONNECT_HEADERS, 1)
        set_option(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        set_option(pycurl.HTTP_CONTENT_DECODING, 0)  # bodies are stored as they were sent, and decoded here
        set_option(pycurl.BUFFERSIZE, _BUFFER)
        set_option(pycurl.HTTPHEADER, [_ACCEPT, _ENCODINGS])
        set_option(pycurl.USERAGENT, settings.agent)
        set_option(pycurl.CONNECTTIMEOUT_MS, _milliseconds(settings.connect_timeout))
        set_option(pycurl.TIMEOUT_MS, _milliseconds(settings.timeout))
        set_option(pycurl.LOW_SPEED_LIMIT, 256)
        set_option(pycurl.LOW_SPEED_TIME, settings.slow_seconds)
        set_option(pycurl.SSL_VERIFYPEER, 1)
        set_option(pycurl.SSL_VERIFYHOST, 2)
        bundle = settings.ca_file or next((path for path in _BUNDLES if Path(path).is_file()), None)
        if bundle is not None:
            set_option(pycurl.CAINFO, bundle)
        set_option(pycurl.WRITEFUNCTION, self._on_body)
        set_option(pycurl.HEADERFUNCTION, self._head.add)
        set_option(pycurl.OPENSOCKETFUNCTION, self._on_open)
        if self._bucket is not None:
            slowest = 2 * settings.max_bytes * sharing / self._bucket.rate
            set_option(pycurl.TIMEOUT_MS, _milliseconds(max(settings.timeout, slowest)))
            # Small reads, as libcurl's own speed limit has no timer for requests on connections that were fast before.
            set_option(pycurl.BUFFERSIZE, max(_MIN_BUFFER, min(_BUFFER, self._receive_buffer // _READS)))
            set_option(pycurl.NOPROGRESS, 0)
            set_option(pycurl.XFERINFOFUNCTION, self._on_progress)

    def _clear(self, is_web: bool = True) -> None:
        self._web = is_web
        self._head.clear(is_web)
        self._body.clear()
        self._deducted = 0
        self._refused = ""
        self._failure: tuple[Outcome, str] | None = None

    def begin(
        self,
        request: FetchRequest,
        headers: tuple[tuple[str, str], ...],
        route: str | None,
        any_type: bool,
        options: RequestOptions,
        as_list: bool = False,
    ) -> None:
        """Prepare `request`. `route` is a CONNECT_TO rule; `any_type` and `as_list` accept every content type."""
        address = request.address
        self._clear(is_web(address))
        if options.proxy != self._options.proxy:
            self.curl.setopt(pycurl.PROXY, options.proxy)
            # An open connection to a proxy serves any host: each request has to pass the check of a new one.
            self.curl.setopt(pycurl.FRESH_CONNECT, 1 if options.proxy else 0)
        self._options = options
        headers += options.headers
        self._request = request
        self._good_port = permits_port(address)
        self._any_type, self._as_list = any_type or as_list, as_list
        self._when = time.time()
        self.curl.setopt(pycurl.URL, address.url)
        since = 0 if self._web else modified_since(headers)
        if since != self._since:
            self._since = since
            self.curl.setopt(pycurl.TIMEVALUE, since)
            condition = pycurl.TIMECONDITION_IFMODSINCE if since else pycurl.TIMECONDITION_NONE
            self.curl.setopt(pycurl.TIMECONDITION, condition)
        if route != self._route:
            self._route = route
            self.curl.setopt(pycurl.CONNECT_TO, [route] if route else [])
        if headers != self._sent:
            self._sent = headers
            self.curl.setopt(
                pycurl.HTTPHEADER, [_ACCEPT, _ENCODINGS, *(header_line(name, value) for name, value in headers)]
            )

    def _on_open(self, purpose: int, peer: Any) -> Any:
        """Check the IP address at the moment of connecting: a name may resolve differently each time."""
        try:
            ip = str(peer.addr[0]) if peer.addr else ""
            self._refused = self._refusal(ip)
            if self._refused:
                return pycurl.SOCKET_BAD
            opened = socket.socket(peer.family, peer.socktype, peer.protocol)
            if self._receive_buffer:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
            return opened
        except KeyboardInterrupt:
            self.interrupted = True
        except Exception as error:
            self._failure = (Outcome.CONNECT, str(error))
        return pycurl.SOCKET_BAD

    def _refusal(self, ip: str) -> str:
        """Return why an IP address must not be connected to; '' if it may be."""
        assert self._request is not None
        host = self._request.address.host
        if not self._good_port:
            return "A port of another service must not be fetched."
        proxied = bool(self._options.proxy)  # `ip` is the proxy's, which the operator has chosen
        if proxied:
            ip = host.strip("[]") if is_ip(host) else ""
        if not self._guard.permits(ip) and (ip or not proxied):
            return f"{ip or 'An address of unknown family'} must not be fetched (see fetch.allow)."
        # The proxy alone knows the address of a name: it may be a server of others.
        is_foreign = self._guard.is_foreign(ip) if ip or not proxied else not is_private_name(host)
        if self._own_hosts is not None and is_foreign and not is_under(host, self._own_hosts):
            return f"{ip or host} is a server of others, which needs fetch.contact."
        return ""

    def _on_progress(self, expected: int, received: int, to_send: int, sent: int) -> int | None:
        """Deduct what libcurl has received of the body, before it was decompressed."""
        try:
            if self._bucket is not None and received > self._deducted:
                self._bucket.deduct(received - self._deducted)
                self._deducted = received
        except KeyboardInterrupt:
            self.interrupted = True
            return 1
        return None

    def _interrupt(self) -> int:
        self.interrupted = True
        return ABORT

    def _on_headers(self) -> int | None:
        """Abort the transfer if no parser reads the content type."""
        head = self._head
        if not 200 <= head.status < 300:
            return None
        if self._as_list and not encodings_of(head.headers):
            self._body.clear(self._max_list)
        if self._any_type:
            return None
        kind = head.values.get("content-type", "")
        if kind and not self._accepts(kind):
            self._failure = (Outcome.WRONG_TYPE, f"No parser for '{kind[:80]}'.")
            return ABORT
        if announces_more(head.values.get("content-length", ""), self._max_bytes) and not is_readable_in_part(kind):
            self._failure = (Outcome.TOO_LARGE, f"More than {self._max_bytes} bytes.")
            return ABORT
        return None

    def _accepts_file(self) -> bool:
        """Return False, which aborts the transfer, if no parser reads files of this name."""
        assert self._request is not None
        kind = content_type_of(self._request.address)
        if self._any_type or self._accepts(kind):
            return True
        self._failure = (Outcome.WRONG_TYPE, f"No parser for '{kind}'.")
        return False

    def _on_body(self, part: bytes) -> int | None:
        try:
            if not self._web and not len(self._body) and not self._accepts_file():
                return ABORT
            if not self._body.add(part):
                self._failure = (Outcome.TOO_LARGE, f"More than {self._body.limit} bytes.")
                return ABORT
            return None
        except KeyboardInterrupt:
            return self._interrupt()

    def finish(self, code: int = 0, message: str = "") -> FetchResult:
        """Return the result; `code` is libcurl's, 0 for success."""
        assert self._request is not None
        head, getinfo = self._head, self.curl.getinfo
        if not head.is_complete:
            head.read()
        if head.is_too_long and self._failure is None:
            self._failure = (Outcome.BAD_RESPONSE, "Too many or too long headers.")
        outcome, error = self._outcome(code, message)
        body, raw = b"", b""
        if outcome is Outcome.OK or outcome is Outcome.TOO_LARGE:
            body = self._body.take()
            if self._web and body and "content-encoding" in head.values:
                outcome, error, body, raw = self._decode(body, encodings_of(head.headers), outcome, error)
        elif self._archiving.errors and head.is_complete:
            raw = self._body.take()
        location = self._location() if outcome is Outcome.REDIRECT else ""
        if not self._web and outcome in (Outcome.OK, Outcome.TOO_LARGE):
            head.status = 200
            head.headers = [*response_headers(self._request.address, getinfo(pycurl.INFO_FILETIME))]
            body = strip_terminator(self._request.address, body)
        result = FetchResult(
            request=self._request,
            outcome=outcome,
            when=self._when,
            status=head.status,
            headers=tuple(head.headers) if not self._options.headers else self._public_headers(),
            body=body,
            elapsed=getinfo(pycurl.TOTAL_TIME),
            ip=getinfo(pycurl.PRIMARY_IP),
            version=_VERSIONS.get(getinfo(pycurl.INFO_HTTP_VERSION), "HTTP/1.1"),
            location=location,
            error=error,
            raw=raw,
            connect=self._connect_seconds() if getinfo(pycurl.NUM_CONNECTS) else 0.0,
            sent=self._sent_headers() if self._archiving.requests and self._web else (),
        )
        self._request = None
        self._clear()
        return result

    def _sent_headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of the request, without those that the operator has added: they may be secrets."""
        assert self._request is not None
        own = self._sent[: len(self._sent) - len(self._options.headers)]
        return request_headers(self._request.address, self._agent, (_ACCEPT, _ENCODINGS), own)

    def progress(self) -> tuple[str, float, int]:
        """Return the URL of the request in flight, for how many seconds it has been, and the bytes received."""
        url = self._request.address.url if self._request is not None else ""
        return url, round(max(0.0, time.time() - self._when), 3), len(self._body)

    def _connect_seconds(self) -> float:
        """Return how long the server took to accept a new connection: about one round trip."""
        seconds = self.curl.getinfo(pycurl.CONNECT_TIME) - self.curl.getinfo(pycurl.NAMELOOKUP_TIME)
        return max(0.0, float(seconds))

    def _decode(
        self, raw: bytes, encodings: list[str], outcome: Outcome, error: str
    ) -> tuple[Outcome, str, bytes, bytes]:
        """Return outcome, error message and decoded body, and the body as it was sent if that can be stored."""
        if not encodings:
            return outcome, error, raw, b""
        whole = outcome is Outcome.OK
        if self._as_list:
            decoded = decode_list(raw, encodings, self._max_bytes, self._max_list, whole=whole)
        else:
            decoded = decode_body(raw, encodings, self._max_bytes, whole=whole)
        if decoded.error:
            return Outcome.BAD_RESPONSE, decoded.error, b"", b""
        if decoded.too_large and outcome is Outcome.OK:
            return Outcome.TOO_LARGE, f"More than {self._max_bytes} bytes.", decoded.body, b""
        stored = raw if outcome is Outcome.OK and decoded.ordinary else b""
        return outcome, error, decoded.body, stored

    def _public_headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of the response, without the session that a host opens for credentials."""
        return tuple(pair for pair in self._head.headers if pair[0] not in ("set-cookie", "set-cookie2"))

    def _outcome(self, code: int, message: str) -> tuple[Outcome, str]:
        if self._refused and (code or not self._head.is_complete):
            return Outcome.FORBIDDEN_ADDRESS, self._refused
        if not self._web and code and self._failure is None:
            assert self._request is not None
            return file_outcome(code, self._request.address, self._head.size > 0), message
        if not self._web and self._since and self.curl.getinfo(pycurl.CONDITION_UNMET):
            self._head.status = 304
            return Outcome.NOT_MODIFIED, ""
        if not self._web:
            return self._failure or (Outcome.OK, "")
        outcome = status_outcome(self._head.status, bool(self._head.values.get("location", "")))
        if self._head.is_complete and outcome is not Outcome.OK:
            # An error page that is endless or broken is still that error page.
            return outcome, "" if outcome is not Outcome.BAD_RESPONSE else f"Status {self._head.status}."
        if self._failure is not None:
            return self._failure
        if code:
            return failure_outcome(code, self._head.status > 0), message
        return outcome, ""

    def _location(self) -> str:
        assert self._request is not None
        text = self._head.values.get("location", "") if self._web else f"{self._request.address.url}/"
        try:
            return parse_address(text, self._request.address.url).url
        except BadUrl:
            return text


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
