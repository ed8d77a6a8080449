"""Files are for their owner only, and secrets are neither in files nor in logs nor in process lists."""

import asyncio
import contextlib
import logging
import os
import stat
import sys
from pathlib import Path

import pytest
import typer

import periplus
from periplus.app import examine_installation
from periplus.cli.entry import app as commands
from periplus.cli.entry import main
from periplus.files import open_data_folder
from periplus.serve import Actions, ApiKeys, make_app
from periplus.settings import ServeSettings, Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))

from asgi_caller import call
from fake_searcher import FakeSearcher


@pytest.fixture
def _open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(folder):
    """Return what other users could read or write, below a folder and the folder itself."""
    paths = [folder, *folder.rglob("*")]
    return [str(path) for path in paths if stat.S_IMODE(path.lstat().st_mode) & 0o077]


@pytest.mark.usefixtures("_open_umask")
def test_a_data_folder_is_closed_to_others_whatever_the_umask(tmp_path):
    folder = open_data_folder(tmp_path / "a" / "data", create=True)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    periplus.open(folder).publish("A page", "Words.", url="https://a.test/")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.usefixtures("_open_umask")
def test_everything_that_a_command_writes_is_private(tmp_path, capsys):
    folder = tmp_path / "data"
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.test/", "title": "A page", "text": "Words and light."}\n')
    folder.mkdir(mode=0o755)  # made by somebody else: its files are private nevertheless
    for arguments in (("import", str(tmp_path / "pages.jsonl")), ("index", "build"), ("keys", "add", "me", "admin")):
        capsys.readouterr()
        os.umask(0)  # a command keeps to its own
        assert main([*arguments, "--folder", str(folder)]) == 0
    assert readable_by_others(folder) == [str(folder)]
    secret = capsys.readouterr().out.strip()
    assert len(secret) > 16
    assert not [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def test_the_doctor_complains_about_keys_that_others_can_read(tmp_path):
    periplus.open(tmp_path).publish("A page", "Words.", url="https://a.test/")
    ApiKeys(tmp_path).add("me", "admin")
    data = [row for row in examine_installation(Settings(folder=str(tmp_path))) if row.name == "Data"]
    assert data[0].state == "ok"
    (tmp_path / "keys.json").chmod(0o644)
    data = [row for row in examine_installation(Settings(folder=str(tmp_path))) if row.name == "Data"]
    assert data[0].state == "bad"
    assert "chmod 600" in data[0].detail


def test_secrets_and_queries_are_not_in_the_logs(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("periplus.serve.middleware.access_log._FLUSH_SECONDS", -1.0)
    caplog.set_level(logging.DEBUG)
    keys = ApiKeys(None)
    secret = keys.add("me", "admin")
    log = tmp_path / "access.log"

    def fail(*_):
        raise RuntimeError("this is unexpected")

    settings = ServeSettings(threads=1, access_log=str(log))
    app = make_app(FakeSearcher(), settings, Actions(publish=fail), keys)
    page = b'{"title": "Tides", "content": "High water."}'
    for headers in ({"x-api-key": secret}, {"authorization": f"Bearer {secret}"}, {"cookie": f"key={secret}"}):
        for target in ("/api/publish", f"/api/publish?key={secret}&token={secret}"):
            with_type = {**headers, "content-type": "application/json"}
            with contextlib.suppress(RuntimeError):  # the server around the application logs it, and answers
                asyncio.run(call(app, target, "POST", with_type, page))
        asyncio.run(call(app, f"/search?q=tides&key={secret}", "GET", headers))
    written = log.read_text()
    assert "/api/publish" in written
    assert secret not in caplog.text
    assert secret not in written
    assert "tides" not in written


def all_commands(group):
    for command in getattr(group, "commands", {}).values():
        yield command
        yield from all_commands(command)


def test_no_command_takes_a_secret_as_an_argument():
    """Arguments are in the process list, which everyone can read."""
    names = {
        option
        for command in all_commands(typer.main.get_command(commands))
        for parameter in command.params
        for option in (parameter.name, *parameter.opts)
    }
    assert len(names) > 50
    words = {word for name in names for word in name.strip("-").replace("-", "_").lower().split("_")}
    assert not words & {"secret", "password", "passwd", "token", "key", "credential", "credentials"}
