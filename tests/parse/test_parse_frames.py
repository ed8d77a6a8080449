"""Frames are followed, iframes as weak links; what nobody sees is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.frames import frame_tags
from periplus.parse import parse
from periplus.parse.html.frames import extract_frames
from periplus.parse.html.kernels.frame_tags import find_frame_tags
from periplus.records import FetchRequest, FetchResult, Link, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address

HERE = "https://a.example/dir/page"


def links(markup, **headers):
    given = (("content-type", "text/html"), *((name.replace("_", "-"), value) for name, value in headers.items()))
    make_result = FetchResult(FetchRequest(parse_address(HERE)), Outcome.OK, 0.0, 200, given, markup.encode())
    page = parse(make_result, ParseSettings())
    assert page is not None
    return page.links


def test_framesets_lead_to_their_frames():
    markup = "<html><frameset cols=20%,*><frame src=menu.html><FRAME name=x SRC='/main?a=1&amp;b=2'></frameset></html>"
    assert links(markup) == (Link("https://a.example/dir/menu.html"), Link("https://a.example/main?a=1&b=2"))


def test_iframes_are_weak_links_without_text():
    markup = "<base href='/base/'><p>See <a href=one>one</a><iframe src=one>text</iframe><iframe src='two#x' title=T>"
    assert links(markup) == (
        Link("https://a.example/base/one", "one"),
        Link("https://a.example/base/two", "", False, True),
    )


def test_nofollow_holds_for_frames_too():
    markup = "<meta name=robots content=nofollow><iframe src=two></iframe>"
    assert links(markup) == (Link("https://a.example/dir/two", "", True, True),)
    assert all(link.nofollow for link in links("<iframe src=two></iframe>", x_robots_tag="nofollow"))


@pytest.mark.parametrize(
    "markup",
    [
        "<!-- <iframe src=x> -->",
        "<script>document.write('<iframe src=x></iframe>')</script>",
        "<SCRIPT\n>'<iframe src=x>'</SCRIPT >",
        "<style><iframe src=x></style>",
        "<template><iframe src=x></iframe></template>",
        "<textarea><iframe src=x></iframe></textarea>",
        "<!-- <iframe src=x>",
        "<iframe>x</iframe>",
        "<iframe src>",
        "<iframe data-src=x>",
        "<iframe src='  '>",
        "<iframes src=x>",
        "<iframe src=x height=0 width=0>",
        "<iframe src=x width='1px'>",
        "<iframe src=x style='display: none'>",
        "<iframe src=x hidden>",
        "a frame of mind",
    ],
)
def test_invisible_frames_are_ignored(markup):
    assert extract_frames(markup.encode()) == []


def test_references_that_are_not_crawled_are_ignored():
    assert links("<iframe src='javascript:x()'></iframe><iframe src='about:blank'></iframe><iframe src='#a'>") == ()


def test_frames_after_scripts_and_comments_are_found():
    markup = b"<script>'<iframe src=a>'</script><!--x--><iframe width=100% src=b><style>x</style><iframe src=\"c\"/>"
    assert extract_frames(markup) == [("b", True), ("c", True)]


@given(
    st.lists(st.sampled_from(["<iframe ", "src=", "x", ">", "<!--", "-->", "<script>", "</script", '"', "'", " ", "é"]))
)
def test_any_markup_is_read(parts):
    for source, _ in extract_frames("".join(parts).encode()):
        assert source


PIECES = ["<iframe", "<FRAME", "<iframes", "<!--", "--", "-->", "<script", "</scRipt", "<textarea", "<textareas"]


@given(st.lists(st.sampled_from([*PIECES, "</textarea", "<x-script", " ", "\n", "/", ">", "<", "src=x", "é"])))
def test_the_kernel_finds_what_its_twin_finds(parts):
    markup = "".join(parts).encode().decode("latin-1")
    data = markup.encode("latin-1")
    assert (find_frame_tags(data, 1_000).tolist() if data else []) == frame_tags(markup)


@pytest.mark.parametrize(
    "piece", [b"<iframe ", b"<!--", b"<script>", b'<iframe src="', b"<iframe src=x>", b"</script <iframe"]
)
def test_hostile_markup_is_bounded(piece):
    """Were it not linear, this would not end."""
    assert len(extract_frames(b"frame" + piece * 200_000)) <= 50
