"""HTML to a Page: one pass in a kernel, and strings of the rows it leaves."""

from typing import Final

from periplus.parse.charset.decoding import decode_to_utf8
from periplus.parse.html.flat_page import FlatPage, RowKind, parse_flat_page
from periplus.parse.html.frames import extract_frames
from periplus.parse.html.kernels.markup_hints import FRAMES
from periplus.parse.html.page_strings import PageStrings, gather_strings
from periplus.parse.link_collector import LinkCollector
from periplus.parse.page_description import describe_html
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["parse_html", "parse_markup"]

_MAX_TITLE: Final = 300
_MAX_HEADING: Final = 300
_MAX_PHRASE: Final = 100
_MAX_LINK_TEXT: Final = 300
_MAX_HEADINGS: Final = 64
_MAX_EMPHASIS: Final = 200
_MAX_IMAGES: Final = 100
_MAX_BYTES: Final = 8 * 1024 * 1024


def parse_html(result: FetchResult, settings: ParseSettings) -> Page:
    """Return the page of HTML of any quality, with all that can be derived from it, in time linear in its length."""
    page, flat = parse_markup(result, settings)
    described = describe_html(page, flat, result.request.address.domain)
    flat.release()
    return described


def parse_markup(result: FetchResult, settings: ParseSettings) -> tuple[Page, FlatPage]:
    """Return the page of HTML with what its markup states, and the scan to derive more from."""
    data, charset = decode_to_utf8(result.body[:_MAX_BYTES], result.header("content-type"))
    flat = parse_flat_page(data, settings.max_depth)
    strings = flat.strings = gather_strings(flat, 4 * settings.all_links)
    head = _read_head(flat, strings, result, settings.robot)
    headings = _read_headings(strings)
    titles = [one_line(title, _MAX_TITLE) for title in strings.titles]
    page = Page(
        url=result.request.address.url,
        title="".join(titles) or (headings[0] if headings else ""),
        headings=headings,
        emphasis=_read_emphasis(strings),
        text=flat.text[: settings.max_text].rstrip(),
        links=_read_links(flat, strings, head, settings.all_links),
        canonical=head.canonical,
        description=head.description,
        language=head.language,
        charset=charset,
        noindex=head.noindex,
        nofollow=head.nofollow,
        flags=head.robots.flags,
        published=head.published,
        feeds=tuple(head.feeds),
        images=_read_images(flat, head.base),
    )
    return page, flat


def _read_head(flat: FlatPage, strings: PageStrings, result: FetchResult, robot: str) -> PageHead:
    head = PageHead(result, result.request.address.url, robot)
    for language in strings.languages:
        head.set_language(language)
    for target in strings.bases:
        head.set_base(target)
    for name, content, pragma in flat.meta:
        head.add_meta(name, content, pragma)
    references = strings.references
    for relation, target, media_type in zip(references[::3], references[1::3], references[2::3], strict=True):
        head.add_link(relation, target, media_type)
    for script in flat.scripts:
        if b"datePublished" in script:
            head.add_json_ld(script.decode("utf-8", "ignore"))
    for date in strings.times:
        head.published = head.published or parse_iso_date(date)
    return head


def _read_headings(strings: PageStrings) -> tuple[str, ...]:
    upper = strings.headings[:_MAX_HEADINGS]
    return tuple(filter(None, [text.strip()[:_MAX_HEADING].rstrip() for text in upper]))


def _read_emphasis(strings: PageStrings) -> tuple[str, ...]:
    phrases = dict.fromkeys(strings.emphasis)
    return tuple([phrase for phrase in phrases if 0 < len(phrase) <= _MAX_PHRASE])[:_MAX_EMPHASIS]


def _read_links(flat: FlatPage, strings: PageStrings, head: PageHead, max_links: int) -> tuple[Link, ...]:
    links = LinkCollector(head.base, max_links)
    links.add(head.refresh)
    texts = strings.link_texts
    if strings.link_labels:
        # A link without text may have an image with an alternative text, or a label.
        labels = iter([one_line(label, _MAX_LINK_TEXT) for label in strings.link_labels])
        instead = iter([image_text or label for image_text, label in zip(labels, labels, strict=True)])
        texts = [text or next(instead) for text in texts]
    nofollow: list[bool] = []
    if strings.link_bits & RowKind.NOFOLLOW:
        nofollow = [number & RowKind.NOFOLLOW != 0 for number in flat.numbers_of(strings.link_rows)]
    links.add_all(strings.links, texts, nofollow)
    for reference in head.alternates:
        links.add(reference)
    for source, is_inline in extract_frames(flat.data) if flat.hints & FRAMES else ():
        links.add_weak(source) if is_inline else links.add(source)
    return links.collected(head.nofollow)


def _read_images(flat: FlatPage, base: str) -> tuple[Link, ...]:
    images = LinkCollector(base, _MAX_IMAGES)
    sources, texts, _ = flat.images
    images.add_clean(sources[: 2 * _MAX_IMAGES], texts[: 2 * _MAX_IMAGES])  # of a tuple, all is the tuple itself
    return images.collected()
