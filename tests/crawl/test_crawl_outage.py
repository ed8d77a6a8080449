"""Hosts that cannot be reached for longer than all tries: their pages come in the next run, or later in the same."""

from periplus.crawl import Crawler


def test_an_outage_loses_nothing(server, fast, fake_web, tmp_path, read_stored, urls_of):
    hosts, data = tmp_path / "hosts", tmp_path / "data"
    settings = fast()
    good = hosts.read_text()
    # Every host but one seed's refuses connections, while links to them are found.
    seed = fake_web.seeds[0].split("/")[2]
    lines = [line.split() for line in good.splitlines() if line and not line.startswith("#")]
    hosts.write_text("".join(f"{where if name == seed else '127.0.0.1:1'} {name}\n" for where, name in lines))
    first = Crawler(data, settings, fake_web.seeds).run()
    assert first.pages > 0
    assert first.errors["connect"] > first.given_up > 0
    truth = {page.url for page in fake_web.truth().pages}
    assert not truth <= urls_of(read_stored(data, settings))
    hosts.write_text(good)
    Crawler(data, settings).run()
    assert truth <= urls_of(read_stored(data, settings))


def test_a_long_crawl_asks_again_by_itself(server, fast, fake_web, tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.crawl.crawler._REVIVE_SECONDS", 0.0)
    with Crawler(tmp_path / "data", fast(), fake_web.seeds) as crawler:
        crawler.step()
        revived = []
        monkeypatch.setattr(crawler._state.frontier, "revive", lambda: revived.append(1))
        crawler.step()
        assert revived
