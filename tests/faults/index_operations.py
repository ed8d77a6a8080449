"""The index: building, the live index, deletions."""

from pathlib import Path

from operation import MarkWriter, Operation, expect, expect_between, find_urls, run_command

from index.made_pages import visit
from periplus.app import Engine
from periplus.index import Index, LiveIndex, check_index
from periplus.records import Link
from periplus.settings import IndexSettings, StoreSettings
from periplus.store import PageStore

_OLD, _ALL = 6, 10


def _url(number: int | str) -> str:
    return f"https://site{int(number) % 3}.test/page/{number}"


def _record(number: int | str, text: str = "harbour"):  # type: ignore[no-untyped-def]
    links = (Link(_url((int(number) + 1) % _ALL), "next harbour"), Link(_url(0), "home"))
    return visit(_url(number), f"Page {number}", f"{text} word{number}", links=links)


def store_pages(folder: Path, start: int, stop: int) -> None:
    """Append pages to the store."""
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        for number in range(start, stop):
            store.append(_record(number))


def urls_between(start: int, stop: int) -> set[str]:
    """Return the URLs of some pages."""
    return {_url(number) for number in range(start, stop)}


def check_whole(folder: Path) -> None:
    """Raise `Wrong` if the index is damaged."""
    faults = check_index(folder / "index")
    expect(not faults, f"the index is damaged: {faults}")


class IndexBuild(Operation):
    """An index built over an older one, by the command."""

    name = "index: build"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store_pages(folder, 0, _OLD)
        Engine(folder).build()
        store_pages(folder, _OLD, _ALL)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("build")
        run_command("index", "build", "--folder", folder)
        marks.done("build")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        seen = set(find_urls(folder, "harbour"))
        allowed = ([urls_between(0, _OLD)] if not done else []) + ([urls_between(0, _ALL)] if begun else [])
        expect(seen in allowed, f"the index has {sorted(seen)}")
        check_whole(folder)
        run_command("index", "build", "--folder", folder)
        expect(set(find_urls(folder, "harbour")) == urls_between(0, _ALL), "a build afterwards is incomplete")
        check_whole(folder)


class FirstBuild(Operation):
    """The first index of a folder."""

    name = "index: first build"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store_pages(folder, 0, _ALL)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("build")
        run_command("index", "build", "--folder", folder)
        marks.done("build")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        if done or (folder / "index" / "manifest.json").exists():
            expect(set(find_urls(folder, "harbour")) == urls_between(0, _ALL), "the index is incomplete")
            check_whole(folder)
        run_command("index", "build", "--folder", folder)
        expect(set(find_urls(folder, "harbour")) == urls_between(0, _ALL), "a build afterwards is incomplete")


class LiveChanges(Operation):
    """Pages added to a live index and synced; made searchable; segments merged."""

    name = "index: live"
    settings = IndexSettings()

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store_pages(folder, 0, 2)
        Engine(folder).build()

    def run(self, folder: Path, marks: MarkWriter) -> None:
        with LiveIndex(folder / "index", self.settings, background=False) as live:
            for number in range(2, _ALL):
                marks.begin(str(number))
                live.add(_record(number))
                live.sync()
                marks.done(str(number))
                if number % 2:
                    live.publish()
            marks.begin("gone 3")
            live.delete(_url(3))
            live.sync()
            marks.done("gone 3")
            live.publish()
            while live.merge():
                pass

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        Index.open(folder / "index")
        find_urls(folder, "harbour")
        with LiveIndex(folder / "index", self.settings, background=False) as live:
            live.publish()
            live.add(_record(99))
            live.publish()
            live.merge()
        seen = find_urls(folder, "harbour")
        expect(len(seen) == len(set(seen)), f"found twice: {seen}")
        must = {_url(n) for n in done if n.isdigit()} | urls_between(0, 2) | {_url(99)}
        may = {_url(n) for n in begun if n.isdigit()} | urls_between(0, 2) | {_url(99)}
        if "gone 3" in begun:
            must.discard(_url(3))
        if "gone 3" in done:
            may.discard(_url(3))
        expect_between(must, seen, may, "pages in the index")
        check_whole(folder)


class Deletion(Operation):
    """Pages deleted permanently, and a deletion undone, by the command."""

    name = "index: delete and undo"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store_pages(folder, 0, _OLD)
        Engine(folder).build()

    def run(self, folder: Path, marks: MarkWriter) -> None:
        for name, arguments in (("0", (_url(0),)), ("1", (_url(1),)), ("undo 0", ("--undo", _url(0)))):
            marks.begin(name)
            run_command("index", "delete", *arguments, "--folder", folder)
            marks.done(name)

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        for build in (False, True):
            if build:
                Engine(folder).build()
            else:
                Engine(folder).delete(_url(5))
            seen = set(find_urls(folder, "harbour"))
            may = urls_between(0, 5)
            must = set(may)
            for name in begun:
                if not name.startswith("undo"):
                    must.discard(_url(name))
            may -= {_url(name) for name in done if not name.startswith("undo")}
            if "undo 0" in begun:
                may.add(_url(0))
            if "undo 0" in done:
                must.add(_url(0))
            expect_between(must, seen, may, "pages beside the deleted ones")
        check_whole(folder)


OPERATIONS: tuple[Operation, ...] = (IndexBuild(), FirstBuild(), LiveChanges(), Deletion())
