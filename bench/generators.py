"""Documentation pages by the generator that wrote them, with the element in which each generator puts its content.

A folder of HTML, such as /usr/share/doc with Debian's documentation packages, is read; a generator is recognized by its
own markup, and the truth about a page is that markup: what is inside the content element is content, and what is in the
elements that the generator makes for navigation is not. None of it is shown to the extraction.
"""

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

DEFAULT_FOLDER: Final = Path("/usr/share/doc")
_MAX_BYTES: Final = 400_000
_MIN_BYTES: Final = 1_500
_HIDDEN: Final = "script, style, noscript, template, title, head, button, select, svg, iframe, textarea, .headerlink"
_MOST_FILES: Final = 400


class Generator(NamedTuple):
    """A program that writes documentation."""

    name: str
    signature: str
    """A regular expression that only its pages match."""
    content: str
    """Selector of the elements with the content."""
    navigation: str = ""
    """Selector of navigation, also where it is within the content."""


GENERATORS: Final = (
    Generator("javadoc", r'name="generator" content="javadoc/', "main", "nav, .sub-nav, footer, .toc"),
    Generator(
        "rustdoc",
        r'name="generator" content="rustdoc"',
        "#main-content",
        "nav, .sidebar, .search-form, .src-line-numbers",
    ),
    Generator("mdbook", r"<!-- Book generated using mdBook", "main", "nav, #sidebar, #menu-bar, .nav-wrapper"),
    Generator(
        "pydata-sphinx",
        r"pydata-sphinx-theme|bd-sidebar",
        "main article, main > div",
        "nav, .bd-sidebar, .bd-toc, .prev-next-area",
    ),
    Generator("sphinx-rtd", r"wy-nav-content", 'div[itemprop="articleBody"]', 'nav, footer, [role="navigation"]'),
    Generator(
        "sphinx-django",
        r'id="yui-main"',
        "#yui-main",
        '[role="navigation"], .nav, #global-nav, #sidebar, .sphinxsidebar',
    ),
    Generator(
        "sphinx",
        r'class="bodywrapper"',
        "div.body",
        '[role="navigation"], .related, .sphinxsidebar, .footer, #searchbox, .contents.local, .mobile-nav',
    ),
    Generator(
        "gtk-doc",
        r"(?i)gtk-doc|class=\"navigation\" id=\"top\"",
        "body",
        "table.navigation, div.footer, hr, .titlepage .toc, p.title",
    ),
    Generator("boost", r'class="spirit-nav"', "body", ".spirit-nav, .copyright-footer, .toc, body > table, body > p"),
    Generator("docbook", r'generator" content="DocBook', "body", ".navheader, .navfooter, .toc, .list-of-tables"),
    Generator(
        "doxygen",
        r'name="generator" content="Doxygen',
        "div.header div.title, div.contents",
        "#top, #side-nav, #nav-path, .navpath, #main-nav, .toc, .summary, .ttc",
    ),
    Generator("qdoc", r'id="qtdocheader"', ".mainContent", ".sidebar, .navigationbar, .footer, .breadcrumb, .header"),
    Generator(
        "texinfo",
        r'(?i)name="Generator" content="(makeinfo|texi2any)',
        "body",
        "div.header, div.nav-panel, .contents, .shortcontents, .mini_toc, .menu, .node",
    ),
    Generator("asciidoc", r'generator" content="AsciiDoc', "#header h1, #content, #preamble", "#footer, #toc"),
    Generator(
        "haddock",
        r"(?i)produced by haddock|id=\"package-header\"",
        "#content",
        "#package-header, #footer, #table-of-contents, #contents-list",
    ),
    Generator(
        "scribble",
        r"scribble-racket|class=\"maincolumn\"",
        "div.main",
        ".navsettop, .navsetbottom, .tocset, .versionbox",
    ),
    Generator("mkdocs", r"mkdocs|bs-sidebar", '[role="main"]', ".navbar, .bs-sidebar, footer, nav"),
    Generator("nodejs", r'id="apicontent"', "#apicontent", "#column2, #toc, .toc, #gtoc, .picker-header"),
    Generator(
        "apache",
        r'id="page-content"',
        "#page-content",
        "#quickview, .toplang, .bottomlang, .top, #comments_section, .up, #path",
    ),
    Generator("sqlite", r"class=\"?nosearch", "body", ".menu, .searchmenu, .fancy_toc, .tagline"),
    Generator(
        "exim",
        r'id="inner".*?id="content"|Exim Internet Mailer',
        "#content",
        "#footer, .left_bar, .right_bar, #toc, #branding, a.previous_page, a.next_page, a.contents_page, a.index_page",
    ),
    Generator("swi-prolog", r"/pldoc|class=\"navigate\"", "body", ".navigate"),
    Generator("gi-docgen", r"gi-docgen", "#main", "nav, .sidebar, footer, .anchor, .docs_clipboard"),
)


class DocumentationPage(NamedTuple):
    """A page of documentation, and the truth about it."""

    generator: str
    path: Path
    markup: str
    content: str
    navigation: tuple[str, ...]
    """The texts of the elements of navigation, in one line each."""


def docs_folder() -> Path:
    """Return the folder of documentation: DOCS_FOLDER, or where Debian's packages put theirs."""
    return Path(os.environ.get("DOCS_FOLDER") or DEFAULT_FOLDER)


def find_generator(markup: str) -> Generator | None:
    """Return the generator of a page."""
    return next((each for each in GENERATORS if re.search(each.signature, markup)), None)


def read_pages(folder: Path, per_generator: int, least_words: int = 30) -> Iterator[DocumentationPage]:
    """Yield pages of all generators, of each as many, evenly over its files."""
    by_generator: dict[str, list[Path]] = {}
    for path in _html_files(folder):
        if _MIN_BYTES <= path.stat().st_size <= _MAX_BYTES and (markup := _read(path, 20_000)):
            generator = find_generator(markup)
            if generator is not None:
                by_generator.setdefault(generator.name, []).append(path)
    for generator in GENERATORS:
        paths = by_generator.get(generator.name, [])
        count = 0
        for path in paths[:: max(1, len(paths) // (2 * per_generator))]:
            page = _judge(generator, path)
            if count < per_generator and len(page.content.split()) >= least_words:
                count += 1
                yield page


def _html_files(folder: Path) -> list[Path]:
    """Return the HTML files of a folder, some hundred of each package, evenly over its files."""
    by_package: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.html*")):
        if path.suffix in (".html", ".gz") and path.is_file():
            by_package.setdefault(path.relative_to(folder).parts[0], []).append(path)
    return [path for files in by_package.values() for path in files[:: max(1, len(files) // _MOST_FILES)]]


def _read(path: Path, limit: int = _MAX_BYTES) -> str:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        raw = file.read(limit)
    match = re.search(rb"charset=[\"']?([\w-]+)", raw[:2_000])
    charset = match[1].decode() if match else "utf-8"
    try:
        return raw.decode(charset, "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


def _judge(generator: Generator, path: Path) -> DocumentationPage:
    """Return a page with its content and its navigation, by the markup of its generator."""
    markup = _read(path)
    tree = LexborHTMLParser(markup)
    for node in tree.css(_HIDDEN):
        node.decompose()
    chosen = tree.css(generator.navigation) if generator.navigation else []
    for node in chosen:
        for link in node.css('a[href^="#"]'):
            link.decompose()  # A table of contents has the headings of the page itself.
    navigation = [_text(node) for node in chosen]
    for node in chosen:
        node.decompose()
    content = "\n".join(_text(node) for node in tree.css(generator.content))
    return DocumentationPage(generator.name, path, markup, content, tuple(filter(None, navigation)))


def _text(node: LexborNode) -> str:
    return " ".join((node.text(separator="\n") or "").split())
