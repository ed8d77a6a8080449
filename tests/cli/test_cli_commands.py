"""The commands do what they say, from words to exit code."""

import gzip
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import click
import pytest

from periplus.app import with_remedy
from periplus.cli import main
from periplus.cli.console import bar, clean, format_bytes
from periplus.errors import CorruptFile
from periplus.fakeweb import FakeWeb, FakeWebPlan, run_in_thread


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    lines = [
        {
            "id": 1,
            "url": "http://a.example/lights",
            "title": "Harbour lights",
            "text": "The lights of the old harbour.",
        },
        {"id": 2, "url": "http://b.example/bread", "title": "Bread", "text": "Flour and water make bread.\x1b[31m"},
        {"id": 3, "url": "http://b.example/storm", "title": "Storm", "text": "A storm put out the harbour lights."},
    ]
    with gzip.open(tmp_path / "docs.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    assert main(["import", "docs.jsonl.gz"]) == 0
    said = capsys.readouterr().out
    assert "Imported 3 pages" in said
    assert "Next: periplus search" in said
    return tmp_path


def test_import_then_search(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "harbour", "lights"]) == 0
    said = capsys.readouterr().out
    assert said.index("Harbour lights") < said.index("Storm")
    assert "http://a.example/lights" in said
    assert "2 results" in said


def test_search_says_what_was_relaxed(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", '"lights harbour" storm', "--set", "search.budget_ms=60000"]) == 0
    said = capsys.readouterr().out
    assert 'No page has "lights harbour" together with "storm"; showing pages with the words instead.' in said
    assert "1 result" in said
    assert main(["search", "--verbatim", '"lights harbour" storm']) == 0
    assert "No results" in capsys.readouterr().out


def test_search_says_that_pages_were_not_searched(capsys: pytest.CaptureFixture[str]) -> None:
    from periplus.cli.commands.search import _print_results
    from periplus.records import Hit, Query, ResultPage

    shown = Hit("https://fog.test/", "Fog", (), ("fog.test",), 1.0, 7)
    _print_results(ResultPage(Query("fog"), (shown,), 40, False, False, 0.1, 100, ("A note.",), unsearched=75))
    said = capsys.readouterr().out
    assert "A note." in said
    assert "at least 40 results in 100 pages" in said


def test_search_says_what_was_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    from periplus.cli.commands.search import _print_results
    from periplus.records import Query, ResultPage

    _print_results(ResultPage(Query("lighthuose"), (), 0, True, False, 0.1, 10, showing_for="lighthouse"))
    assert "Showing results for lighthouse. --verbatim searches for lighthuose." in capsys.readouterr().out


def test_a_page_cannot_steer_the_terminal(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "bread"]) == 0
    said = capsys.readouterr().out
    assert "Flour" in said
    assert "\x1b[31m" not in said


def test_search_underlines_the_sentence_that_answers() -> None:
    from periplus.cli.commands.search import _style_snippet
    from periplus.records import Hit

    pieces = (("Before. It was ", False), ("built", True), (" in 1817. After", False))
    hit = Hit("https://a.example/", "A", pieces, (), 1.0, 7, answer=(8, 29))
    styled = _style_snippet(hit)
    assert click.unstyle(styled) == "Before. It was built in 1817. After"
    assert "\x1b[4mIt was " in styled
    assert styled.startswith("Before. ")
    assert styled.endswith(" After")


def test_search_for_programs(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "storm", "--json", "--explain", "-n", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["query"] == "storm"
    assert [hit["url"] for hit in told["results"]] == ["http://b.example/storm"]
    assert told["results"][0]["explain"][0].keys() == {"name", "value"}


@pytest.mark.parametrize(
    ("arguments", "urls"),
    [
        (["harbour", "-storm"], ["http://a.example/lights"]),
        (["-harbour"], ["http://b.example/bread"]),
        (["-n", "1", "lights", "-night", "-storm"], ["http://a.example/lights"]),
        (["-n1", "lights", "--", "-storm"], ["http://a.example/lights"]),
    ],
)
def test_words_to_leave_out_are_no_options(
    imported: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], urls: list[str]
) -> None:
    assert main(["search", "--json", *arguments]) == 0
    assert [hit["url"] for hit in json.loads(capsys.readouterr().out)["results"]] == urls


def test_nothing_found_is_an_answer(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "zeppelin"]) == 0
    assert "No results in 3 pages" in capsys.readouterr().out


def test_index_stats_and_check(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "stats"]) == 0
    said = capsys.readouterr().out
    assert "3 pages from 2 hosts" in said
    assert "█" in said
    assert main(["index", "stats", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["documents"] == 3
    assert main(["index", "check"]) == 0
    assert "The index has no faults." in capsys.readouterr().out


def test_a_damaged_index_is_found(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = max((imported / "periplus-data" / "index").rglob("*.arrays"), key=lambda path: path.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[-1 if data[-1] else data.rindex(max(data))] ^= 0xFF
    victim.write_bytes(data)
    assert main(["index", "check"]) == 1
    assert victim.name in capsys.readouterr().err
    for command in (["search", "harbour"], ["serve", "--port", "0"]):
        assert main(command) == 1
        assert "periplus index repair" in capsys.readouterr().err
    assert main(["doctor"]) == 1
    assert "periplus index repair" in capsys.readouterr().out
    assert main(["index", "repair"]) == 0
    assert main(["search", "harbour"]) == 0
    assert main(["doctor"]) == 0


def test_a_damaged_log_has_a_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [{"url": f"http://a.example/{n}", "title": f"Page {n}", "text": f"harbour {n} " * 40} for n in range(200)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in made))
    assert main(["import", "docs.jsonl", "--no-index"]) == 0
    victim = next((tmp_path / "periplus-data" / "store").glob("visits-*.log"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0xFF
    victim.write_bytes(data)
    capsys.readouterr()
    assert main(["index", "build"]) == 1
    assert "periplus import FILE-THEY-CAME-FROM --folder NEW" in capsys.readouterr().err
    (victim.parent / "pages-00000.warc.zst").touch()
    told = with_remedy(CorruptFile(f"{victim} is damaged at byte 7."), tmp_path / "periplus-data")
    assert f"periplus import {victim.parent}/*.warc.* --folder NEW" in told.hint


def test_doctor_names_the_way_of_a_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    from periplus.app.diagnosis import _group

    finding = _group("dev", ["no-such-package"])
    assert finding.state == "optional"
    assert "make setup" in finding.detail


def test_index_build_again(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "build", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3


def test_import_adds_to_what_is_there(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (imported / "more.jsonl").write_text('{"url": "http://c.example/", "title": "Zeppelin", "text": "It flies."}\n')
    assert main(["import", "more.jsonl"]) == 0
    assert "left out" not in capsys.readouterr().err
    assert main(["import", "more.jsonl"]) == 0
    assert "Left out 1 of 5 stored pages" in capsys.readouterr().err
    assert main(["search", "zeppelin", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["documents"] == 4


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["usable"] is True
    names = {finding["name"] for finding in told["findings"]}
    assert {"Python", "Packages", "Kernels", "Disk", "Open files", "Data", "Extra 'cluster'"} <= names


def test_doctor_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "periplus-data").mkdir()
    (tmp_path / "periplus-data" / "periplus.json").write_text('{"format": 99}')
    assert main(["doctor"]) == 1
    assert "✗ Data" in capsys.readouterr().out


def test_evaluate_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "docs.jsonl").write_text(
        '{"id":"a","title":"","text":"red fox"}\n{"id":"b","title":"","text":"blue sea"}\n'
    )
    (folder / "queries.jsonl").write_text('{"id":"1","text":"fox"}\n{"id":"2","text":"sea"}\n')
    (folder / "qrels.tsv").write_text("1\ta\t1\n2\tb\t1\n")
    assert main(["evaluate", "tiny", "--variants", "first,full", "--run", "tiny.run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split()[:7] == ["collection", "documents", "queries", "ranking", "nDCG@10", "recall@100", "MRR"]
    assert said[1].split() == ["tiny", "2", "2", "first", "stage", "1.0000", "1.0000", "1.0000"]
    assert said[2].split()[:8] == ["tiny", "2", "2", "full", "1.0000", "1.0000", "1.0000", "+0.0000"]
    assert len((tmp_path / "tiny.run").read_text().splitlines()) == 2


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("periplus 0.")
    assert main(["--help"]) == 0
    assert "crawl" in capsys.readouterr().out


def test_help_starts_without_heavy_imports() -> None:
    """Starting quickly is what not importing is for; seconds would depend on the machine, modules do not."""
    code = "import sys; from periplus.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "numba", "rich.console", "pycurl", "starlette", "selectolax", "multiprocessing"}
    assert heavy & set(done.stderr.split()) == set()


@pytest.mark.slow
def test_demo_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "periplus.cli", "demo", "--once", "--hosts", "6", "--pages", "80"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pages/s" in done.stdout
    assert "Indexed" in done.stdout
    assert "of 5 queries have a right page on top" in done.stdout
    again = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=tmp_path)
    assert again.returncode == 0, again.stderr


@pytest.mark.slow
def test_demo_serves_on_the_next_free_port(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "periplus.cli", "demo", "--hosts", "4", "--pages", "40", "--port", port]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        ) as child:
            assert child.stdout is not None
            line = next(line for line in child.stdout if "Search it at" in line)
            url = line.split()[3]
            assert f":{port}/" not in url
            with urllib.request.urlopen(url, timeout=60) as answer:
                assert answer.status == 200
            child.terminate()
            _, errors = child.communicate(timeout=60)
    assert f"Port {port} is in use" in errors


@pytest.mark.slow
def test_up_crawls_indexes_and_serves_at_once(tmp_path: Path) -> None:
    web = FakeWeb(FakeWebPlan(seed=5, hosts=4, pages=40))
    with run_in_thread(web) as server:
        server.write_hosts_file(tmp_path / "hosts")
        command = [sys.executable, "-m", "periplus.cli", "up", *web.seeds, "--scope", "web", "--delay", "0"]
        command += ["--allow", "127.0.0.0/8", "--hosts-file", "hosts", "--port", "0", "--every", "1"]
        command += ["--set", "serve.deadline=60"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        ) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            url = next(line for line in child.stdout if "Searching at" in line).split()[2].rstrip(",")
            assert any("are searchable now" in line for line in child.stderr)
            with urllib.request.urlopen(url + "api/search?q=the+light", timeout=60) as answer:
                assert json.load(answer)["documents"] > 0
            child.send_signal(signal.SIGINT)
            said, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    assert "Traceback" not in errors
    assert "pages searchable. To continue: the same command." in said


def test_small_things_for_people() -> None:
    assert [format_bytes(n) for n in (0, 999, 1500, 2_000_000)] == ["0 bytes", "999 bytes", "1.5 kB", "2.0 MB"]
    assert bar(0.5, 4) == "██··"
    assert (bar(2.0, 2), bar(-1.0, 2)) == ("██", "··")
    assert clean("a\x1b[2Jb\u202ec") == "a [2Jb c"


def test_a_crawl_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = FakeWeb(FakeWebPlan(seed=5, hosts=3, pages=30))
    with run_in_thread(web) as server:
        server.write_hosts_file(tmp_path / "hosts")
        command = ["crawl", *web.seeds, "--scope", "web", "--allow", "127.0.0.0/8", "--hosts-file", "hosts"]
        command += ["--delay", "0", "--set", "frontier.delay_factor=0"]
        assert main([*command, "--pages", "10"]) == 0
        said = capsys.readouterr().out
        assert "--pages 10 is reached" in said
        assert "in all" not in said
        assert main(command) == 0
        said = capsys.readouterr().out
        assert "in all)" in said
        assert "Go on" not in said
        assert "0 URLs waiting" in said
        assert main(command) == 0
        said = capsys.readouterr().out
        assert "Crawled 0 pages" in said
        assert "0 bytes fetched, 0 duplicates" in said
        assert "Without a page" not in said


def test_the_old_name_of_a_command_works_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embeddings", "status"]) == 0
    answer = capsys.readouterr()
    assert answer.err == ""
    assert main(["meaning", "status"]) == 0
    assert capsys.readouterr() == (answer.out, "periplus: 'periplus meaning' is now called 'periplus embeddings'.\n")
