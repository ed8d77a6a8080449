"""A program that writes an index and ends, for real, at each change it makes to the folder in turn.

    python dying_writer.py FOLDER SCENARIO

For n = 1, 2, ... it copies FOLDER/base, forks, and lets the child run the scenario until its n-th change: opening a
file for writing, writing to the journal, syncing, renaming, removing, making a folder. There the child ends at once
(os._exit), as by kill -9. The parent then opens what is left. It prints one line of JSON for each n.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from index.made_pages import Ranks, visit
from periplus.index import Index, LiveIndex, build_index, check_index
from periplus.index.merge import segment_merger
from periplus.records import FetchRecord
from periplus.settings import IndexSettings

SETTINGS = IndexSettings()
SEGMENTS = 3
"""Of the index before a scenario. The next publication makes them worth merging: in production there are more."""
_EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
PAGES = [visit(f"https://a.test/{n}", f"page{n}", f"sea chart number{n}") for n in range(12)]
CHANGED = visit(PAGES[0].url, "changed", "sea chart")
NEW = PAGES[SEGMENTS:]

_current: "list[Steps | None]" = []


def _pass_on(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and _current[0] is not None:
        _current[0].audit(event, arguments)


class Steps:
    """Counts every change to files under a folder, and calls `at_last` in place of the n-th."""

    def __init__(self, folder: Path, last: int, at_last: Callable[[str], None], *, all_kinds: bool = True) -> None:
        self._folder = str(folder)
        self._last = last
        self._at_last = at_last
        self._kinds = {"os.rename", "os.mkdir"} | ({"os.remove", "os.rmdir", "os.truncate"} if all_kinds else set())
        self.count = 0
        self._fsync, self._pwrite = os.fsync, os.pwrite

    def start(self) -> None:
        if not _current:
            sys.addaudithook(_pass_on)  # There is no way to remove one again.
        _current[:] = [self]
        os.fsync = self._counted("fsync", self._fsync)
        os.pwrite = self._counted("pwrite", self._pwrite)

    def stop(self) -> None:
        _current[:] = [None]
        self._last = 0
        os.fsync, os.pwrite = self._fsync, self._pwrite

    def _counted(self, name: str, real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self._step(name)
            return real(*arguments)

        return call

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = set(mode or "") & set("wax+") or (isinstance(flags, int) and flags & _WRITING)
            if writes and str(path).startswith(self._folder):
                self._step(f"open {path}")
        elif event in self._kinds and str(arguments[0]).startswith(self._folder):
            self._step(f"{event} {arguments[0]}")

    def _step(self, what: str) -> None:
        if self._last:
            self.count += 1
            if self.count == self._last:
                self._at_last(what)


def titles(folder: Path) -> dict[str, str]:
    index = Index.open(folder)
    pairs = [(s, n) for s in index.segments for n in range(s.documents) if s.is_live[n]]
    return {s.string("url", n): s.string("title", n) for s, n in pairs}


def lives(folder: Path, done: Callable[[], None]) -> None:
    """Take, publish, merge, rebuild; say after each acknowledged change that it is done."""
    with LiveIndex(folder, SETTINGS, background=False) as live:
        live.add(NEW[0])
        done()
        live.delete(PAGES[1].url)
        done()
        live.publish()
        live.merge()
        live.add(CHANGED)
        done()
        live.publish()
        live.add(NEW[1])
        done()
        store: list[FetchRecord] = [CHANGED, *PAGES[2:SEGMENTS], *NEW[:2]]
        live.rebuild(lambda start: store[start:], Ranks({NEW[0].key: 0.5}))


def extends(folder: Path, done: Callable[[], None]) -> None:
    """Add two pages to an index by a build."""
    build_index([CHANGED, NEW[1]], folder, SETTINGS, append=True)
    done()


def replaces(folder: Path, done: Callable[[], None]) -> None:
    """Make a whole new index."""
    build_index([CHANGED, NEW[1]], folder, SETTINGS)
    done()


def states(scenario: str) -> list[dict[str, str]]:
    """Give what must be found after 0, 1, ... acknowledged changes."""
    base = titled(PAGES[:SEGMENTS])
    if scenario == "extends":
        return [base, base | titled([CHANGED, NEW[1]])]
    if scenario == "replaces":
        return [base, titled([CHANGED, NEW[1]])]
    one = base | titled(NEW[:1])
    two = {url: title for url, title in one.items() if url != PAGES[1].url}
    three = two | titled([CHANGED])
    return [base, one, two, three, three | titled(NEW[1:2])]


def titled(records: list[FetchRecord]) -> dict[str, str]:
    return {record.url: record.page.title for record in records if record.page}


def make_base(folder: Path) -> None:
    """Make an index of one page in each segment."""
    with LiveIndex(folder, SETTINGS, background=False) as live:
        for page in PAGES[:SEGMENTS]:
            live.add(page)
            live.publish()


def _end(what: str) -> None:
    os._exit(9)


def run_child(folder: Path, scenario: str, last: int, says: int) -> None:
    """Run the scenario until its last step."""
    Steps(folder, last, _end).start()
    globals()[scenario](folder, lambda: os.write(says, b"."))
    os._exit(0)


def examine(folder: Path, scenario: str, acknowledged: int) -> str:
    """Say what is wrong with what was left, '' if nothing is."""
    allowed = states(scenario)[acknowledged : acknowledged + 2]
    found = titles(folder)
    if found not in states(scenario)[: acknowledged + 2]:
        return f"opened as {found}"
    if faults := check_index(folder):
        return f"faults: {faults}"
    LiveIndex(folder, SETTINGS, background=False).close()
    return "" if titles(folder) in allowed else f"recovered as {titles(folder)} after {acknowledged}"


def main() -> None:
    folder, scenario = Path(sys.argv[1]), sys.argv[2]
    segment_merger._MERGE_FACTOR = SEGMENTS  # type: ignore[misc]
    make_base(folder / "base")
    for last in range(1, 10_000):
        case = folder / f"case{last}"
        shutil.copytree(folder / "base", case)
        hears, says = os.pipe()
        child = os.fork()
        if not child:
            run_child(case, scenario, last, says)
        os.close(says)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        acknowledged = len(os.read(hears, 100))
        os.close(hears)
        wrong = examine(case, scenario, acknowledged)
        print(json.dumps({"step": last, "status": status, "acknowledged": acknowledged, "wrong": wrong}))
        shutil.rmtree(case)
        if status != 9:
            break


if __name__ == "__main__":
    main()
