"""Crawling, resuming and resharding a crawl; importing; embedding; building the graph; repairing the index."""

import json
from pathlib import Path

import msgspec
from index_operations import check_whole, store_pages, urls_between
from operation import MarkWriter, Operation, expect, expect_between, find_urls, run_command
from scripted_web import ScriptedWeb

from embeddings.tiny_model import NaiveEncoder
from periplus.app import Engine
from periplus.crawl import Crawler
from periplus.crawl.sharding.resharding import reshard
from periplus.crawl.sharding.topology import read_topology
from periplus.embeddings import check_vectors, embed_index
from periplus.graph import Backlinks, Graph
from periplus.index import Index, check_index
from periplus.settings import EmbeddingSettings, Settings, StoreSettings
from periplus.store import PageStore
from store.store_samples import make_record, make_result

_PAGES = 8


def _web() -> ScriptedWeb:
    """Start a web of pages that link to the next two, on two hosts."""
    web = ScriptedWeb()
    for number in range(_PAGES):
        links = "".join(f'<a href="{_page(n)}">page {n}</a>' for n in (number + 1, number + 2) if n < _PAGES)
        web.put(_page(number), f"<title>Page {number}</title><p>harbour text word{number}</p>{links}")
    return web


def _page(number: int) -> str:
    return f"http://host{number % 2}.test/{number}"


def _settings(web: ScriptedWeb, folder: Path, **crawl: object) -> Settings:
    hosts = folder.with_name(f"{folder.name}-hosts")
    hosts.mkdir(exist_ok=True)
    settings = web.settings(
        hosts, "host0.test", "host1.test", scope="web", checkpoint_seconds=0.05, commit_seconds=0.02, **crawl
    )
    return msgspec.structs.replace(settings, folder=str(folder))


def _stored(folder: Path) -> list[str]:
    with PageStore.open(folder / "store", StoreSettings()) as store:
        return [record.url for record in store.records() if record.page is not None]


class Crawl(Operation):
    """A crawl from a seed to its end, with commits and checkpoints in between."""

    name = "crawl: fetch, checkpoint, resume"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        web = _web()
        marks.begin("crawl")
        with Crawler(folder, _settings(web, folder), [_page(0)]) as crawler:
            crawler.run()
        expect(set(_stored(folder)) == {_page(n) for n in range(_PAGES)}, "the crawl ended without all pages")
        marks.done("crawl")
        web.close()

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        every = {_page(n) for n in range(_PAGES)}
        if done:
            expect_between(every, _stored(folder), every, "crawled pages")
        web = _web()
        with Crawler(folder, _settings(web, folder), [_page(0)]) as crawler:
            crawler.run()
        stored = _stored(folder)
        expect(set(stored) == every, f"not all pages after resuming: {sorted(every - set(stored))}")
        expect(len(stored) == len(every), f"pages are stored twice: {sorted(stored)}")
        expect(not done or not web.requests, f"fetched again: {web.requests}")
        web.close()


class Resharding(Operation):
    """A crawl that has stopped half way, changed to three shards."""

    name = "crawl: resize shards"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        web = _web()
        with Crawler(folder, _settings(web, folder, pages=3), [_page(0)]) as crawler:
            crawler.run()
        web.close()

    def run(self, folder: Path, marks: MarkWriter) -> None:
        web = _web()
        marks.begin("3")
        reshard(folder, _settings(web, folder), 3, [])
        marks.done("3")
        web.close()

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        shards = len(read_topology(folder).shards)
        expect(shards == 3 if done else shards in (1, 3), f"{shards} shards")
        web = _web()
        settings = _settings(web, folder)
        reshard(folder, settings, 1, [])
        with Crawler(folder, settings) as crawler:
            crawler.run()
        web.close()
        every = {_page(n) for n in range(_PAGES)}
        stored = _stored(folder)
        expect(set(stored) == every, f"not all pages after resizing: {sorted(every - set(stored))}")
        expect(len(stored) == len(every), f"pages are stored twice: {sorted(stored)}")


class JsonImport(Operation):
    """Documents of a JSONL file imported and indexed by the command."""

    name = "import: JSONL"
    urls = frozenset(f"http://docs.test/{number}" for number in range(6))

    def source(self, folder: Path) -> Path:
        """Return the file to import, beside the data folder."""
        return folder.with_name("documents.jsonl")

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        documents = [{"url": url, "title": "Harbour", "text": f"harbour {url[-1]}"} for url in sorted(self.urls)]
        self.source(folder).write_text("\n".join(map(json.dumps, documents)))

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("import")
        run_command("import", self.source(folder), "--folder", folder)
        marks.done("import")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        if done:
            expect(self.urls <= set(_stored(folder)), "imported pages are lost")
            expect(set(find_urls(folder, "harbour")) == self.urls, "imported pages are not found")
            check_whole(folder)
        run_command("import", self.source(folder), "--folder", folder)
        expect(set(find_urls(folder, "harbour")) == self.urls, "pages that are imported again are not found")
        check_whole(folder)


class WarcImport(JsonImport):
    """Pages of a WARC file imported and indexed by the command."""

    name = "import: WARC"
    urls = frozenset(make_record(number).url for number in range(4))

    def source(self, folder: Path) -> Path:
        return folder.with_name("pages.warc.zst")

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store = folder.with_name("source-store")
        if not self.source(folder).exists():
            with PageStore.open(store, StoreSettings(), write=True) as written:
                for number in range(len(self.urls)):
                    written.append(make_record(number), make_result(number, b"<title>x</title><p>harbour %d" % number))
            self.source(folder).write_bytes((store / "pages-00000.warc.zst").read_bytes())


class GraphBuild(Operation):
    """The link graph built over an older one, by the command."""

    name = "graph: build"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store_pages(folder, 0, 6)
        Engine(folder).build()
        store_pages(folder, 6, 10)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("graph")
        run_command("rank", "pagerank", "--folder", folder)
        marks.done("graph")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        Graph.open(folder / "graph")
        Backlinks.open(folder / "graph")
        expect(set(find_urls(folder, "harbour")) == urls_between(0, 6), "the index has changed")
        run_command("rank", "pagerank", "--folder", folder)
        ranks = Graph.open(folder / "graph").all_page_ranks
        expect(len(ranks) >= 10, f"the graph has {len(ranks)} pages")
        Engine(folder).build()
        expect(set(find_urls(folder, "harbour")) == urls_between(0, 10), "a build afterwards is incomplete")


_EMBEDDING = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4)


class Embedding(Operation):
    """The vectors of all pages computed."""

    name = "embeddings: compute"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store_pages(folder, 0, 6)
        Engine(folder).build()

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("embed")
        embed_index(folder / "index", _EMBEDDING, encoder=NaiveEncoder())
        marks.done("embed")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        if done:  # the log of an unfinished run may have a torn end, which the next run removes
            expect(not check_vectors(folder / "index"), f"damaged vectors: {check_vectors(folder / 'index')}")
        statistics = embed_index(folder / "index", _EMBEDDING, encoder=NaiveEncoder())
        expect(not done or not statistics.documents, f"the vectors of {statistics.documents} pages are lost")
        expect(not statistics.pending, "vectors are missing")
        expect(not check_vectors(folder / "index"), f"damaged vectors: {check_vectors(folder / 'index')}")
        expect(set(find_urls(folder, "harbour")) == urls_between(0, 6), "pages are lost")


class IndexRepair(Operation):
    """A damaged segment replaced, by the command."""

    name = "index: repair"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store_pages(folder, 0, 6)
        Engine(folder).build()
        with Engine(folder) as engine:
            engine.publish("Page", "harbour published", url="https://site0.test/published")
        segment = folder / "index" / Index.open(folder / "index").segments[0].name
        file = max(segment.iterdir(), key=lambda path: path.stat().st_size)
        raw = bytearray(file.read_bytes())
        raw[-100] ^= 64
        file.write_bytes(raw)
        expect(check_index(folder / "index"), "the damage is not seen")

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("repair")
        run_command("index", "repair", "--folder", folder)
        marks.done("repair")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        if done:
            check_whole(folder)
        else:
            run_command("index", "repair", "--folder", folder)
            check_whole(folder)
        seen = set(find_urls(folder, "harbour"))
        expect(seen == urls_between(0, 6) | {"https://site0.test/published"}, f"after the repair: {sorted(seen)}")
        Engine(folder).build()


OPERATIONS: tuple[Operation, ...] = (
    Crawl(),
    Resharding(),
    JsonImport(),
    WarcImport(),
    GraphBuild(),
    Embedding(),
    IndexRepair(),
)
