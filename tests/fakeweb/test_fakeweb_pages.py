"""What single answers look like: charsets, packing, freshness, files for machines, kept-out pages."""

import collections
import gzip
import json
import xml.etree.ElementTree as ElementTree
import zlib
from urllib.parse import urlsplit

from fakeweb_reading import PLAN, decode, get, read

from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.fakeweb.server.fake_response import FakeResponse, ResponseCache

NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def test_every_page_decodes_and_all_charsets_occur(web):
    seen = collections.Counter()
    for page in web.truth().pages:
        response = get(web, page.url)
        decode(response)
        label = response.header("content-type").partition("charset=")[2].lower()
        if not label:
            mark = response.body[:2] in (b"\xff\xfe", b"\xfe\xff")
            label = "utf-16" if mark else response.body.partition(b'<meta charset="')[2].partition(b'"')[0].decode()
        seen[label.lower()] += 1
    assert {"utf-8", "iso-8859-1", "windows-1252", "utf-16", "shift_jis", "euc-jp"} <= set(seen)


def test_pages_come_in_several_languages(web):
    counted = collections.Counter(page.language for page in web.truth().pages)
    assert set(counted) == {"en", "de", "fr", "es", "ja"}
    assert counted["en"] > sum(counted.values()) / 2


def test_pages_vary_in_size(web):
    sizes = sorted(len(get(web, page.url).body) for page in web.truth().pages if page.kind == "article")
    assert sizes[0] > 1_000
    assert sizes[-1] > 30_000
    assert sizes[-1] < 120_000


def test_packed_bodies_unpack_to_the_plain_one(web):
    for url in web.seeds:
        plain = get(web, url).body
        zipped, deflated = get(web, url, accept_encoding="gzip, br"), get(web, url, accept_encoding="deflate;q=0.5")
        assert zipped.header("content-encoding") == "gzip"
        assert gzip.decompress(zipped.body) == plain
        assert deflated.header("content-encoding") == "deflate"
        assert zlib.decompress(deflated.body) == plain


def test_a_page_that_did_not_change_is_not_sent_again(web):
    both = set()
    for page in web.truth().pages[:80]:
        response = get(web, page.url)
        tag, date = response.header("etag"), response.header("last-modified")
        both.add((bool(tag), bool(date)))
        if tag:
            again = get(web, page.url, if_none_match=tag)
            assert (again.status, again.body) == (304, b"")
            assert get(web, page.url, if_none_match='"other"').status == 200
        if date:
            assert get(web, page.url, if_modified_since=date).status == 304
            assert get(web, page.url, if_modified_since="Mon, 01 Jan 2001 00:00:00 GMT").status == 200
            assert get(web, page.url, if_modified_since="yesterday").status == 200
    assert both == {(True, True), (True, False), (False, True)}


def test_time_changes_some_pages_and_says_so():
    web = FakeWeb(FakeWebPlan(seed=2, hosts=4, pages=60))
    before = {page.url: get(web, page.url) for page in web.truth().pages}
    web.advance(4)
    after = {url: get(web, url) for url in before}
    changed = {url for url in before if before[url].body != after[url].body}
    assert 0.1 * len(before) < len(changed) < 0.8 * len(before)
    for url in before:
        assert (before[url].headers == after[url].headers) == (url not in changed)
    other = FakeWeb(FakeWebPlan(seed=2, hosts=4, pages=60))
    other.advance(4)
    assert all(get(other, url).body == response.body for url, response in after.items())


def test_robots_files_vary_and_forbid_what_the_truth_says(web):
    kinds = collections.Counter()
    for site in web.graph.sites:
        response = get(web, f"http://{site.name}/robots.txt")
        kinds[response.status, b"Crawl-delay" in response.body, b"print=1" in response.body] += 1
    assert kinds[200, True, False] == 1
    assert kinds[404, False, False]
    assert kinds[200, False, True]
    for url in web.truth().blocked:
        parts = urlsplit(url)
        rules = get(web, f"http://{parts.netloc}/robots.txt").body
        assert b"Disallow: /private/" in rules if parts.path.startswith("/private/") else b"print=1$" in rules
        assert get(web, url).status == 200


def test_no_good_page_is_forbidden(web):
    assert not any("/private/" in page.url or page.url.endswith("print=1") for page in web.truth().pages)


def sitemap_urls(web, url):
    body = get(web, url).body
    root = ElementTree.fromstring(gzip.decompress(body) if url.endswith(".gz") else body)
    places = [place.text for place in root.iter(f"{NAMESPACE}loc")]
    if root.tag == f"{NAMESPACE}sitemapindex":
        return [found for place in places for found in sitemap_urls(web, place)]
    return places


def test_sitemaps_list_the_pages_of_their_site(web):
    good = {page.url for page in web.truth().pages}
    named = collections.Counter()
    for site in web.graph.sites:
        for line in get(web, f"http://{site.name}/robots.txt").body.decode().splitlines():
            if line.startswith("Sitemap: "):
                urls = sitemap_urls(web, line.removeprefix("Sitemap: "))
                assert len(urls) == web.graph.size(site) + 1
                assert set(urls) <= good
                named[line.endswith("index.xml")] += 1
    assert named[True]
    assert named[False]


def test_feeds_parse_and_their_links_lead_to_good_pages(web):
    kinds = set()
    for site in web.graph.sites:
        response = get(web, f"http://{site.name}/feed.xml")
        if response.status == 404:
            continue
        root = ElementTree.fromstring(response.body)
        kinds.add(root.tag)
        links = [item.text for item in root.iter("link")] or [
            item.get("href") for item in root.iter("{http://www.w3.org/2005/Atom}link")
        ]
        assert links
        assert all(get(web, link).status == 200 for link in links)
    assert kinds == {"rss", "{http://www.w3.org/2005/Atom}feed"}


def test_tracking_parameters_change_nothing(web):
    for page in web.truth().pages[::50]:
        joint = "&" if "?" in page.url else "?"
        assert get(web, f"{page.url}{joint}utm_source=feed&utm_medium=x").body == get(web, page.url).body


def test_kept_out_pages_say_so(web):
    truth = web.truth()
    assert truth.noindex
    assert truth.unlisted
    for url in truth.noindex:
        assert read(web, url).metas["robots"] == "noindex"
    for url in truth.nofollow:
        page = read(web, url)
        assert page.metas["robots"] == "nofollow"
        assert any(link in truth.unlisted for link, _ in page.links)
    assert {get(web, url).status for url in truth.missing} == {404, 410}
    assert all(get(web, url).status == 200 for url in truth.unlisted)


def test_canonical_links_name_good_pages(web, good):
    named = [page.canonical for page in good.values() if page.canonical]
    assert len(named) > len(good) / 3
    assert all(page.canonical in ("", page.url) for page in good.values())
    printed = [url for url in web.truth().near_duplicates if url.endswith("print=1")]
    assert all(read(web, url).canonical == web.truth().near_duplicates[url] for url in printed)


def test_plain_text_pages_are_good_pages(web):
    texts = [page.url for page in web.truth().pages if page.url.endswith(".txt")]
    assert texts
    assert all(get(web, url).header("content-type").startswith("text/plain; charset=") for url in texts)


def test_what_does_not_exist_is_not_found(web):
    assert get(web, "http://nowhere.test/").status == 404
    assert get(web, f"{web.seeds[0]}no/such/page").status == 404
    assert get(web, f"{web.seeds[0]}sitemap-99.xml.gz").status == 404
    assert get(web, f"{web.seeds[0]}images/x-1.png").status == 404


def test_pictures_and_icons_are_png_and_each_its_own(web):
    (host, other), png = web.seeds[:2], b"\x89PNG\r\n\x1a\n"
    assert get(web, f"{host}images/1-1.png").body.startswith(png)
    assert get(web, f"{host}images/1-1.png").body == get(web, f"{host}images/1-1.png").body
    assert get(web, f"{host}images/1-1.png").body != get(web, f"{host}images/1-4.png").body
    assert get(web, f"{host}images/home.png").body != get(web, f"{other}images/home.png").body
    assert get(web, f"{host}favicon.ico").body.startswith(png)


def test_home_pages_state_who_keeps_them(web):
    text = decode(get(web, web.seeds[0]))
    stated = json.loads(text.partition('<script type="application/ld+json">')[2].partition("</script>")[0])
    assert stated["@type"] == "Organization"
    assert stated["name"] == web.graph.sites[0].title
    assert '<img src="/images/home.png"' in text


def test_trouble_leaves_the_good_web_as_it_was(web):
    troubled = FakeWeb(FakeWebPlan(PLAN.seed, PLAN.hosts, PLAN.pages, ("slow", "broken", "trap", "lying")))
    assert troubled.truth().pages == web.truth().pages
    assert troubled.hosts[: len(web.hosts)] == web.hosts
    for page in web.truth().pages[::7]:
        assert get(troubled, page.url).wire == get(web, page.url).wire
    assert web.truth().trouble_hosts == {}
    linked = {link for url in troubled.truth().noindex for link, _ in read(troubled, url).links}
    assert {f"http://{name}/" for name in troubled.truth().trouble_hosts} <= linked


def test_the_cache_keeps_within_its_bound():
    cache = ResponseCache(10_000)
    for number in range(100):
        cache.put(number, FakeResponse(200, (), b"x" * 1_000))
        assert cache.size <= 10_000
    assert cache.get(99) is not None
    assert cache.get(0) is None
