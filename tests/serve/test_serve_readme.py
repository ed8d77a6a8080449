"""The curl commands of README.md and docs/api.md, run by curl against a real server of a real index."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from index.made_pages import visit
from periplus.app import open_server
from periplus.files import open_data_folder
from periplus.index import build_index
from periplus.publish import background_publisher
from periplus.serve import background_server
from periplus.settings import ServeSettings, Settings

if shutil.which("curl") is None:
    pytest.skip("curl is not installed", allow_module_level=True)


def commands(text: str) -> list[str]:
    """Give the curl commands of a document, lines that end in a backslash joined."""
    joined = text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.startswith("    curl ")]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    folder = open_data_folder(tmp_path_factory.mktemp("readme"), create=True)
    pages = [visit("https://a.test/", "Lighthouse keeping", "The lighthouse keeper of the salt harbour.")]
    build_index(pages, folder / "index", Settings().index)
    opened = open_server(folder, Settings())
    key = opened.keys.add("me", "publish")
    with (
        background_publisher(folder, Settings()),
        background_server(opened.searcher, ServeSettings(port=0), opened.actions, opened.keys) as url,
    ):
        yield url.rstrip("/"), key


def test_the_examples_work(running: tuple[str, str], project: Path) -> None:
    url, key = running
    found = commands((project / "README.md").read_text()) + commands((project / "docs" / "api.md").read_text())
    assert len(found) >= 6
    for command in found:
        there = command.replace("http://127.0.0.1:8080", url)
        assert there != command, "every example asks the server of the documents"
        done = subprocess.run(
            ["sh", "-c", there.replace("curl ", "curl -sS --fail-with-body ", 1)],
            env={"KEY": key, "PATH": "/usr/local/bin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        answer = json.loads(done.stdout)
        if "/search" in command:
            assert answer["results"][0]["url"] == "https://a.test/"
        elif "/suggest" in command:
            assert answer[1] == ["Lighthouse keeping"]
        else:
            assert re.fullmatch(r"[0-9a-f]{64}", answer["id"])
