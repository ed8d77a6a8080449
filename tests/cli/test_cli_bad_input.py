"""Whatever a person gets wrong, or the machine: one clear line, an exit code, and a folder that still works."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from periplus import cli
from periplus.cli import main
from periplus.errors import DiskFailed
from periplus.fakeweb import FakeWeb, FakeWebPlan, run_in_thread

PLAN = FakeWebPlan(seed=3, hosts=4, pages=40)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fails(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 1) -> str:
    """Run a command that must fail; give its one line."""
    assert main(arguments) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("periplus: ")
    return lines[0]


def periplus(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "periplus.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)  # type: ignore[call-overload,no-any-return]


def documents(path: Path, count: int = 20) -> Path:
    lines = [
        {"id": n, "url": f"http://a.example/{n}", "title": f"Page {n}", "text": f"harbour lights number {n} " * 50}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_an_unknown_setting(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "Did you mean 'fetch.timeout'?" in fails(capsys, "search", "x", "--set", "fetch.timout=3")
    (tmp_path / "periplus.toml").write_text("[crawl]\npagess = 3\n")
    assert "Unknown setting 'crawl.pagess' in periplus.toml" in fails(capsys, "crawl", "http://a.example/")
    assert os.listdir(tmp_path) == ["periplus.toml"]


def test_a_variable_that_is_misspelt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERIPLUS_CRAWL_PAGESS", "3")
    assert "crawl.pages" in fails(capsys, "search", "x")


@pytest.mark.parametrize("seed", ["not a url", "irc://a.example/", "http://", "javascript:alert(1)", "http://a b/"])
def test_a_seed_that_is_no_url(capsys: pytest.CaptureFixture[str], tmp_path: Path, seed: str) -> None:
    fails(capsys, "crawl", "--", seed)
    assert os.listdir(tmp_path) == []


def test_no_seed_and_nothing_to_go_on_with(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "Give at least one URL" in fails(capsys, "crawl")
    assert os.listdir(tmp_path) == []


def test_a_start_that_fails_leaves_nothing_behind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fails(capsys, "crawl", "http://a.example/", "--allow", "nonsense")
    fails(capsys, "crawl", "http://a.example/", "--hosts-file", "none")
    (tmp_path / "bad.jsonl").write_text("not json\n")
    fails(capsys, "import", "bad.jsonl")
    fails(capsys, "demo", "--hosts", "0")
    fails(capsys, "index", "repair")
    assert os.listdir(tmp_path) == ["bad.jsonl"]
    (tmp_path / "mine").mkdir()
    fails(capsys, "crawl", "--folder", "mine")
    assert (tmp_path / "mine").exists(), "a folder that was there stays"


@pytest.mark.parametrize("command", [["rank", "learn"], ["rank", "pagerank"], ["index", "embed"]], ids=" ".join)
def test_ranking_without_anything_to_rank_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    assert main([*command, "--folder", "new"]) == 1
    assert "periplus: " in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_folder_of_a_newer_format(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "periplus.json").write_text('{"format": 99}')
    for command in (["crawl", "http://a.example/"], ["search", "x"], ["index", "build"], ["serve"]):
        assert "Upgrade Periplus" in fails(capsys, *command, "--folder", "data")
    assert os.listdir(tmp_path / "data") == ["periplus.json"]


def test_no_index_yet(capsys: pytest.CaptureFixture[str]) -> None:
    assert "periplus crawl" in fails(capsys, "search", "x")
    assert "periplus crawl" in fails(capsys, "index", "build")
    assert "There is no index" in fails(capsys, "index", "stats")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fly"], "No such command 'fly'. See"),
        (["serch"], "'search', 'serve'? See"),
        (["crawl", "--pages", "many"], "--pages"),
        (["search"], "Missing argument"),
        (["search", "--wat"], "--wat"),
    ],
)
def test_what_is_not_understood(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    line = fails(capsys, *arguments, code=2)
    assert says in line
    assert "--help`" in line


def test_a_file_where_the_folder_should_be(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    documents(tmp_path / "docs.jsonl")
    (tmp_path / "afile").write_text("x")
    for folder in ("afile", "afile/below"):
        for command in (["import", "docs.jsonl"], ["crawl", "http://a.example/"], ["search", "x"], ["index", "build"]):
            assert "afile is a file, not a folder." in fails(capsys, *command, "--folder", folder), command


def test_a_file_that_cannot_be_imported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "There is no file nofile." in fails(capsys, "import", "nofile")
    assert "is a folder" in fails(capsys, "import", str(tmp_path))
    (tmp_path / "a.txt").write_text("x")
    assert "neither WARC nor JSONL" in fails(capsys, "import", "a.txt")
    assert "There is no file" in fails(capsys, "import", "none.jsonl")
    assert not (tmp_path / "periplus-data").exists()
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "text": "x"}\nnot json\n')
    (tmp_path / "empty.jsonl").write_text("")
    assert main(["import", "empty.jsonl"]) == 1
    assert "There is no page in empty.jsonl." in capsys.readouterr().err
    assert not (tmp_path / "periplus-data").exists()
    assert main(["import", "bad.jsonl", "--no-index"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "line 2" in last
    assert "1 page is stored" in last
    assert "periplus index build" in last


@pytest.mark.parametrize("option", ["--hosts-file", "--block"])
def test_a_list_that_cannot_be_read(capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str) -> None:
    (tmp_path / "bytes").write_bytes(b"\xaa\x00")
    assert fails(capsys, "crawl", "http://a.example/", option, str(tmp_path)).endswith("Is a directory.")
    assert fails(capsys, "crawl", "http://a.example/", option, "bytes").endswith("bytes is not a text file.")
    assert fails(capsys, "crawl", "http://a.example/", option, "none").endswith("No such file or directory.")


def test_a_place_that_cannot_be_written_to(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "No such file or folder: none/hosts." in fails(capsys, "web", "--write-hosts", "none/hosts")
    assert f"{tmp_path} is a folder, not a file." in fails(capsys, "web", "--write-hosts", str(tmp_path))


def test_a_disk_that_is_full_once_the_pages_are_stored(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise DiskFailed("The disk is full.", "Run the same command again.")

    documents(tmp_path / "docs.jsonl", 3)
    monkeypatch.setattr("periplus.app.build_graph_and_index", full)
    assert main(["import", "docs.jsonl"]) == 1
    assert capsys.readouterr().err.endswith(
        "The disk is full. The pages are stored. Free some space, then: periplus index build.\n"
    )


def test_an_unexpected_error_is_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def burst(*_: object, **__: object) -> None:
        raise ZeroDivisionError("over\nzero")

    monkeypatch.setattr(cli.entry, "_with_one_command", lambda _: burst)
    assert "unexpected ZeroDivisionError: over zero" in fails(capsys, "doctor")
    assert main(["doctor", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents(tmp_path / "docs.jsonl")
    assert main(["import", "docs.jsonl"]) == 0
    capsys.readouterr()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = fails(capsys, "serve", "--port", str(taken.getsockname()[1]))
        assert main(["up", "http://a.example/", "--folder", "new", "--port", str(taken.getsockname()[1])]) == 1
        assert not (tmp_path / "new").exists()
    assert "in use" in line
    assert "--port" in line


def test_no_network(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # ours, so nobody else's, and yet nobody listens
        port = closed.getsockname()[1]
        quick = ["--set", "frontier.retries=0", "--delay", "0", "--allow", "127.0.0.0/8"]
        line = fails(capsys, "crawl", f"http://127.0.0.1:{port}/", *quick)
    assert "No host could be reached" in line


def test_a_private_address_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    line = fails(capsys, "crawl", "http://127.0.0.1:9/", "--delay", "0")
    assert "--allow" in line
    assert "--allow" in fails(capsys, "crawl", "--json"), "and the second time too"


def test_a_full_disk_and_then_room_again(tmp_path: Path) -> None:
    documents(tmp_path / "docs.jsonl", 3000)

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = periplus("import", "docs.jsonl", cwd=tmp_path, preexec_fn=small)
    assert done.returncode == 1, done
    assert [line for line in done.stderr.splitlines() if line.startswith("periplus: ")] == done.stderr.splitlines()[-1:]
    assert "Traceback" not in done.stderr
    assert main(["import", "docs.jsonl"]) == 0
    assert main(["index", "check"]) == 0
    assert main(["search", "harbour"]) == 0


def test_interrupted_twice_and_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = FakeWeb(PLAN)
    with run_in_thread(web) as server:
        server.write_hosts_file(tmp_path / "hosts")
        arguments = ["crawl", *web.seeds, "--scope", "web", "--allow", "127.0.0.0/8", "--hosts-file", "hosts"]
        slow = [sys.executable, "-m", "periplus.cli", *arguments, "--delay", "5"]
        with subprocess.Popen(slow, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            _until(lambda: (tmp_path / "periplus-data" / "crawl" / "frontier.bin").exists())
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=60)
        assert child.returncode == 130, errors
        assert "Traceback" not in errors
        assert errors.splitlines()[-1] == "periplus: stopped."
        assert main([*arguments, "--delay", "0", "--set", "frontier.delay_factor=0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pages"] >= PLAN.pages


def _until(ready: "object", seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while not ready():  # type: ignore[operator]
        assert time.monotonic() < limit
        time.sleep(0.02)
