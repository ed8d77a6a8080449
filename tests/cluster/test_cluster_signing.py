"""Signatures: what is changed, old, repeated, of another purpose, key or version is refused."""

import os
import stat
import time
from pathlib import Path

import pytest

from periplus import __version__
from periplus.cluster import (
    ClusterKey,
    ReplayGuard,
    load_key,
    make_key,
    new_nonce,
    read_header,
    sign_header,
)
from periplus.cluster.wire import signing
from periplus.errors import BadFile, Unauthenticated, WrongVersion

KEY = ClusterKey(bytes(range(32)))
OTHER = ClusterKey(bytes(32))


def test_a_key_file_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cluster.key"
    key = make_key(path)
    assert len(key.secret) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert make_key(path) == load_key(path) == key
    assert [file.name for file in path.parent.iterdir()] == ["cluster.key"]
    assert key.secret.hex() not in repr(key)


def test_a_key_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cluster.key"
    with pytest.raises(BadFile, match="no key"):
        load_key(path)
    make_key(path)
    os.chmod(path, 0o640)
    with pytest.raises(BadFile, match="chmod 600"):
        load_key(path)
    for text in (b"", b"ab" * 31, b"ab" * 33, b"xx" * 32, b"\xff" * 64):
        path.write_bytes(text)
        os.chmod(path, 0o600)
        with pytest.raises(BadFile, match="hexadecimal"):
            load_key(path)


def test_a_header_is_accepted_once() -> None:
    guard = ReplayGuard()
    value = sign_header(KEY, "mailbox 3 POST /x", b"body")
    assert read_header(KEY, "mailbox 3 POST /x", value, b"body", guard).version == __version__
    with pytest.raises(Unauthenticated, match="before"):
        read_header(KEY, "mailbox 3 POST /x", value, b"body", guard)


@pytest.mark.parametrize(
    ("key", "purpose", "body", "context"),
    [
        (OTHER, "purpose", b"body", b""),
        (KEY, "other purpose", b"body", b""),
        (KEY, "purpose", b"bodY", b""),
        (KEY, "purpose", b"body", b"x"),
        (KEY, "purposeb", b"ody", b""),
    ],
)
def test_what_is_signed_otherwise_is_refused(key: ClusterKey, purpose: str, body: bytes, context: bytes) -> None:
    value = sign_header(KEY, "purpose", b"body")
    with pytest.raises(Unauthenticated, match="not signed"):
        read_header(key, purpose, value, body, ReplayGuard(), context=context)


@pytest.mark.parametrize("value", [None, "", "1", "1 2 3 4 5", "x" * 10_000, f"-1 é {1 << 70} zz zz", "1 a 5  ", "  "])
def test_a_header_that_is_none_is_refused(value: str | None) -> None:
    with pytest.raises(Unauthenticated):
        read_header(KEY, "purpose", value, b"", ReplayGuard())


def test_another_version_is_refused_and_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(signing, "__version__", "9.8.7")
        header = sign_header(KEY, "p", b"")
    with pytest.raises(WrongVersion) as refusal:
        read_header(KEY, "p", header, b"", ReplayGuard())
    assert "9.8.7" in str(refusal.value)
    assert __version__ in str(refusal.value)


def signature_at(time_ns: int) -> signing.Signature:
    return signing.Signature(signing.PROTOCOL, __version__, time_ns, new_nonce())


def test_old_messages_and_those_of_the_future_are_refused() -> None:
    start = time.time_ns()
    guard = ReplayGuard(window=10.0, now_ns=start)
    now = start + 20 * 10**9
    guard.check(signature_at(now - 9 * 10**9), now)
    for stamp in (now - 11 * 10**9, now + 11 * 10**9):
        with pytest.raises(Unauthenticated, match="clock"):
            guard.check(signature_at(stamp), now)
    with pytest.raises(Unauthenticated, match="began to listen"):
        guard.check(signature_at(start - 1), start)


def test_the_guard_is_bounded_and_refuses_what_it_forgot() -> None:
    guard = ReplayGuard(window=60.0, max_messages=100, now_ns=0)
    signatures = [signature_at(number + 1) for number in range(300)]
    for signature in signatures:
        guard.check(signature, 1000)
    assert len(guard._nonces) == len(guard._order) == 100
    for signature in signatures:
        with pytest.raises(Unauthenticated):
            guard.check(signature, 1000)
    guard.check(signature_at(200 * 10**9), 200 * 10**9)
    assert len(guard._nonces) == 1, "those outside the window are not remembered"
