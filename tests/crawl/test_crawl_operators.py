"""What operators do to a crawl and ask of it: block hosts while it runs, find hosts, see what fails and what is cut."""

import msgspec
import pytest

from periplus.crawl import Crawler, block_host, blocked_hosts, failure_examples, find_hosts, unblock_host
from periplus.crawl.crawl_metrics import as_metrics
from periplus.crawl.hosts import blocked_hosts as blocked_module
from periplus.errors import BadInput, CorruptFile

SEED = "http://a.test/"


@pytest.fixture(autouse=True)
def _look_in_every_step(monkeypatch):
    monkeypatch.setattr(blocked_module, "_LOOK_SECONDS", 0.0)


def test_a_host_is_blocked_and_unblocked_while_the_crawl_runs(scripted, tmp_path):
    data = tmp_path / "data"
    links = "".join(f"<a href='http://www.b.test/{n}'>{n}</a>" for n in range(5))
    scripted.put(SEED, f"<title>A</title><p>{links}<a href='http://c.test/'>c</a>")
    for n in range(5):
        scripted.put(f"http://www.b.test/{n}", f"<title>B{n}</title><p>text {n}")
    scripted.put("http://c.test/", "<title>C</title><p>other text")
    settings = scripted.settings(tmp_path, "a.test", "www.b.test", "c.test")
    settings = msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, scope="web"))
    assert block_host(data, "B.test") == "b.test"
    with Crawler(data, settings, [SEED]) as crawler:
        while crawler.step():
            pass
        assert sorted(scripted.requests) == [SEED, "http://c.test/"]
        cut = next(cut for cut in crawler.statistics().cuts if cut.kind == "blocked")
        assert (cut.count, cut.hosts) == (5, ("www.b.test",))
        metrics = as_metrics(crawler.statistics())
        assert 'periplus_crawl_cuts{kind="blocked",setting="",limit="0"} 5' in metrics
        unblock_host(data, "b.test")
        while crawler.statistics().pages < 7:
            crawler.step()
        assert [cut for cut in crawler.statistics().cuts if cut.kind == "blocked"] == []
    found = find_hosts(data, settings, "B.")
    assert [(row.host, row.fetched) for row in found] == [("www.b.test", 5)]
    assert {row.host for row in find_hosts(data, settings)} == {"a.test", "www.b.test", "c.test"}
    assert len(find_hosts(data, settings, count=1)) == 1
    assert find_hosts(data, settings, "nowhere") == []
    assert find_hosts(tmp_path / "other", settings) == []


def test_what_is_no_host_is_refused_and_a_damaged_list_is_named(tmp_path):
    for name in ("", " ", "a b", "http://", "x" * 300, "../x", "a\x00b"):
        with pytest.raises(BadInput):
            block_host(tmp_path, name)
    block_host(tmp_path, "https://Ex.test:8080/path")
    assert blocked_hosts(tmp_path) == ("ex.test",)
    with pytest.raises(BadInput):
        unblock_host(tmp_path, "other.test")
    (tmp_path / "crawl" / "blocked.json").write_bytes(b'{"format": 1, "hosts": ["x"], "checksum": "0"}')
    with pytest.raises(CorruptFile, match=r"blocked\.json"):
        blocked_hosts(tmp_path)


def test_failures_have_examples(scripted, tmp_path):
    links = "".join(f"<a href='/gone{n}'>{n}</a>" for n in range(6))
    scripted.put(SEED, f"<title>A</title><p>{links}")
    data = tmp_path / "data"
    Crawler(data, scripted.settings(tmp_path, "a.test"), [SEED]).run()
    found = failure_examples(data)
    assert [(one.status, one.found_on) for one in found["gone"]] == [(404, SEED)] * 3
    assert len({one.url for one in found["gone"]}) == 3
    log = next((data / "crawl").rglob("crawl.log"))
    with log.open("ab") as file:
        file.write(b"\xff broken line\n" + b"x " * 400_000 + b"\n")
    assert failure_examples(data) == {}, "what is too far back is not looked for"
    assert failure_examples(tmp_path / "other") == {}
