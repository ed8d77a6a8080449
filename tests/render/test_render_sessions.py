"""The state machine of a page in Chromium, and the pipe that it talks through."""

import os
from typing import Any

import pytest

from periplus.errors import BadInput, SettingsError
from periplus.render import find_chromium
from periplus.render.devtools_pipe import DevToolsPipe
from periplus.render.page_session import PageSession, SessionState


class Commands:
    """Records the commands of a page."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any], str]] = []

    def __call__(self, method: str, parameters: dict[str, Any], session: str) -> int:
        self.sent.append((method, parameters, session))
        return len(self.sent)

    def names(self) -> list[str]:
        return [method for method, _, _ in self.sent]


def open_page(most: int = 2) -> tuple[PageSession, Commands]:
    """Return a page that is loading; its document was answered."""
    commands = Commands()
    session = PageSession(1, "http://a.test/", "text/html", b"<p>sent", commands, 0.0, 10.0, most)
    for result in ({"browserContextId": "c"}, {"targetId": "t"}, {"sessionId": "s"}):
        session.reply({"id": len(commands.sent), "result": result})
    assert session.event("Fetch.requestPaused", paused("1", "http://a.test/", "Document"), 0.1) is None
    return session, commands


def paused(number: str, url: str, kind: str, method: str = "GET") -> dict[str, Any]:
    return {"requestId": number, "resourceType": kind, "request": {"url": url, "method": method}}


def test_a_page_goes_from_an_empty_tab_to_its_html() -> None:
    session, commands = open_page()
    assert session.state is SessionState.LOADING
    assert commands.names()[:3] == ["Target.createBrowserContext", "Target.createTarget", "Target.attachToTarget"]
    assert session.event("Fetch.requestPaused", paused("2", "http://a.test/a.js", "Script"), 0.2) == (
        "2",
        "http://a.test/a.js",
    )
    session.event("Page.loadEventFired", {}, 0.3)
    session.check(5.0)
    assert session.state is SessionState.LOADING  # The script is missing.
    session.fulfil("2", 200, (), b"", 5.0)
    session.check(5.1)
    assert session.state is SessionState.LOADING  # It has just arrived.
    session.check(5.6)
    assert session.state is SessionState.READING
    session.reply({"id": len(commands.sent), "result": {"root": {"nodeId": 7}}})
    session.reply({"id": len(commands.sent), "result": {"outerHTML": "<p>shown"}})
    assert (session.state, session.rendered, session.fault) == (SessionState.DONE, b"<p>shown", "")


def test_what_is_not_a_script_or_data_and_what_is_too_much_is_refused() -> None:
    session, commands = open_page(most=1)
    for number, (url, kind, method) in enumerate(
        (
            ("http://a.test/x.png", "Image", "GET"),
            ("http://a.test/x", "XHR", "POST"),
            ("http://a.test/other", "Document", "GET"),
            ("ftp://a.test/x", "Fetch", "GET"),
        )
    ):
        assert session.event("Fetch.requestPaused", paused(f"r{number}", url, kind, method), 0.2) is None
        assert commands.sent[-1][0] == "Fetch.failRequest"
    assert session.event("Fetch.requestPaused", paused("a", "http://a.test/a", "Fetch"), 0.2) is not None
    assert session.event("Fetch.requestPaused", paused("b", "http://a.test/b", "Fetch"), 0.2) is None


def test_a_page_is_read_when_its_time_is_over_and_given_up_when_it_cannot_be() -> None:
    session, commands = open_page()
    session.check(10.0)
    assert session.state is SessionState.READING
    session.check(15.0)
    assert (session.state, session.fault) == (SessionState.DONE, "its scripts take too long")
    session.close()
    assert commands.names()[-2:] == ["Target.closeTarget", "Target.disposeBrowserContext"]


@pytest.mark.parametrize("event", ["Inspector.targetCrashed", "Inspector.detached"])
def test_a_page_that_crashes_has_a_fault(event: str) -> None:
    session, _ = open_page()
    session.event(event, {}, 0.2)
    assert (session.state, session.fault) == (SessionState.DONE, "it crashed")


def test_a_refused_command_is_a_fault_unless_nothing_depends_on_it() -> None:
    session, commands = open_page()
    session.reply({"id": 4, "error": {}})  # Fetch.enable
    assert session.state is SessionState.LOADING
    other = PageSession(2, "http://a.test/", "", b"<p>", commands, 0.0, 10.0, 1)
    other.reply({"id": len(commands.sent), "error": {}})
    assert other.fault == "Chromium refused a command"


def test_messages_arrive_in_pieces_and_their_end_is_an_error() -> None:
    read, write = os.pipe()
    other_read, other_write = os.pipe()
    os.set_blocking(read, False)
    pipe = DevToolsPipe(read, other_write)
    os.write(write, b'{"id": 1}\0{"id"')
    assert pipe.receive() == [{"id": 1}]
    os.write(write, b": 2}\0")
    assert pipe.receive() == [{"id": 2}]
    pipe.send({"id": 3})
    assert os.read(other_read, 100) == b'{"id":3}\0'
    os.write(write, b"[]\0")
    with pytest.raises(BadInput, match="not a message"):
        pipe.receive()
    os.close(write)
    with pytest.raises(BadInput, match="has ended"):
        DevToolsPipe(read, other_write).receive()
    os.close(other_read)
    with pytest.raises(BadInput, match="has ended"):
        pipe.send({"id": 4})
    os.close(read)
    os.close(other_write)


def test_a_message_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.render.devtools_pipe._MAX_MESSAGE", 1_000)
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.write(write, b"x" * 2_000)
    with pytest.raises(BadInput, match="too long"):
        DevToolsPipe(read, write).receive()
    os.close(read)
    os.close(write)


def test_chromium_that_is_not_installed_is_named() -> None:
    with pytest.raises(SettingsError, match="/nowhere/chromium is not installed"):
        find_chromium("/nowhere/chromium")
