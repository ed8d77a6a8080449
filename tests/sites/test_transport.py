"""The transport within one process: answers, refusals, links that are cut, and batches that come again."""

import pytest

from periplus.errors import BadInput, SiteUnreachable
from periplus.sites import LocalNetwork


def test_a_site_answers_another_and_names_the_sender() -> None:
    network = LocalNetwork()
    a, b = network.join("a"), network.join("b")
    b.serve("echo", lambda sender, body: sender.encode() + b":" + body)
    assert a.request("b", "echo", b"x", 5.0) == b"a:x"
    assert a.submit("b", "echo", b"y", 5.0).result(5) == b"a:y"
    assert a.traffic()["b"].sent_bytes == 2
    assert b.traffic()["a"].received_bytes == 2


def test_what_another_site_refuses_is_one_error_with_its_name() -> None:
    network = LocalNetwork()
    a, b = network.join("a"), network.join("b")

    def refuse(sender: str, body: bytes) -> bytes:
        raise BadInput("No.")

    b.serve("no", refuse)
    for subject in ("no", "nothing-of-this-name"):
        with pytest.raises(SiteUnreachable, match="Site b"):
            a.request("b", subject, b"", 5.0)
    with pytest.raises(SiteUnreachable, match="Site c"):
        a.request("c", "echo", b"", 5.0)


def test_a_cut_link_fails_and_a_mended_one_works_again() -> None:
    network = LocalNetwork()
    a, b = network.join("a"), network.join("b")
    b.serve("echo", lambda sender, body: body)
    network.cut("a", "b")
    with pytest.raises(SiteUnreachable):
        a.request("b", "echo", b"", 5.0)
    with pytest.raises(SiteUnreachable):
        a.publish("b", "urls", b"1", 5.0)
    network.mend("b", "a")
    assert a.request("b", "echo", b"z", 5.0) == b"z"


def test_a_batch_is_kept_until_the_consumer_returns() -> None:
    network = LocalNetwork()
    a, b = network.join("a"), network.join("b")
    received: list[bytes] = []

    def fail_once(sender: str, subject: str, body: bytes) -> None:
        received.append(body)
        if len(received) == 1:
            raise OSError("the disk is full")

    b.consume(fail_once)
    a.publish("b", "urls", b"1", 5.0)
    with pytest.raises(OSError, match="full"):
        b.deliver_all()
    assert b.deliver_all() == 1
    assert received == [b"1", b"1"]
