"""Content encodings are undone within bounds, and it is known which of them readers of archives undo as well."""

import gzip
import random
import zlib

import pytest

from periplus.fetch.content_decoding import decode_body

TEXT = b"the lighthouse keeper " * 50
RAW = zlib.compressobj(wbits=-15)
RAW_DEFLATE = RAW.compress(TEXT) + RAW.flush()


@pytest.mark.parametrize(
    ("raw", "encoding", "ordinary"),
    [
        (gzip.compress(TEXT, mtime=0), "gzip", True),
        (gzip.compress(TEXT, mtime=0), "x-gzip", False),
        (gzip.compress(TEXT, mtime=0) + bytes(7), "gzip", False),
        (gzip.compress(TEXT[:100], mtime=0) + gzip.compress(TEXT[100:], mtime=0), "gzip", False),
        (zlib.compress(TEXT), "gzip", False),
        (zlib.compress(TEXT), "deflate", True),
        (RAW_DEFLATE, "deflate", False),
    ],
)
def test_what_is_decoded_and_what_is_ordinary(raw: bytes, encoding: str, ordinary: bool) -> None:
    decoded = decode_body(raw, [encoding], 10_000)
    assert (decoded.body, decoded.error, decoded.ordinary) == (TEXT, "", ordinary)
    assert decode_body(raw, [encoding], 100).too_large
    assert len(decode_body(raw, [encoding], 100).body) == 100
    assert decode_body(raw[: len(raw) // 2], [encoding], 10_000).error


def test_a_body_of_many_empty_members_is_decoded_in_linear_time() -> None:
    """One that gives back the rest of the body for each member would take a minute."""
    members = gzip.compress(b"", mtime=0) * 200_000
    assert decode_body(members, ["gzip"], 10_000) == (b"", False, "", False)
    assert decode_body(gzip.compress(members, mtime=0), ["gzip", "gzip"], 10_000_000).body == b""


def test_long_and_several_members_are_decoded_whole() -> None:
    long = bytes(range(256)) * 4_000 + random.Random(1).randbytes(200_000)
    first, second = gzip.compress(long, mtime=0), gzip.compress(long[::-1], mtime=0)
    assert decode_body(first, ["gzip"], 10_000_000) == (long, False, "", True)
    assert decode_body(first + second, ["gzip"], 10_000_000) == (long + long[::-1], False, "", False)
    assert decode_body(first + second, ["gzip"], len(long) + 5) == (
        (long + long[::-1])[: len(long) + 5],
        True,
        "",
        False,
    )
