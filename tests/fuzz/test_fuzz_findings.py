"""Inputs that the fuzzer found to be faults."""

import msgspec
import pytest

from periplus.search import RetrievedCandidates, decode_record


def test_a_record_with_a_string_that_is_not_utf8_is_no_record() -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_record(b"\x81\xa1\xba\x01", RetrievedCandidates)
