"""Media that pages only link to, and episodes of podcasts: found in the media tab like those that pages embed."""

from hypothesis import given
from hypothesis import strategies as st

from periplus.app import build_graph_and_index, run_crawl, search_folder
from periplus.parse.media_kinds import media_kind
from periplus.parse.media_links import linked_media
from periplus.records import Link, Media, Query

RSS = """<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>Keeper's hour</title>
<description>A podcast about lights.</description>
<item><title>The foghorn of Sumburgh</title><enclosure url="/e/1.mp3" length="1" type="audio/mpeg"/></item>
<item><title>Lenses by Fresnel</title><media:content url="/e/2" medium="video"/></item></channel></rss>"""


def test_kinds_are_told_by_the_extension():
    assert media_kind("http://a.test/x.OGG?download=1") == "audio"
    assert media_kind("http://a.test/film.webm") == "video"
    assert media_kind("http://a.test/p.jpeg") == "image"
    assert [media_kind(url) for url in ("http://mp3.mp3/", "http://a.test/ogg", "http://a.test/?x.mp3", "")] == [""] * 4


def test_a_link_is_described_by_its_text_and_the_name_of_the_file():
    links = [
        Link("http://a.test/tide_song.ogg", "Download"),
        Link("http://a.test/b.mp4", ""),
        Link("http://a.test/tide-song.mp3", "The Tide Song, live"),
        Link("http://a.test/page", "A page"),
    ]
    assert linked_media(links) == [
        Media("http://a.test/tide_song.ogg", "audio", "Download (tide song)"),
        Media("http://a.test/b.mp4", "video", "b"),
        Media("http://a.test/tide-song.mp3", "audio", "The Tide Song, live"),
    ]
    assert len(linked_media([Link(f"http://a.test/{n}.mp3") for n in range(100_000)])) == 50


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_link_has_a_kind_or_none(url, text):
    assert media_kind(url) in ("", "audio", "video", "image")
    linked_media([Link(url, text)])


def test_linked_media_and_podcasts_are_found(scripted, tmp_path):
    scripted.put(
        "http://a.test/",
        "<title>Recordings</title><link rel=alternate type='application/rss+xml' href='/feed.xml'>"
        "<p>Sounds from the archive of the coast. <a href='/sounds/curlew.ogg'>Call of the curlew</a>",
    )
    scripted.put("http://a.test/feed.xml", RSS, "application/rss+xml")
    settings = scripted.settings(tmp_path, "a.test")
    data = tmp_path / "data"
    run_crawl(data, settings, ["http://a.test/"])
    assert "http://a.test/sounds/curlew.ogg" not in scripted.requests
    build_graph_and_index(data, settings)

    def found(words):
        hits = search_folder(data, settings, Query(words, having="media")).hits
        return {(hit.url, media.url, media.kind) for hit in hits for media in hit.media}

    assert ("http://a.test/", "http://a.test/sounds/curlew.ogg", "audio") in found("curlew")
    assert ("http://a.test/feed.xml", "http://a.test/e/1.mp3", "audio") in found("foghorn")
    assert ("http://a.test/feed.xml", "http://a.test/e/2", "video") in found("fresnel")
