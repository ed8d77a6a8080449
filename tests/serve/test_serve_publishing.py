"""Publishing over HTTP: the form for people, with and without a key, and what is served of what was published."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_searcher import FakeSearcher
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from periplus.app.serving.server_actions import server_actions
from periplus.errors import BadInput
from periplus.serve import ApiKeys, make_app
from periplus.serve.publishing.multipart_forms import parse_multipart
from periplus.settings import ServeSettings, Settings

HTML = {"accept": "text/html"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    searcher = FakeSearcher()
    keys = ApiKeys(None)
    app = make_app(
        searcher, ServeSettings(threads=1, upload_mb=1), server_actions(tmp_path, searcher, Settings()), keys
    )

    async def call(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    with TestClient(call, base_url="http://127.0.0.1", follow_redirects=False) as opened:
        opened.keys = keys  # type: ignore[attr-defined]
        yield opened


def token(text: str) -> str:
    match = re.search(r'name="token" value="([^"]+)"', text)
    assert match is not None
    return match[1]


def sign_in(client: Any, name: str = "ada") -> str:
    """Sign in with a key of its own; return the token of the form."""
    secret = client.keys.add(name, "publish")
    client.cookies.clear()
    page = client.get("/publish")
    assert 'type="password"' in page.text
    answer = client.post("/publish/login", data={"token": token(page.text), "key": secret})
    assert answer.status_code == 303
    return token(client.get("/publish").text)


def send(client: Any, sent: dict[str, str], file: bytes | None = None, name: str = "a.txt") -> Any:
    files = {"file": (name, file if file is not None else b"")}
    return client.post("/publish", data={"kind": "text", **sent}, files=files)


def test_the_form_publishes_once_and_shows_what_it_published(client: TestClient) -> None:
    assert "/publish" not in client.get("/about", headers=HTML).text, "nobody may publish yet"
    form = {"token": sign_in(client), "text": "High water <b>at noon</b>.", "title": "Tides <i>", "date": "2026-05-31"}
    assert "/publish" in client.get("/about", headers=HTML).text
    form |= {"author": "Pytheas", "tags": "sea, moon ,sea", "description": "When to sail"}
    answers = [send(client, form) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["location"] == answers[1].headers["location"]
    place = answers[0].headers["location"]
    content = client.get(place, headers={"accept": "*/*"})
    assert place == "/c/" + hashlib.sha256(content.content).hexdigest()
    assert content.headers["content-type"].startswith("text/plain")
    page = client.get(place, headers=HTML).text
    assert all(text in page for text in ("Tides &lt;i&gt;", "Pytheas", "31 May 2026", "sea, moon", "When to sail"))
    assert "<b>at noon" not in page
    metadata = client.get(place + ".json").json()
    assert (metadata["title"], metadata["tags"]) == ("Tides <i>", ["sea", "moon"])
    assert "publisher" not in metadata


def test_mistakes_are_shown_beside_what_was_typed(client: TestClient) -> None:
    form = {"token": sign_in(client), "title": "Tides", "text": "High water."}
    wrong = send(client, {**form, "date": "soon"})
    assert (wrong.status_code, "is not a date" in wrong.text, "High water." in wrong.text) == (400, True, True)
    assert send(client, {**form, "text": " "}).status_code == 400
    assert send(client, {**form, "kind": "file"}).status_code == 400
    assert send(client, {**form, "kind": "file"}, b"\x7fELF" + bytes(99)).status_code == 400
    assert send(client, {**form, "kind": "file"}, b"x" * (1 << 20 | 1)).status_code == 400
    assert send(client, {**form, "kind": "file"}, b"x" * (3 << 20)).status_code == 413
    assert send(client, {**form, "token": "x"}).status_code == 403
    preview = send(client, {**form, "step": "preview", "title": "<script>"})
    assert (preview.status_code, "&lt;script&gt;" in preview.text) == (200, True)


def test_another_publisher_cannot_change_it(client: TestClient) -> None:
    form = {"text": "High water.", "title": "Tides"}
    place = send(client, {**form, "token": sign_in(client)}).headers["location"]
    refused = send(client, {**form, "title": "Mine", "token": sign_in(client, "eve")})
    assert (refused.status_code, "somebody else" in refused.text) == (400, True)
    assert client.get(place + ".json").json()["title"] == "Tides"


def test_files_of_strangers_do_not_run_here(client: TestClient) -> None:
    form = {"token": sign_in(client), "kind": "file", "title": "Page"}
    place = send(client, form, b"<html><script>alert(1)</script><p>Salt</p></html>", "x.html").headers["location"]
    raw = client.get(place + "?raw", headers=HTML)
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.headers["content-disposition"] == "attachment"
    assert "sandbox" in raw.headers["content-security-policy"]
    assert client.get("/c/" + "0" * 64).status_code == 404
    assert client.get("/c/..%2f..%2fetc").status_code == 404


def test_without_a_session_nothing_is_published(client: TestClient) -> None:
    assert send(client, {"title": "x", "text": "y", "token": "z"}).status_code == 403
    page = client.get("/publish")
    assert client.post("/publish/login", data={"token": token(page.text), "key": "pk_wrong"}).status_code == 403


@given(st.binary(max_size=300))
def test_any_bytes_are_a_form_or_refused(body: bytes) -> None:
    try:
        parse_multipart(
            "multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + body
        )
    except (BadInput, HTTPException):
        pass
