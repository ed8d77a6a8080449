"""Pieces of HTML that all pages share: the frame, links, lists and tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from periplus.fakeweb.model.fake_sites import Charset, Site
from periplus.fakeweb.model.web_graph import WebGraph

__all__ = ["PageHead", "anchor", "bullets", "frame", "table"]


@dataclass(frozen=True, slots=True)
class PageHead:
    """The metadata in the head of a page."""

    title: str
    description: str = ""
    canonical: str = ""
    robots: str = ""
    about: str = ""
    """JSON-LD."""


def anchor(site: Site, host: str, path: str, text: str, *, absolute: bool, nofollow: bool = False) -> str:
    """Return a link; within a site it is relative to the root, unless `absolute`."""
    href = path if host == site.name and not absolute else f"http://{host}{path}"
    rel = ' rel="nofollow"' if nofollow else ""
    return f'<a href="{escape(href)}"{rel}>{escape(text, quote=False)}</a>'


def bullets(items: Iterable[str]) -> str:
    """Return a list of items, which are HTML."""
    return "<ul>\n" + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>\n"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first row is its header."""
    head = "".join(f"<th>{escape(cell, quote=False)}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell, quote=False)}</td>" for cell in row) + "</tr>\n" for row in rows[1:]
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def frame(graph: WebGraph, site: Site, charset: Charset, head: PageHead, main: str, *, absolute: bool) -> str:
    """Return a page: the main part with the head, navigation and footer of its site."""
    language = site.topic.language
    return (
        f'<!DOCTYPE html>\n<html lang="{language.code}">\n<head>\n{_head(site, charset, head)}</head>\n<body>\n'
        f'<header><p class="name">{escape(site.title)}</p>\n{_navigation(graph, site, absolute)}</header>\n'
        f"<main>\n{main}</main>\n"
        f"<footer><p>{escape(language.footer, quote=False)}</p><p>&copy; {escape(site.title)}</p></footer>\n"
        "<script>document.documentElement.className = 'js';</script>\n</body>\n</html>\n"
    )


def _head(site: Site, charset: Charset, head: PageHead) -> str:
    lines = [f'<meta charset="{charset.label}">'] if charset.where == "meta" else []
    lines.append(f"<title>{escape(head.title, quote=False)}</title>")
    lines.append('<meta name="viewport" content="width=device-width">')
    if head.description:
        lines.append(f'<meta name="description" content="{escape(head.description)}">')
    if head.robots:
        lines.append(f'<meta name="robots" content="{head.robots}">')
    if head.canonical:
        lines.append(f'<link rel="canonical" href="{escape(head.canonical)}">')
    if head.about:
        lines.append(f'<script type="application/ld+json">{head.about}</script>')
    if site.feed != "none":
        kind = "rss" if site.feed == "rss" else "atom"
        lines.append(f'<link rel="alternate" type="application/{kind}+xml" href="http://{site.name}/feed.xml">')
    lines.append("<style>body { font: 1em serif; max-width: 40em } nav li { display: inline }</style>")
    return "\n".join(lines) + "\n"


def _navigation(graph: WebGraph, site: Site, absolute: bool) -> str:
    home = anchor(site, site.name, "/", site.topic.language.home, absolute=absolute)
    lists = [
        anchor(site, site.name, graph.list_path(site, section, 1), site.topic.sections[section], absolute=absolute)
        for section in range(graph.sections(site))
    ]
    return f"<nav>\n{bullets([home, *lists])}</nav>\n"
