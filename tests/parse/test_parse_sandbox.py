"""Documents in processes of their own: the same pages, and no document that does more harm than to its process."""

import ctypes
import errno
import mmap
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import real_files
from parse_pages import make_result

from periplus.errors import BadInput, ProcessFailed
from periplus.parse import ParseJob, ParserPool, needs_process, parse
from periplus.parse.sandbox import parser_pool, process_limits, worker_channel
from periplus.parse.sandbox.page_validation import check_page
from periplus.parse.sandbox.parse_job import FRAME, ParseReply
from periplus.parse.sandbox.parser_worker import parse_job
from periplus.parse.sandbox.warmup_documents import warmup_jobs
from periplus.records import LIST_KIND, Link, Page
from periplus.settings import ParseSettings

FILES = Path(__file__).with_name("files")
SETTINGS = ParseSettings(processes=1, max_memory_mb=128, max_seconds=2.0)
KINDS = {".html": "text/html", ".xml": "text/xml", ".md": "text/markdown", ".wsdl": "text/xml"}


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(SETTINGS) as pool:
        yield pool


def documents() -> dict[str, tuple[bytes, str]]:
    made = {name: (getattr(real_files, name)(), "") for name in ("pdf", "docx", "xlsx", "pptx", "odt")}
    return made | {path.name: (path.read_bytes(), KINDS.get(path.suffix, "")) for path in sorted(FILES.iterdir())}


def test_a_process_gives_the_page_that_parsing_here_gives(pool: ParserPool) -> None:
    for name, (body, kind) in documents().items():
        result = make_result(body, kind)
        assert pool.parse(ParseJob(result, SETTINGS))[1:] == (parse(result, SETTINGS), "", b""), name


@pytest.mark.parametrize("charset", ["euc-jp", "gb18030", "cp1251", "iso2022_jp", "cp037", "big5hkscs", "utf-16"])
def test_a_process_decodes_every_charset(pool: ParserPool, charset: str) -> None:
    text = {"cp1251": "\u041f\u0440\u0438\u0432\u0435\u0442", "cp037": "Words"}.get(charset, "\u4e00\u4e2d\u4eba")
    result = make_result(f"# {text}\n".encode(charset) * 30, f"text/markdown; charset={charset}")
    assert pool.parse(ParseJob(result, SETTINGS)).page == parse(result, SETTINGS)


@pytest.mark.parametrize(
    "rare",
    [
        b"<p>Frames of a film, and of <i>pictures</i>",
        b"<frameset><frame src=/a><noframes>b</noframes></frameset>",
        b"<iframe src=https://a.example/b></iframe>",
        b"<p>Subscribe to continue reading this article. Already a subscriber?",
        b"<math><mi>x</mi></math><svg><title>y</title></svg><template><p>z</template><textarea>t</textarea>",
        "<p>\u0416\u0443\u043a \u4e2d\u6587 caf\u00e9 \U0001f600".encode(),
        b"<table><caption>a<thead><tr><td rowspan=3>b<tfoot><tr><td colspan=2>c</table><dl><dt>d<dd>e</dl><pre>f</pre>",
        b"<meta name=robots content='noindex, max-snippet:20'><link rel=canonical href=/c><base href=/d/>",
    ],
)
def test_a_process_has_the_kernels_of_what_is_rare(pool: ParserPool, rare: bytes) -> None:
    """It cannot load them any more: what the documents of its start do not need has to be there, too."""
    long = b"<!doctype html><title>Rare</title>" + rare + b"<p>Some words of a page, and others." * 40_000
    result = make_result(long)
    assert needs_process(result)
    found = pool.parse(ParseJob(result, SETTINGS))
    assert (found.fault, found.page) == ("", parse(result, SETTINGS))


def test_warming_up_parses_every_document() -> None:
    replies = [(job.result.header("content-type"), parse_job(job)) for job in warmup_jobs()]
    assert [kind for kind, reply in replies if reply.page is None and not reply.image] == []


def test_ordinary_pages_stay_in_the_process() -> None:
    assert not needs_process(make_result(b"<p>words"))
    assert not needs_process(make_result(b"words", "text/plain"))
    assert not needs_process(make_result(b"\x89PNG", "image/png"))
    assert not needs_process(make_result(b"<urlset/>", "text/xml"), as_list=True)
    assert needs_process(make_result(b"<p>words" * 200_000))
    for name, (body, kind) in documents().items():
        assert needs_process(make_result(body, kind)) is (name != "book.html" and not name.endswith(".py"))


def nested_forms() -> bytes:
    forms = b"".join(
        b"%d 0 obj<</Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>/Length 60>>stream\n"
        b"%s\nendstream endobj\n" % (number, number + 1, b"/X Do " * 10)
        for number in range(5, 16)
    )
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>endobj\n"
        b"4 0 obj<</Length 5>>stream\n/X Do\nendstream endobj\n" + forms + b"trailer<</Root 1 0 R>>\n"
    )


def test_a_document_that_needs_too_much_memory_costs_its_process_only(pool: ParserPool) -> None:
    parsed = pool.parse(ParseJob(make_result(nested_forms(), "application/pdf"), SETTINGS))
    assert parsed.page is None
    assert parsed.fault in {"needs more memory than parse.max_memory_mb", "needs more seconds than parse.max_seconds"}
    body = real_files.pdf()
    assert pool.parse(ParseJob(make_result(body), SETTINGS)).page == parse(make_result(body), SETTINGS)


def worker_of(pool: ParserPool) -> int:
    """Return the process of the only worker."""
    (server,) = pool.processes()
    (worker,) = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return int(worker)


def test_a_process_that_is_killed_is_replaced_and_its_document_parsed_again(pool: ParserPool) -> None:
    body = real_files.pdf()
    assert pool.parse(ParseJob(make_result(body), SETTINGS)).page is not None
    os.kill(worker_of(pool), signal.SIGKILL)
    assert pool.parse(ParseJob(make_result(body), SETTINGS)).page is not None


def test_a_server_that_is_killed_is_replaced(pool: ParserPool) -> None:
    body = real_files.pdf()
    assert pool.parse(ParseJob(make_result(body), SETTINGS)).page is not None
    worker = worker_of(pool)
    os.kill(pool.processes()[0], signal.SIGKILL)
    assert pool.parse(ParseJob(make_result(body), SETTINGS)).page is not None
    wait_until(lambda: has_ended(worker))


def test_a_document_that_takes_too_long_is_ended(pool: ParserPool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pool.parse(ParseJob(make_result(real_files.pdf()), SETTINGS)).page is not None
    monkeypatch.setattr(parser_pool, "_WALL_FACTOR", 0.01)
    os.kill(worker_of(pool), signal.SIGSTOP)
    parsed = pool.parse(ParseJob(make_result(real_files.pdf()), SETTINGS))
    assert parsed[1:] == (None, "takes longer than parse.max_seconds allows", b"")


def test_the_processes_end_with_the_pool() -> None:
    pool = ParserPool(SETTINGS)
    assert pool.parse(ParseJob(make_result(real_files.pdf()), SETTINGS)).page is not None
    processes = [*pool.processes(), worker_of(pool)]
    pool.close()
    wait_until(lambda: all(map(has_ended, processes)))


def has_ended(process: int) -> bool:
    """Return whether a process has ended; its new parent may not have looked at it yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def test_a_pool_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_pool, "_PROGRAM", "import sys; sys.exit(1) # {path}")
    monkeypatch.setattr(parser_pool, "_TICK", 0.001)
    with ParserPool(SETTINGS) as pool, pytest.raises(ProcessFailed, match="do not start"):
        pool.parse(ParseJob(make_result(real_files.pdf()), SETTINGS))


def forbidden() -> dict[str, Callable[[], Any]]:
    """Return what a process without rights must not be able to do."""
    libc = ctypes.CDLL(None, use_errno=True)

    def checked(result: int) -> None:
        if result < 0:
            raise OSError(ctypes.get_errno(), "")

    return {
        "read a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "write a file": lambda: os.open("/tmp/x", os.O_WRONLY | os.O_CREAT),
        "list a folder": lambda: os.listdir("/"),
        "open a socket": lambda: socket.socket(),
        "fork": os.fork,
        "run a program": lambda: os.execv("/bin/true", ["true"]),
        "end its parent": lambda: os.kill(os.getppid(), 0),
        "run data": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
        "trace": lambda: checked(libc.ptrace(0, 0, 0, 0)),
        "duplicate": lambda: os.dup(0),
    }


OPENING = ("read a file", "write a file", "list a folder", "open a socket", "duplicate")


def rights_left(names: tuple[str, ...] = (), memory_mb: int = 64) -> list[str]:
    """Return which of these a process can still do after it has given up its rights."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        attempts = forbidden()
        process_limits.drop_rights(memory_mb)
        left = []
        for name in names or attempts:
            try:
                attempts[name]()
            except OSError as error:
                if error.errno not in {errno.EPERM, errno.EACCES, errno.EMFILE, errno.EAGAIN, errno.EINVAL}:
                    left.append(f"{name}: {error}")
            else:
                left.append(name)
        try:
            bytearray(2 * memory_mb << 20)
            left.append("memory")
        except MemoryError:
            pass
        os.write(writer, msgspec.msgpack.encode(left))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(process, 0)
    rights: list[str] = msgspec.msgpack.decode(answer)
    return rights


def test_a_process_without_rights_can_only_compute() -> None:
    if not Path("/proc/sys/kernel/seccomp").exists():
        pytest.skip("needs a kernel with seccomp")
    assert rights_left() == []


@pytest.mark.parametrize("missing", [("install_filter",), ("install_filter", "restrict_files")])
def test_without_seccomp_or_landlock_a_process_opens_nothing(
    missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in missing:
        monkeypatch.setattr(process_limits, name, lambda: False)
    assert rights_left(OPENING) == []


def test_a_worker_without_seccomp_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_limits, "install_filter", lambda: False)
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.write(writer, " ".join(process_limits.drop_rights(64)).encode())
        os._exit(0)
    os.waitpid(process, 0)
    assert "seccomp" not in os.read(reader, 100).decode().split()
    os.close(reader)
    os.close(writer)


def channel_with(reply: bytes) -> worker_channel.WorkerChannel:
    """Return a channel to a worker that is ready, has a document, and has sent these bytes."""
    ours, theirs = socket.socketpair()
    channel = worker_channel.WorkerChannel(1, ours)
    channel.mechanisms = ()
    channel.ticket = worker_channel.Ticket(1, ParseJob(make_result(b"x"), SETTINGS))
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    theirs.sendall(reply)
    theirs.close()
    return channel


URL = "http://h.example/d/x.html"
FORGED = {
    "not MessagePack": b"\xc1",
    "another type": msgspec.msgpack.encode(["page", ""]),
    "more fields": msgspec.msgpack.encode([None, "", False, 1]),
    "another URL": msgspec.msgpack.encode(ParseReply(Page("http://other.example/"))),
    "a kind of its own": msgspec.msgpack.encode(ParseReply(Page(URL, kind="x"))),
    "too much text": msgspec.msgpack.encode(ParseReply(Page(URL, text="x" * 500_001))),
    "too many links": msgspec.msgpack.encode(
        ParseReply(Page(URL, links=(Link("http://a.test/"),) * (SETTINGS.all_links + 1)))
    ),
    "too many pages": msgspec.msgpack.encode(
        ParseReply(Page(URL, kind=LIST_KIND, feeds=("x",) * (max(SETTINGS.all_links, 50_000) + 1)))
    ),
    "main content beyond the text": msgspec.msgpack.encode(ParseReply(Page(URL, text="abc", main=(0, 4)))),
    "main content before the text": msgspec.msgpack.encode(ParseReply(Page(URL, text="abc", main=(-1, 2)))),
    "half a range": msgspec.msgpack.encode(ParseReply(Page(URL, text="abc", main=(1,)))),
    "no number": msgspec.msgpack.encode(ParseReply(Page(URL, changed=(float("nan"),)))),
    "flags": msgspec.msgpack.encode(ParseReply(Page(URL, flags=1 << 40))),
    "a long title": msgspec.msgpack.encode(ParseReply(Page(URL, title="x" * 100_001))),
    "nesting": b"\x91" * 100_000,
    "half a character": b"\x93\xc0\xa1\xff\xc2",
}


@pytest.mark.parametrize("name", FORGED)
def test_what_a_process_that_was_taken_over_sends_is_refused(name: str) -> None:
    message = FORGED[name]
    with pytest.raises(BadInput):
        channel_with(FRAME.pack(len(message)) + message).receive()


def test_replies_are_bounded_and_complete() -> None:
    with pytest.raises(BadInput):
        channel_with(FRAME.pack(1 << 31)).receive()
    message = msgspec.msgpack.encode(ParseReply(Page(URL, text="abc", main=(0, 1, 2, 3)), "x" * 1_000))
    reply = channel_with(FRAME.pack(len(message)) + message).receive()
    assert reply is not None
    assert reply.page is not None
    assert len(reply.fault) == 200
    assert channel_with(FRAME.pack(len(message)) + message[:-1]).receive() is None
    with pytest.raises(BadInput):
        channel_with((FRAME.pack(len(message)) + message) * 2).receive()
    check_page(Page(URL, text="abc", main=(0, 3)), URL, SETTINGS)
