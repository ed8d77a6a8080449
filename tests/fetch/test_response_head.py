"""The head of a response: read at its end as it would be line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.fetch.bandwidth import TokenBucket
from periplus.fetch.header_lines import parse_header, parse_status
from periplus.fetch.response_head import ABORT, ResponseHead

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"HTTP/1.1 200 OK\r\n",
                b"HTTP/1.1 103 Hints\r\n",
                b"HTTP/2 404 \r\n",
                b"HTTP/1.1 odd\r\n",
                b"\r\n",
                b" \r\n",
            ]
        ),
        st.sampled_from(
            [b"Content-Type: text/html\r\n", b"content-type: b\r\n", b"no colon\r\n", b": x\r\n", b"A:\r\n"]
        ),
        st.binary(max_size=20).map(lambda line: line + b"\r\n"),
        st.integers(0, 70_000).map(lambda size: b"Long: " + b"x" * size + b"\r\n"),
    ),
    max_size=30,
)


def read_line_by_line(lines: list[bytes], most: int = 200) -> tuple[int, list[tuple[str, str]], int, bool, bool]:
    """Return status, headers, lines that were accepted, whether the head is complete, and whether it is too long."""
    status, headers, size, complete = 0, list[tuple[str, str]](), 0, False
    for number, line in enumerate(lines):
        size += len(line)
        if size > 65_536 or len(headers) >= most:
            return status, headers, number, complete, True
        if complete:
            continue
        if line.startswith(b"HTTP/"):
            headers.clear()
            status = parse_status(line)
        elif line.strip():
            if (header := parse_header(line)) is not None:
                headers.append(header)
        elif status >= 200:
            complete = True
    return status, headers, len(lines), complete, False


def read_at_the_end(lines: list[bytes]) -> tuple[ResponseHead, int]:
    """Return a head, and how many lines it accepted."""
    head = ResponseHead(lambda: None, lambda: ABORT)
    for number, line in enumerate(lines):
        if head.add(line) == ABORT:
            head.read()
            return head, number
    head.read()
    return head, len(lines)


@given(LINES)
def test_a_head_is_what_its_lines_are_one_by_one(lines):
    head, accepted = read_at_the_end(lines)
    status, headers, expected, complete, too_long = read_line_by_line(lines)
    assert (head.status, head.headers, accepted) == (status, headers, expected)
    assert (head.is_complete, head.is_too_long) == (complete, too_long)
    assert head.values == dict(reversed(headers))


@pytest.mark.parametrize("count", [199, 200, 201, 1_000])
def test_two_hundred_headers_are_too_many(count):
    head, _ = read_at_the_end([b"HTTP/1.1 200 OK\r\n", *[b"A: b\r\n"] * count, b"\r\n"])
    assert (head.is_too_long, head.is_complete) == (count >= 200, count < 200)
    assert len(head.headers) <= 200


def test_trailers_count_and_are_not_kept():
    head, accepted = read_at_the_end([b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n", *[b"T: " + b"x" * 997] * 100])
    assert (head.headers, head.is_complete, head.is_too_long) == ([("a", "b")], True, True)
    assert accepted < 70


def test_replies_of_an_ftp_server_count_and_are_not_read():
    head = ResponseHead(lambda: ABORT, lambda: ABORT)
    head.clear(is_web=False)
    assert [head.add(line) for line in (b"HTTP/1.1 200 OK\r\n", b"220 A: b\r\n", b"\r\n")] == [None] * 3
    head.read()
    assert (head.status, head.headers, head.is_complete, head.size) == (0, [], False, 29)
    assert head.add(b"x" * 65_536) == ABORT


def test_each_line_is_deducted_from_the_bandwidth():
    bucket = TokenBucket(1e6)
    head = ResponseHead(lambda: None, lambda: ABORT, bucket)
    head.add(b"HTTP/1.1 200 OK\r\n")
    head.add(b"\r\n")
    assert bucket.received == 19


def test_ctrl_c_at_the_end_of_a_head_is_passed_on():
    def completed() -> None:
        raise KeyboardInterrupt

    passed = []
    head = ResponseHead(completed, lambda: passed.append(1) or ABORT)
    assert [head.add(line) for line in (b"HTTP/1.1 200 OK\r\n", b"\r\n")] == [None, ABORT]
    assert passed == [1]
