"""Publishing: the inbox, from the inbox to index and store, withdrawing."""

from pathlib import Path

from operation import CommandFailed, MarkWriter, Operation, expect, expect_between, find_urls

from periplus.app import Engine
from periplus.files import lock_folder
from periplus.index import LiveIndex, check_index
from periplus.publish import Inbox, make_published_record, publish_pending
from periplus.records import FetchRecord
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.url import parse_address

_PAGES = 4
SETTINGS = Settings()


def page_url(number: int | str) -> str:
    """Return the URL of a page."""
    return f"https://publish.test/{number}"


def page_record(number: int, version: int = 1) -> FetchRecord:
    """Return a page with a word of its own for each number and version."""
    return make_published_record(f"Page {number}", f"lighthouse word{number} version{version}", page_url(number))


def publish_everything(folder: Path) -> None:
    """Do what a publisher does: index what is pending, then store it."""
    inbox = Inbox(folder)
    inbox.requeue_indexed()
    with lock_folder(folder, "index"), LiveIndex(folder / "index", SETTINGS.index, background=False) as live:
        publish_pending(live, inbox)
    if not inbox.move_to_store(SETTINGS.store):  # what cannot be read now stays in the inbox for the next time
        raise CommandFailed(f"Some pages are still in {folder / 'inbox'}.")


def check_published(folder: Path, done: list[str], begun: list[str], base: tuple[str, ...] = ()) -> None:
    """Publish one page more, then compare the index and the store with what was acknowledged."""
    with Engine(folder) as engine:
        engine.publish("One more", "lighthouse further", url=page_url("more"))
    publish_everything(folder)
    with PageStore.open(folder / "store", SETTINGS.store) as store:
        stored = {record.url for record in store.records() if record.page is not None}
        versions = {url: store.find(parse_address(url).key) for url in stored}
    seen = find_urls(folder, "lighthouse")
    expect(len(seen) == len(set(seen)), f"found twice: {seen}")
    expect(page_url("more") in seen, "the page that was published afterwards is not found")
    must = {page_url(n) for n in done} | set(base)
    expect_between(must, seen, {page_url(n) for n in begun} | {page_url("more"), *base}, "published pages")
    expect(set(seen) <= stored, f"indexed but not stored: {sorted(set(seen) - stored)}")
    for url in seen:
        record = versions[url]
        expect(record is not None and record.page is not None, f"{url} is not in the store")
        assert record is not None
        assert record.page is not None
        expect("lighthouse" in record.page.text, f"{url} has another text: {record.page.text!r}")
    faults = check_index(folder / "index")
    expect(not faults, f"the index is damaged: {faults}")


class InboxPublication(Operation):
    """Pages put into the inbox, as the API does before it answers 201."""

    name = "publish: inbox"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        inbox = Inbox(folder)
        for number in range(_PAGES):
            marks.begin(str(number))
            inbox.add_record(page_record(number))
            marks.done(str(number))

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        pending = {one.url: one for _, records in Inbox(folder).pending_records() for one in records}
        expect_between({page_url(n) for n in done}, pending, {page_url(n) for n in begun}, "pages in the inbox")
        for number in done:
            page, expected = pending[page_url(number)].page, page_record(int(number)).page
            expect(page == expected, f"{page_url(number)} has another content")
        check_published(folder, done, begun)


class Publication(Operation):
    """Pages published by the library: inbox, index, store; some replace others."""

    name = "publish: index and store"
    base = (page_url("base"),)

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        with Engine(folder) as engine:
            engine.publish("Base", "lighthouse base", url=self.base[0])

    def run(self, folder: Path, marks: MarkWriter) -> None:
        with Engine(folder) as engine:
            for number in (*range(_PAGES), 0):
                marks.begin(str(number))
                engine.publish(f"Page {number}", f"lighthouse word{number}", url=page_url(number))
                marks.done(str(number))

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        check_published(folder, done, begun, self.base)


class Withdrawal(Operation):
    """Pages withdrawn again: they may not come back."""

    name = "publish: withdraw"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        with Engine(folder) as engine:
            for number in range(_PAGES):
                engine.publish(f"Page {number}", f"lighthouse word{number}", url=page_url(number))

    def run(self, folder: Path, marks: MarkWriter) -> None:
        inbox = Inbox(folder)
        for number in range(2):
            marks.begin(str(number))
            inbox.withdraw_page(page_url(number))
            marks.done(str(number))
        publish_everything(folder)

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        publish_everything(folder)
        seen = find_urls(folder, "lighthouse")
        every = {page_url(n) for n in range(_PAGES)}
        expect_between(every - {page_url(n) for n in begun}, seen, every - {page_url(n) for n in done}, "pages")


OPERATIONS: tuple[Operation, ...] = (InboxPublication(), Publication(), Withdrawal())
