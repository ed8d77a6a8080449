"""HTML to a Page: one pass in a kernel, and strings of the rows it leaves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from periplus.parse.charset.decoding import decode_to_utf8
from periplus.parse.formats.service_description import service_kind
from periplus.parse.html.flat_page import FlatPage, RowKind
from periplus.parse.html.frames import extract_frames
from periplus.parse.html.kernels.markup_hints import FRAMES
from periplus.parse.html.page_strings import PageStrings, scan_with_strings
from periplus.parse.html.structured_data import StructuredData, extract_structured_data
from periplus.parse.link_collector import LinkCollector, collect_clean
from periplus.parse.page_description import date_in_url, find_main_spans
from periplus.parse.page_flags import FlagCollector, MarkupEvidence, find_flags
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["parse_html", "parse_html_each", "parse_markup"]

_MAX_TITLE: Final = 300
_MAX_HEADING: Final = 300
_MAX_PHRASE: Final = 100
_MAX_LINK_TEXT: Final = 300
_MAX_HEADINGS: Final = 64
_MAX_EMPHASIS: Final = 200
_MAX_IMAGES: Final = 100
_MAX_BYTES: Final = 8 * 1024 * 1024


class HtmlScan:
    """A page that is being parsed, and what the stages have made of it so far."""

    flat: FlatPage
    strings: PageStrings
    head: PageHead
    links: tuple[Link, ...]
    images: tuple[Link, ...]
    headings: tuple[str, ...]
    spans: tuple[int, ...]
    data: StructuredData
    collector: FlagCollector
    page: Page

    def __init__(self, result: FetchResult, settings: ParseSettings) -> None:
        self.result, self.settings = result, settings
        self.charset = self.text = self.title = self.preview = self.service = ""

    def markup_page(self) -> Page:
        """Return the page with what its markup states."""
        head = self.head
        return Page(
            url=self.result.request.address.url,
            title=self.title,
            headings=self.headings,
            emphasis=_read_emphasis(self.strings),
            text=self.text,
            links=self.links,
            canonical=head.canonical,
            description=head.description,
            language=head.language,
            charset=self.charset,
            noindex=head.noindex,
            nofollow=head.nofollow,
            flags=head.robots.flags,
            published=head.published,
            feeds=tuple(head.feeds),
            images=self.images,
        )

    def described_page(self) -> Page:
        """Return the page with all that can be derived from it."""
        head, data, collector = self.head, self.data, self.collector
        url, robots = self.result.request.address.url, head.robots
        return Page(
            url=url,
            title=self.title,
            headings=self.headings,
            emphasis=_read_emphasis(self.strings),
            text=self.text,
            links=self.links,
            canonical=head.canonical,
            description=head.description,
            language=head.language,
            charset=self.charset,
            noindex=robots.noindex,
            nofollow=robots.nofollow,
            published=head.published or data.published or date_in_url(url),
            feeds=tuple(head.feeds),
            images=self.images,
            author=data.author,
            main=self.spans,
            preview=self.preview or head.description,
            facts=tuple(data.facts),
            media=tuple(data.media.values()),
            service=self.service,
            flags=robots.flags | collector.flags,
            reasons=tuple(collector.reasons),
        )


def _scan_markup(scan: HtmlScan) -> None:
    result, settings = scan.result, scan.settings
    data, scan.charset = decode_to_utf8(result.body[:_MAX_BYTES], result.header("content-type"))
    flat = scan.flat = scan_with_strings(data, settings.max_depth, 4 * settings.all_links)
    assert flat.strings is not None
    scan.strings = flat.strings
    scan.text = flat.text[: settings.max_text].rstrip()


def _read_titles(scan: HtmlScan) -> None:
    strings = scan.strings
    scan.head = _read_head(scan.flat, strings, scan.result, scan.settings.robot)
    scan.headings = _read_headings(strings)
    titles = [one_line(title, _MAX_TITLE) for title in strings.titles]
    scan.title = "".join(titles) or (scan.headings[0] if scan.headings else "")


def _collect_links(scan: HtmlScan) -> None:
    scan.links = _read_links(scan.flat, scan.strings, scan.head, scan.settings.all_links)


def _collect_images(scan: HtmlScan) -> None:
    scan.images = _read_images(scan.flat, scan.head.base)


def _find_main_content(scan: HtmlScan) -> None:
    scan.spans, scan.preview = find_main_spans(scan.text, scan.flat)


def _extract_data(scan: HtmlScan) -> None:
    _collect_images(scan)  # here, as the references of images are resolved once if nothing comes between
    scan.data = extract_structured_data(scan.flat, scan.result.request.address.url)


def _judge_page(scan: HtmlScan) -> None:
    scan.data.add_linked_media(scan.links)
    evidence = MarkupEvidence(scan.flat, scan.data.is_free, scan.text)
    domain = scan.result.request.address.domain
    scan.collector = find_flags(scan.title, scan.text, scan.links, domain, evidence)
    scan.service = service_kind(scan.title, scan.text, scan.links, evidence.text_hints)


def _finish(scan: HtmlScan) -> None:
    scan.page = scan.described_page()
    scan.flat.release()


_MARKUP_STAGES: Final = (_scan_markup, _read_titles, _collect_links, _collect_images)
STAGES: Final[Sequence[Callable[[HtmlScan], None]]] = (
    _scan_markup,
    _read_titles,
    _collect_links,
    _find_main_content,
    _extract_data,
    _judge_page,
    _finish,
)
"""What is done for a page, one after the other."""


def parse_html(result: FetchResult, settings: ParseSettings) -> Page:
    """Return the page of HTML of any quality, with all that can be derived from it, in time linear in its length."""
    (page,) = parse_html_each([result], settings)
    if isinstance(page, Exception):
        raise page
    return page


def parse_html_each(results: Iterable[FetchResult], settings: ParseSettings) -> list[Page | Exception]:
    """Return the page of each result as `parse_html` does, or what was raised for it.

    Each stage is run for all pages before the next one is: so its code and its tables are in the caches of the
    processor for all pages but the first. All scans are held meanwhile, so callers bound how many bytes there are.
    """
    scans = [HtmlScan(result, settings) for result in results]
    faults: dict[HtmlScan, Exception] = {}
    for stage in STAGES:
        for scan in scans if not faults else [scan for scan in scans if scan not in faults]:
            try:
                stage(scan)
            except Exception as error:
                faults[scan] = error
    return [faults.get(scan) or scan.page for scan in scans]


def parse_markup(result: FetchResult, settings: ParseSettings) -> tuple[Page, FlatPage]:
    """Return the page of HTML with what its markup states, and the scan to derive more from."""
    scan = HtmlScan(result, settings)
    for stage in _MARKUP_STAGES:
        stage(scan)
    return scan.markup_page(), scan.flat


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
    sources, texts, _ = flat.images  # of a tuple, all is the tuple itself
    return collect_clean(sources[: 2 * _MAX_IMAGES], texts[: 2 * _MAX_IMAGES], base, _MAX_IMAGES)
