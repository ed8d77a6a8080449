"""What many ask for is raised among completions: only what is offered anyway, and nothing else is kept."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from index.made_pages import visit
from periplus.index import build_index
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.signals import popular_queries

DAY = 86_400.0
NOW = 20_000 * DAY


def popular_of(folder: Path, after: int = 3) -> popular_queries.PopularQueries:
    return popular_queries.PopularQueries(folder, after)


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_so_many_visitors_of_one_day_make_a_text_popular(tmp_path: Path) -> None:
    counts = popular_of(tmp_path)
    for _ in range(50):
        counts.count(b"harbour bell", "45.67.89.0/24", NOW)
    counts.count(b"harbour bell", "45.67.90.0/24", NOW)
    counts.count(b"harbour bell", "45.67.91.0/24", NOW + DAY)  # another day: it begins anew
    counts.synchronize(NOW + DAY)
    assert counts.complete(b"harb", 5) == []
    for number in range(2):
        counts.count(b"harbour bell", f"45.67.{number}.0/24", NOW + DAY)
    counts.synchronize(NOW + DAY)
    assert [text for text, _ in counts.complete(b"harb", 5)] == [b"harbour bell"]
    assert counts.complete(b"harx", 5) == []


def test_fewer_than_three_never_do(tmp_path: Path) -> None:
    counts = popular_of(tmp_path, after=1)
    for visitor in ("a", "b"):
        counts.count(b"harbour bell", visitor, NOW)
    counts.synchronize(NOW)
    assert counts.complete(b"h", 5) == []


def test_nothing_is_kept_by_which_to_find_anybody(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    counts = popular_of(tmp_path)
    visitors = ["45.67.89.0/24", "45.67.90.0/24"]
    for visitor in visitors:
        counts.count(b"harbour bell", visitor, NOW)
        counts.count(b"quiet cove", visitor, NOW)
    counts.synchronize(NOW)
    assert all(word not in everything(tmp_path) for word in (b"harbour", b"cove", b"45.67"))
    log = (tmp_path / "marks-20000.log").read_bytes()
    marks = [log[at + 8 : at + 16] for at in range(0, len(log), 20)]
    assert len(marks) == len(set(marks)) == 4, "of one visitor there is another mark for every text"
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.glob("*-*")), "nor is it for everybody to read"
    elsewhere = tmp_path_factory.mktemp("other")
    other = popular_of(elsewhere)
    other.count(b"harbour bell", visitors[0], NOW)
    assert log[:16] not in everything(elsewhere), "another salt"
    counts.count(b"harbour bell", visitors[0], NOW + DAY)
    assert {path.name for path in tmp_path.iterdir()} == {"salt-20001", "marks-20001.log"}, "it goes with its day"


def test_counts_survive_a_restart_and_are_shared(tmp_path: Path) -> None:
    first, second = popular_of(tmp_path), popular_of(tmp_path)
    first.count(b"harbour bell", "a", NOW)
    second.count(b"harbour bell", "b", NOW)
    third = popular_of(tmp_path)  # as after a restart
    third.count(b"harbour bell", "c", NOW)
    third.synchronize(NOW)
    for one in (first, second, third):
        one.synchronize(NOW)
        assert [text for text, _ in one.complete(b"h", 5)] == [b"harbour bell"]
    assert [text for text, _ in popular_of(tmp_path).complete(b"h", 5)] == [b"harbour bell"]
    for number in range(20):
        first.count(b"harbour light", str(number), NOW)
        second.count(b"harbour light", str(100 + number), NOW)
    first.synchronize(NOW)
    second.synchronize(NOW)
    first.synchronize(NOW)
    assert first.complete(b"h", 5) == second.complete(b"h", 5)
    assert [text for text, _ in first.complete(b"h", 5)] == [b"harbour light", b"harbour bell"]


def test_counts_fade_and_stay_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = popular_of(tmp_path)
    for number in range(4):
        counts.count(b"often", str(number), NOW)
    counts.synchronize(NOW)
    [(_, worth)] = counts.complete(b"o", 5)
    counts.synchronize(NOW + 30 * DAY)
    [(_, later)] = counts.complete(b"o", 5)
    assert 0.5 < later < worth
    monkeypatch.setattr(popular_queries, "_MAX_TEXTS", 5)
    monkeypatch.setattr(popular_queries, "_MAX_VISITORS", 60)
    for text in range(40):
        for number in range(3):
            counts.count(b"text %d" % text, str(number), NOW + 90 * DAY)
    counts.synchronize(NOW + 90 * DAY)
    assert counts.complete(b"o", 5) == [], "let go"
    assert len(counts.complete(b"t", 50)) == 5
    assert (tmp_path / f"marks-{20_090}.log").stat().st_size <= 20 * 60


@pytest.mark.parametrize("damage", [b"", b"{", b'{"a": 1}', b'{"a": [-5.0, 1, 2]}', b"\xff" * 100])
def test_damaged_files_are_begun_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "asked.json").write_bytes(damage)
    (tmp_path / "marks-20000.log").write_bytes(damage)
    counts = popular_of(tmp_path)
    assert counts.complete(b"a", 5) == []
    for number in range(3):
        counts.count(b"a", str(number), NOW)
    counts.synchronize(NOW)
    assert [text for text, _ in counts.complete(b"a", 5)] == [b"a"]


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "popular").write_text("a file where the folder should be")
    counts = popular_of(tmp_path / "popular")
    counts.count(b"a", "b", NOW)
    counts.synchronize(NOW)
    assert counts.complete(b"a", 5) == []


PROGRAM = """
import sys
from pathlib import Path
from periplus.signals import PopularQueries
counts = PopularQueries(Path(sys.argv[1]), 3)
for number in range(100):
    counts.count(b"text %d" % (number % 20), sys.argv[2] + str(number), 20_000 * 86_400.0)
    counts.synchronize(20_000 * 86_400.0)
"""


def test_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    running = [subprocess.Popen([*command, name]) for name in ("one", "two", "three")]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    counts = popular_of(tmp_path)
    for number in range(20):
        counts.count(b"text %d" % number, "last", NOW)
    counts.synchronize(NOW)
    found = counts.complete(b"text", 50)
    assert len(found) == 20
    assert len({worth for _, worth in found}) == 1, "16 visitors each"


def test_queries_raise_only_what_is_offered_anyway(tmp_path: Path) -> None:
    pages = [visit(f"https://a.test/{n}", f"Harbour {n}", "water") for n in range(60)]
    build_index(pages, tmp_path / "index", Settings().index)
    settings = Settings(search=replace(Settings().search, popular_after=3))
    searcher, quiet = Searcher.open(tmp_path, settings), Searcher.open(tmp_path, Settings())

    def offered(one: Searcher, typed: str, size: int = 8) -> list[str]:
        return [text for text, _ in one.suggest(typed, size)]

    def ask(words: str, *visitors: str) -> None:
        for one in (searcher, quiet):
            one.record_queries([(words, visitor) for visitor in visitors])

    last = offered(searcher, "harb", 60)[-1]
    assert last not in offered(searcher, "harb")
    ask(last, "a", "b", "a", "b")
    ask("harbour secret", "a", "b", "c", "d")
    ask("my name is harbour", "a", "b", "c", "d")
    assert last not in offered(searcher, "harb"), "not yet asked for by enough"
    ask(last.upper(), "c")
    assert offered(searcher, "harb")[0] == last
    assert last not in offered(quiet, "harb"), "off by default"
    every = offered(searcher, "harb", 90) + offered(searcher, "my")
    assert all("secret" not in text and "name" not in text for text in every)
    assert b"secret" not in everything(tmp_path / "popular")


def test_a_mark_that_was_cut_short_does_not_shift_those_after_it(tmp_path: Path) -> None:
    popular = popular_of(tmp_path)
    popular.count(b"tide table", "192.0.2.1", NOW)
    (log,) = tmp_path.glob("marks-*.log")
    with log.open("ab") as file:
        file.write(b"torn")
    again = popular_of(tmp_path)
    for visitor in range(5):
        again.count(b"tide table", f"192.0.2.{visitor}", NOW)
    assert popular_queries.count_damaged_marks(log.read_bytes()) == (0, False)
