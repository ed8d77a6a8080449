"""Filters by regular expressions and by word lists."""

import msgspec
import pytest

from periplus.app import run_crawl
from periplus.crawl.policies.profanity import ProfanityFilter
from periplus.crawl.policies.url_filter import UrlFilter
from periplus.crawl.policies.url_patterns import UrlPatterns
from periplus.errors import SettingsError
from periplus.settings import CrawlSettings
from periplus.url import parse_address


def accepted(settings, *urls):
    url_filter = UrlFilter(settings)
    return [url for url in urls if url_filter.accepts(parse_address(url))]


def test_patterns_are_globs_or_expressions():
    urls = ["http://a.test/2024/x", "http://a.test/about", "http://a.test/x.cgi?id=7", "http://b.test/"]
    assert accepted(CrawlSettings(include=(r"re:/\d{4}/",)), *urls) == urls[:1]
    assert accepted(CrawlSettings(include=(r"re:/\d{4}/", "*about*")), *urls) == urls[:2]
    assert accepted(CrawlSettings(exclude=(r"re:^http://a\.test/.*[?&]id=\d+$",)), *urls) == [*urls[:2], urls[3]]
    assert accepted(CrawlSettings(exclude=("re:(?i)ABOUT", "re:b[.]test")), *urls) == [urls[0], urls[2]]


@pytest.mark.parametrize("wrong", ["(", "a{2000}", "(?=x)", r"(a)\1", "[z-a]", "\udcff"])
@pytest.mark.parametrize("name", ["include", "exclude"])
def test_a_wrong_expression_is_refused_with_its_setting(name, wrong):
    with pytest.raises(SettingsError, match=rf"crawl\.{name}"):
        UrlFilter(CrawlSettings(**{name: ("*fine*", f"re:{wrong}")}))


def test_an_expression_that_would_backtrack_takes_linear_time():
    patterns = UrlPatterns(("re:^(a+)+$", "re:(a|a)*b(c|c)*d"), "crawl.exclude")
    assert not patterns.match("a" * 1_000_000 + "!")
    assert patterns.match("a" * 1_000_000)


def test_whole_words_and_phrases_of_a_list_are_found(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("# not these\nFrobnicate\nsilly walk  # a phrase\nGrüße\n\n", "utf-8")
    profanity = ProfanityFilter.read(CrawlSettings(profanity=(str(words),)))
    assert profanity.finds_in_url("http://a.test/a_FROBNICATE-7/")
    assert profanity.finds_in_url("http://a.test/gr%C3%BC%C3%9Fe")
    assert profanity.finds_in_url("http://a.test/silly-walk")
    assert not profanity.finds_in_url("http://a.test/frobnicated/silly/x/walk")
    assert profanity.count("frobnicate frobnicate, Frobnicate!", 9) == 3
    assert profanity.count("frobnicate " * 9, 4) == 4
    built_in = ProfanityFilter.read(CrawlSettings(profanity=("builtin",)))
    assert not built_in.finds_in_url("http://scunthorpe.test/class/assessment/cocktail-Essex-shitake")
    assert ProfanityFilter.read(CrawlSettings()) is None


def test_a_list_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("missing", "binary"):
        with pytest.raises(SettingsError, match=r"crawl\.profanity"):
            UrlFilter(CrawlSettings(profanity=(str(tmp_path / name),)))


def test_a_crawl_leaves_out_what_the_lists_name(scripted, tmp_path, read_stored):
    words = tmp_path / "words.txt"
    words.write_text("frobnicate\n")
    links = " ".join(
        f'<a href="{path}">x</a>' for path in ("/good", "/frobnicate/1", "/title", "/text", "/once", "/n/12")
    )
    scripted.put("http://a.test/", f"<title>Home</title><p>Where it begins, and all else is named. {links}")
    scripted.put("http://a.test/good", "<title>Good</title><p>An ordinary page about tides.")
    scripted.put("http://a.test/title", "<title>How to frobnicate</title><p>A page with a title.")
    scripted.put("http://a.test/text", "<title>Text</title><p>We frobnicate, you frobnicate, they frobnicate.")
    scripted.put("http://a.test/once", "<title>Once</title><p>Some say frobnicate where others say tune.")
    scripted.put("http://a.test/frobnicate/1", "<title>Never fetched</title>")
    scripted.put("http://a.test/n/12", "<title>Never fetched either</title>")
    settings = scripted.settings(tmp_path, "a.test", profanity=(str(words),), exclude=(r"re:/\d+$",))
    run_crawl(tmp_path / "data", settings, ["http://a.test/"])
    records = read_stored(tmp_path / "data", settings)
    pages = {record.url.rpartition("/")[2]: record.page for record in records if record.page}
    assert {name: page.noindex for name, page in pages.items()} == {
        "": False,
        "good": False,
        "title": True,
        "text": True,
        "once": False,
    }
    assert "crawl.profanity" in pages["text"].reasons[-1]
    bad = msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, exclude=("re:(",)))
    with pytest.raises(SettingsError, match=r"crawl\.exclude"):
        run_crawl(tmp_path / "other", bad, ["http://a.test/"])
