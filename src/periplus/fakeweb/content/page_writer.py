"""The text of every page of a good host: articles, home pages, section lists and the pages beside them."""

import json
import random
from collections.abc import Iterable
from html import escape

from periplus.fakeweb.content.markup import PageHead, anchor, bullets, frame, table
from periplus.fakeweb.content.prose_writer import ProseWriter
from periplus.fakeweb.model.extra_pages import ExtraPage, ExtraPages
from periplus.fakeweb.model.fake_sites import Site
from periplus.fakeweb.model.web_graph import LATEST, Article, WebGraph

__all__ = ["PageWriter"]


class PageWriter:
    """Writes pages; the same graph, page and version yield the same text."""

    def __init__(
        self,
        graph: WebGraph,
        extras: ExtraPages,
        trouble_links: tuple[tuple[str, str], ...],
        farm_links: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.graph = graph
        self.extras = extras
        self.trouble_links = trouble_links
        self.farm_links = farm_links
        """URLs of the link farm with their link texts."""

    def _rng(self, *numbers: int) -> random.Random:
        mixed = self.graph.plan.seed
        for number in numbers:
            mixed = mixed * 1_000_003 + number + 1
        return random.Random(mixed)

    def article(self, article: Article, version: int) -> str:
        """Return an article as its own site presents it."""
        if article.is_text:
            return self._plain(article, version)
        site = article.site
        absolute = site.absolute or article.number in self.extras.copied
        main = self._body(article, version, curly=site.mixed) + self._onward(article, absolute)
        head = PageHead(
            title=f"{article.title} | {site.title}",
            description=self._writer(article, 2).fill(article.topic.facts[0]),
            canonical=article.url if site.canonical else "",
        )
        return frame(self.graph, site, article.charset, head, main, absolute=absolute)

    def printed(self, article: Article, version: int) -> str:
        """Return the print version of an article: the same text without the site's layout."""
        meta = f'<meta charset="{article.charset.label}">' if article.charset.where == "meta" else ""
        return (
            f'<!DOCTYPE html>\n<html lang="{article.topic.language.code}">\n<head>{meta}'
            f"<title>{escape(article.title, quote=False)}</title>"
            f'<link rel="canonical" href="{escape(article.url)}"></head>\n<body>\n'
            f"{self._body(article, version, curly=article.site.mixed)}</body>\n</html>\n"
        )

    def reprint(self, article: Article, site: Site) -> str:
        """Return an article as another site reprints it: a near-duplicate."""
        note = f"<p>{escape(site.title)} &middot; {escape(article.site.title)}</p>\n"
        head = PageHead(title=f"{article.title} - {site.title}")
        main = note + self._body(article, 0, curly=False)
        return frame(self.graph, site, site.charset(-1), head, main, absolute=site.absolute)

    def home(self, site: Site, version: int) -> str:
        """Write a home page: sections, the first articles, and other sites."""
        language = site.topic.language
        first = int(self.graph.first[site.number])
        latest = [self.graph.article(first + position) for position in range(min(LATEST, self.graph.size(site)))]
        writer = ProseWriter(site.topic, latest[0].subject, self._rng(site.number, 3, version))
        main = f"<h1>{escape(site.title)}</h1>\n<p>{escape(writer.paragraph(), quote=False)}</p>\n"
        about = ""
        if site.number % 3 != 2:
            about = self._describe(site, ProseWriter(site.topic, latest[0].subject, self._rng(site.number, 6)))
            main += f'<figure><img src="/images/home.png" alt="{escape(writer.picture())}"></figure>\n'
        if version:
            main += f"<p>{escape(writer.news(version), quote=False)}</p>\n"
        main += f"<h2>{language.latest}</h2>\n{bullets(self._to(site, article, False) for article in latest)}"
        others = self.graph.home_links(site)
        main += f"<h2>{language.elsewhere}</h2>\n"
        main += bullets(anchor(site, other.name, "/", other.title, absolute=True) for other in others)
        head = PageHead(title=site.title, canonical=f"http://{site.name}/" if site.canonical else "", about=about)
        return frame(self.graph, site, site.charset(-1), head, main, absolute=site.absolute)

    def _describe(self, site: Site, writer: ProseWriter) -> str:
        """Return what a site states about whoever keeps it, as JSON-LD."""
        return json.dumps(
            {
                "@context": "https://schema.org",
                "@type": "Organization",
                "name": site.title,
                "foundingDate": writer.word("year"),
                "founder": {"@type": "Person", "name": writer.word("name")},
                "address": {"@type": "PostalAddress", "addressLocality": writer.word("place")},
                "numberOfEmployees": int(writer.word("number")),
            }
        )

    def section(self, site: Site, section: int, page: int) -> str:
        """Write one page of the list of a section."""
        name = site.topic.sections[section]
        items = [self._to(site, article, False) for article in self.graph.listed(site, section, page)]
        count = self.graph.list_pages(site, section)
        numbers = [
            anchor(site, site.name, self.graph.list_path(site, section, other), str(other), absolute=site.absolute)
            for other in range(1, count + 1)
            if other != page
        ]
        title = f"{name} ({page}) | {site.title}" if page > 1 else f"{name} | {site.title}"
        main = f"<h1>{escape(name)}</h1>\n{bullets(items)}" + (bullets(numbers) if numbers else "")
        return frame(self.graph, site, site.charset(-1), PageHead(title=title), main, absolute=site.absolute)

    def beside(self, extra: ExtraPage) -> str:
        """Return a blocked, noindex, nofollow or unlisted page, or the page of links to trouble hosts."""
        site = self.graph.sites[extra.site]
        robots = {"noindex": "noindex", "nofollow": "nofollow", "links": "noindex"}.get(extra.kind, "")
        main = f"<h1>{extra.kind.title()}</h1>\n"
        if extra.article >= 0:
            article = self.graph.article(extra.article)
            writer = ProseWriter(article.topic, article.subject, self._rng(extra.article, 5, len(extra.path)))
            main += "".join(f"<p>{escape(writer.paragraph(), quote=False)}</p>\n" for _ in range(4))
            main += bullets([self._to(site, article, True)])
        if extra.kind == "nofollow":
            main += bullets(self._unlisted(site))
        if extra.kind == "links":
            links = self.trouble_links + (self.farm_links if extra.site == 0 else ())
            main += bullets(f'<a href="{url}">{text}</a>' for url, text in links)
        head = PageHead(title=f"{extra.kind.title()} {extra.path} | {site.title}", robots=robots)
        return frame(self.graph, site, site.charset(-1), head, main, absolute=site.absolute)

    def _unlisted(self, site: Site) -> Iterable[str]:
        for count in range(3):
            yield anchor(site, site.name, f"/unlisted/{count}.html", f"Partner {count + 1}", absolute=site.absolute)

    def _writer(self, article: Article, salt: int) -> ProseWriter:
        return ProseWriter(article.topic, article.subject, self._rng(article.number, salt))

    def _body(self, article: Article, version: int, *, curly: bool) -> str:
        """Write heading, paragraphs, list, table and picture; long pages are rarer than short ones."""
        writer = self._writer(article, 1)
        count = min(75, 2 + int(3 * writer.rng.paretovariate(1.2)))
        parts = [f"<h1>{escape(article.title, quote=False)}</h1>\n"]
        for number in range(count):
            if number % 3 == 1:
                parts.append(f"<h2>{self._text(writer.heading(), curly)}</h2>\n")
            parts.append(f"<p>{self._emphasised(writer, self._text(writer.paragraph(), curly))}</p>\n")
            if number % 9 == 2:
                parts.append(bullets(self._text(item, curly) for item in writer.items()))
            if number % 9 == 4:
                parts.append(table(writer.table()))
            if number % 9 == 1:
                alt = escape(writer.picture())
                parts.append(f'<figure><img src="/images/{article.number}-{number}.png" alt="{alt}"></figure>\n')
        if version:
            parts.append(f"<p>{self._text(self._writer(article, 100 + version).news(version), curly)}</p>\n")
        return "".join(parts)

    def _plain(self, article: Article, version: int) -> str:
        writer = self._writer(article, 1)
        blocks = [article.title, "=" * len(article.title), *(writer.paragraph() for _ in range(6))]
        if version:
            blocks.append(self._writer(article, 100 + version).news(version))
        return "\n\n".join(blocks) + "\n"

    def _text(self, text: str, curly: bool) -> str:
        return escape(text.replace("'", "\u2019") if curly else text, quote=False)

    def _emphasised(self, writer: ProseWriter, text: str) -> str:
        """Mark the thing or the aspect in some paragraphs."""
        chance = writer.rng.random()
        if chance < 0.25:
            return text.replace(writer.subject.thing, f"<b>{writer.subject.thing}</b>", 1)
        if chance < 0.45:
            return text.replace(writer.subject.aspect, f"<em>{writer.subject.aspect}</em>", 1)
        return text

    def _to(self, site: Site, article: Article, phrase: bool, absolute: bool = False) -> str:
        """Link to an article by its title or, with `phrase`, by the words of its subject."""
        words = article.topic.language.more.format(subject=article.subject.words) if phrase else article.title
        return anchor(site, article.site.name, article.path, words, absolute=absolute or site.absolute)

    def _onward(self, article: Article, absolute: bool) -> str:
        """Return the links of an article: related articles, other sites and extra pages."""
        site, language = article.site, article.topic.language
        targets = [self.graph.article(number) for number in self.graph.links(article.number)]
        near = [self._to(site, to, to.number % 3 == 0, absolute) for to in targets if to.site is site]
        far = [self._to(site, to, to.number % 2 == 0, absolute) for to in targets if to.site is not site]
        main = f"<aside>\n<h2>{language.related}</h2>\n{bullets(near)}"
        if far:
            main += f"<h2>{language.elsewhere}</h2>\n{bullets(far)}"
        beside = [
            anchor(
                site,
                extra.host,
                extra.path,
                self._beside_words(extra),
                absolute=absolute,
                nofollow=extra.kind == "unlisted",
            )
            for extra in self.extras.by_source.get(article.number, ())
        ]
        return main + (bullets(beside) if beside else "") + "</aside>\n"

    def _beside_words(self, extra: ExtraPage) -> str:
        if extra.article >= 0:
            return self.graph.article(extra.article).subject.words
        return f"{self.graph.sites[extra.site].title}: {extra.kind}"
