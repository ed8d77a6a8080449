"""Code of others in a crawl: it sees pages and links, changes them, and cannot end the crawl."""

import sys

import msgspec
import pytest

from periplus.app import run_crawl
from periplus.crawl.policies import hooks as hooks_module
from periplus.crawl.policies.hooks import CrawlHooks
from periplus.errors import SettingsError
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.url import parse_address

MODULE = '''
import msgspec

seen = []

class Editor:
    """Changes pages and links."""

    def on_page(self, page, result):
        seen.append((page.url, result.status))
        if page.title == "Secret":
            return False
        if page.title == "Boom":
            raise ValueError("a page I cannot read.")
        return msgspec.structs.replace(page, title=page.title.upper(), url="http://forged.test/")

    def on_link(self, url, source):
        if url.endswith("/never"):
            return False
        return 5.0 if url.endswith("/soon") else None

class Exit:
    def on_page(self, page, result):
        raise SystemExit(3)

    def on_link(self, url, source):
        return "yes"

class Wrong:
    def on_page(self, page, result):
        return msgspec.structs.replace(page, links=7)

def on_page(page, result):
    seen.append("module")
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of somebody else's, on the path of Python while the test runs."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "their_hooks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    caches = (hooks_module._import_hook, hooks_module._installed_hooks)
    for cache in caches:
        cache.cache_clear()
    yield tmp_path / "code"
    sys.modules.pop("their_hooks", None)
    for cache in caches:
        cache.cache_clear()


def put_site(scripted):
    paths = ("/secret", "/boom", "/never", "/soon")
    links = " ".join(f'<a href="{path}">x</a>' for path in paths)
    scripted.put("http://a.test/", f"<title>Home</title><p>Where the crawl begins. {links}")
    for path in paths:
        scripted.put(f"http://a.test{path}", f"<title>{path[1:].title()}</title><p>The page at {path} and no other.")


def test_a_crawl_calls_hooks_and_survives_them(scripted, tmp_path, read_stored, module):
    put_site(scripted)
    names = ("their_hooks:Editor", "their_hooks:Exit", "their_hooks:Wrong", "their_hooks")
    settings = scripted.settings(tmp_path, "a.test", hooks=names)
    run = run_crawl(tmp_path / "data", settings, ["http://a.test/"])
    pages = {record.url: record.page for record in read_stored(tmp_path / "data", settings)}
    titles = {url.rpartition("/")[2]: (page.title, page.noindex) for url, page in pages.items()}
    assert titles == {"": ("HOME", False), "secret": ("Secret", True), "boom": ("Boom", False), "soon": ("SOON", False)}
    assert all(url == page.url for url, page in pages.items())
    assert scripted.requests[1] == "http://a.test/soon"
    assert "http://a.test/never" not in scripted.requests
    notes = "\n".join(run.statistics.notes)
    assert "their_hooks:Editor.on_page failed 1 times, last with ValueError: a page I cannot read." in notes
    assert "their_hooks:Exit.on_page failed 4 times, last with SystemExit: 3." in notes
    assert "their_hooks:Exit.on_link failed" in notes
    assert "their_hooks:Wrong.on_page failed 4 times" in notes
    seen = sys.modules["their_hooks"].seen
    assert sum(entry == "module" for entry in seen) == 4
    assert ("http://a.test/", 200) in seen


def test_hooks_of_installed_packages_are_found(module):
    info = module / "their_hooks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-hooks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[periplus.crawl]\neditor = their_hooks:Editor\nbroken = their_hooks:Nothing\n"
    )
    hooks = CrawlHooks(())
    address = parse_address("http://a.test/")
    record = FetchRecord(address.url, address.key, Outcome.OK, 0.0, page=Page(address.url, title="tide"))
    result = FetchResult(FetchRequest(address), Outcome.OK, 0.0, 200)
    assert hooks.visit_page(record, result).page.title == "TIDE"
    requests = [FetchRequest(parse_address(f"http://a.test/{name}")) for name in ("never", "soon", "x")]
    changed = hooks.visit_links(record, requests)
    assert [(request.address.path, request.rank) for request in changed] == [("/soon", 5.0), ("/x", 0.0)]
    assert list(hooks.failures) == ["their_hooks:Nothing"]
    assert msgspec.structs.asdict(record)["page"].title == "tide"


@pytest.mark.parametrize(
    "name", ["no_such_module:x", "their_hooks:Nothing", "their hooks", ":", "their_hooks:Editor.x.y"]
)
def test_a_hook_that_cannot_be_imported_is_refused(scripted, tmp_path, module, name):
    settings = scripted.settings(tmp_path, "a.test", hooks=(name,))
    with pytest.raises(SettingsError, match=r"crawl\.hooks"):
        run_crawl(tmp_path / "data", settings, ["http://a.test/"])
