"""The process that parses documents for a crawl, one after the other, without any right but to compute."""

import os
import signal
from typing import Final

import msgspec

from periplus.parse.dispatch import parse
from periplus.parse.formats.list_page import parse_list
from periplus.parse.formats.thumbnail import make_thumbnail
from periplus.parse.html.form_extraction import extract_forms
from periplus.parse.sandbox.parse_job import FRAME, MEMORY_FAULT, ParseJob, ParseReply, WorkerReady
from periplus.parse.sandbox.process_limits import allow_seconds, drop_rights, resident_mb
from periplus.records import Page
from periplus.typed_decoding import msgpack_decoder

__all__ = ["ignore_signals", "parse_job", "serve_documents"]

_MAX_DOCUMENTS: Final = 500
"""After which a worker ends, and another one takes its place."""
_MAX_GROWTH_MB: Final = 128
"""The same, of resident memory."""
_CHUNK: Final = 1 << 20


def parse_job(job: ParseJob) -> ParseReply:
    """Return what is parsed from a document."""
    if job.thumbnail:
        return ParseReply(image=make_thumbnail(job.result.body, job.thumbnail))
    page: Page | None
    if job.as_list:
        page, problem = parse_list(job.result)
        return ParseReply(page, problem)
    page = parse(job.result, job.settings)
    if job.forms and page is not None and page.kind == "text/html":
        page = msgspec.structs.replace(page, forms=extract_forms(job.result))
    return ParseReply(page)


def serve_documents(descriptor: int, memory_mb: int) -> None:
    """Parse what comes in through a socket until it is closed, or this process should be replaced."""
    decoder = msgpack_decoder(ParseJob)
    first_mb = resident_mb()
    _send(descriptor, msgspec.msgpack.encode(WorkerReady(drop_rights(memory_mb), first_mb)))
    for number in range(1, _MAX_DOCUMENTS + 1):
        data = _receive(descriptor)
        if data is None:
            return
        reply = _answer(decoder, data)
        del data
        is_last = number == _MAX_DOCUMENTS or resident_mb() > first_mb + _MAX_GROWTH_MB
        _send(descriptor, msgspec.msgpack.encode(msgspec.structs.replace(reply, is_last=is_last)))
        if is_last:
            return


def _answer(decoder: "msgspec.msgpack.Decoder[ParseJob]", data: bytes) -> ParseReply:
    """Return the reply to an encoded document."""
    try:
        job = decoder.decode(data)
        allow_seconds(job.settings.max_seconds)
        return parse_job(job)
    except MemoryError:
        fault = MEMORY_FAULT
    except Exception as error:
        # By contract a parser never raises; if one does, this is the only document that it has no page for.
        fault = f"the parser failed: {type(error).__name__}"
    return ParseReply(None, fault)


def _receive(descriptor: int) -> bytes | None:
    """Return the next message; None if the crawl has closed the socket."""
    head = _read(descriptor, FRAME.size)
    return None if head is None else _read(descriptor, FRAME.unpack(head)[0])


def _read(descriptor: int, size: int) -> bytes | None:
    pieces, remaining = [], size
    while remaining:
        piece = os.read(descriptor, min(remaining, _CHUNK))
        if not piece:
            return None
        pieces.append(piece)
        remaining -= len(piece)
    return b"".join(pieces)


def _send(descriptor: int, message: bytes) -> None:
    rest = memoryview(FRAME.pack(len(message)) + message)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def ignore_signals() -> None:
    """Ignore what a terminal or a service manager sends to whole groups: the crawl decides when its workers end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
