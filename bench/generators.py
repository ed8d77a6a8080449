"""Documentation pages by the generator that wrote them, with the element in which each generator puts its content.

A folder with a folder for each of Debian's documentation packages is read; a generator is recognized by its own markup,
and the truth about a page is that markup: what is inside the content element is content, and what is in the elements
that the generator makes for navigation is not (see generator_table.py). None of it is shown to the extraction.
"""

import gzip
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from generator_table import GENERATORS, Generator

_MAX_BYTES: Final = 400_000
_MIN_BYTES: Final = 1_000
_HIDDEN: Final = "script, style, noscript, template, title, head, button, select, svg, iframe, textarea, .headerlink"
_MOST_FILES: Final = 2_000


class DocumentationPage(NamedTuple):
    """A page of documentation, and the truth about it."""

    generator: str
    path: Path
    markup: str
    content: str
    navigation: tuple[str, ...]
    """The texts of the elements of navigation, in one line each."""


def find_generator(markup: str, package: str = "") -> Generator | None:
    """Return the generator of a page, one of those that a package is known for."""
    known = [each for each in GENERATORS if package in each.packages]
    return next((each for each in known or GENERATORS if re.search(each.signature, markup)), None)


def read_pages(folder: Path, per_generator: int, least_words: int = 30) -> Iterator[DocumentationPage]:
    """Yield pages of all generators, of each as many, evenly over its files."""
    by_generator: dict[str, list[Path]] = {}
    for path in html_files(folder):
        if _MIN_BYTES <= path.stat().st_size <= _MAX_BYTES and (markup := _read(path, 20_000)):
            generator = find_generator(markup, path.relative_to(folder).parts[0])
            if generator is not None:
                by_generator.setdefault(generator.name, []).append(path)
    for generator in GENERATORS:
        paths = by_generator.get(generator.name, [])
        step = max(1, len(paths) // (2 * per_generator))
        judged = (
            _judge(generator, path) for path in chain(paths[::step], *(paths[first::step] for first in range(1, step)))
        )
        yield from islice((page for page in judged if len(page.content.split()) >= least_words), per_generator)


def html_files(folder: Path, most: int = _MOST_FILES) -> list[Path]:
    """Return the HTML files of a folder, so many of each package at most, evenly over its files."""
    by_package: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.html*")):
        if path.suffix in (".html", ".gz") and path.is_file():
            by_package.setdefault(path.relative_to(folder).parts[0], []).append(path)
    return [path for files in by_package.values() for path in files[:: -(-len(files) // most)]]


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
    chosen = tree.css(generator.content)
    content = "\n".join(_text(node) for node in chosen if not _is_inside(node, chosen))
    return DocumentationPage(generator.name, path, markup, content, tuple(filter(None, navigation)))


def _is_inside(node: LexborNode, others: list[LexborNode]) -> bool:
    """Return whether one of the other nodes is around a node."""
    outer = node.parent
    while outer is not None:
        if any(outer.mem_id == other.mem_id for other in others):
            return True
        outer = outer.parent
    return False


def _text(node: LexborNode) -> str:
    return " ".join((node.text(separator="\n") or "").split())
