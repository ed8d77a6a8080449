"""A made web of 12 crawler traps and 12 sites that only look like traps, each with URLs of a shape drawn by a seed.

A site answers any path with a page or None. Good pages are listed; all other pages of a site are the trap's. The makers
know nothing of how the crawler recognizes traps: each imitates what servers of its kind do.
"""

import html
import random
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, urlencode

Answer = Callable[[str], str | None]
SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeio"]


class Writer:
    """Words, sentences and pages from a seed."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.words = sorted({"".join(self.rng.choices(SYLLABLES, k=self.rng.randint(2, 4))) for _ in range(3_000)})

    def word(self) -> str:
        """Return a word; a few are frequent, most are rare."""
        return self.words[int(len(self.words) * self.rng.random() ** 2)]

    def slug(self, count: int = 3) -> str:
        """Return some words as they are in URLs."""
        return "-".join(self.word() for _ in range(count))

    def prose(self, sentences: int) -> str:
        """Return paragraphs."""
        lines = [" ".join(self.word() for _ in range(self.rng.randint(7, 16))).capitalize() for _ in range(sentences)]
        return "".join(f"<p>{line}.</p>" for line in lines)


def page(title: str, body: str, links: Mapping[str, str] | None = None, menu: str = "") -> str:
    """Return a page with a menu and links."""
    listed = "".join(f'<li><a href="{html.escape(url)}">{html.escape(text)}</a>' for url, text in (links or {}).items())
    return (
        f"<!doctype html><title>{html.escape(title)}</title><nav>{menu}</nav><main><h1>{html.escape(title)}</h1>"
        f"{body}<ul>{listed}</ul></main><footer>About Contact Imprint</footer>"
    )


class Site:
    """One host: its good pages by path, and what answers all other paths."""

    def __init__(self, host: str, pages: dict[str, str], trap: Answer | None = None) -> None:
        self.host, self.pages, self.trap = host, pages, trap

    def answer(self, path: str) -> str | None:
        """Return the page of a path."""
        return self.pages.get(path) or (self.trap(path) if self.trap else None)


MENU = '<a href="/">Home</a> <a href="/about">About</a> <a href="/contact">Contact</a>'


def _plain(writer: Writer, count: int, entries: Mapping[str, str]) -> dict[str, str]:
    """Return an ordinary site of `count` pages, whose home page also links to `entries`."""
    pages = {
        "/about": page("About us", writer.prose(6), menu=MENU),
        "/contact": page("Contact", writer.prose(3), menu=MENU),
    }
    folder = writer.word()
    paths = [f"/{folder}/{writer.slug()}-{number}" for number in range(count)]
    for number, path in enumerate(paths):
        near = {paths[other]: f"See {other}" for other in writer.rng.sample(range(count), 4)}
        if number % 3 == 0:
            near |= entries
        pages[path] = page(writer.slug(), writer.prose(writer.rng.randint(5, 12)), near, MENU)
    index = {path: writer.slug() for path in paths}
    pages["/"] = page(f"Welcome to {folder}", writer.prose(4), {**entries, **index}, MENU)
    return pages


# ---- traps: each maker returns (entries that good pages link to, answer)


def calendar(writer: Writer) -> tuple[dict[str, str], Answer]:
    """Months without end in both directions, with a page for each day; nothing ever happens."""
    base, style = writer.word(), writer.rng.randrange(3)
    form = (f"/{base}/{{y}}/{{m:02d}}", f"/{base}?month={{y}}-{{m:02d}}", f"/{base}-{{y}}-{{m}}.html")[style]

    def numbers(path: str) -> list[int]:
        return [int(part) for part in "".join(c if c.isdigit() else " " for c in path).split()]

    def answer(path: str) -> str | None:
        found = numbers(path)
        if base not in path or len(found) < 2 or not 1 <= found[1] <= 12:
            return None
        year, month = found[:2]
        if len(found) > 2:
            return page(
                f"Day {found[2]}.{month}.{year}",
                "<p>No events on this day.</p>",
                {form.format(y=year, m=month): "Month"},
                MENU,
            )
        months = {
            form.format(y=year + (month + step - 1) // 12, m=(month + step - 1) % 12 + 1): word
            for step, word in ((-1, "Earlier"), (1, "Later"))
        }
        days = {
            f"{form.format(y=year, m=month)}{'&' if '?' in form else '?'}day={day}": str(day) for day in range(1, 29)
        }
        return page(f"Events of {month}/{year}", "<p>There are no events in this month.</p>", months | days, MENU)

    return {form.format(y=2024, m=5): "Calendar"}, answer


def _listing(writer: Writer) -> list[str]:
    return [f"{writer.word()} {writer.word()} {writer.word()}" for _ in range(60)]


def facets(writer: Writer) -> tuple[dict[str, str], Answer]:
    """A shop whose filters combine without end: subsets of the same items."""
    items, base = _listing(writer), writer.word()
    names = [writer.word() for _ in range(5)]
    values = {name: [writer.word() for _ in range(5)] for name in names}

    def answer(path: str) -> str | None:
        where, _, query = path.partition("?")
        if where != f"/{base}":
            return None
        chosen = dict(parse_qsl(query))
        rng = random.Random(repr(sorted(chosen.items())))
        shown = rng.sample(items, 12)
        links = {}
        for name in names:
            for value in values[name]:
                links[f"/{base}?{urlencode(sorted({**chosen, name: value}.items()))}"] = value
        return page("Offers", "".join(f"<p>{item}</p>" for item in shown), links, MENU)

    return {f"/{base}": "Offers", **{f"/{base}?{names[0]}={value}": value for value in values[names[0]]}}, answer


def sorting(writer: Writer) -> tuple[dict[str, str], Answer]:
    """One list in every order, size and view."""
    items, base = _listing(writer), writer.word()
    sort, size, view = writer.word(), writer.word(), writer.word()

    def answer(path: str) -> str | None:
        where, _, query = path.partition("?")
        if where != f"/{base}":
            return None
        chosen = dict(parse_qsl(query))
        rng = random.Random(chosen.get(sort, ""))
        shown = rng.sample(items, len(items))[: int(chosen.get(size, "20") or 20)]
        links = {f"/{base}?{urlencode({**chosen, sort: other})}": other for other in (f"s{n}" for n in range(8))}
        links |= {f"/{base}?{urlencode({**chosen, size: n})}": str(n) for n in range(10, 60, 5)}
        links |= {f"/{base}?{urlencode({**chosen, view: n})}": str(n) for n in range(20)}
        return page("All items", "".join(f"<p>{item}</p>" for item in shown), links, MENU)

    return {f"/{base}": "All items"}, answer


def self_similar(writer: Writer) -> tuple[dict[str, str], Answer]:
    """Relative links on a server that looks at the last part of a path only."""
    names = [writer.word() for _ in range(6)]
    texts = {name: writer.prose(5) for name in names}

    def answer(path: str) -> str | None:
        parts = [part for part in path.split("/") if part]
        if not parts or parts[0] not in names or parts[-1] not in names:
            return None
        here = parts[-1]
        links = {f"{here}/{name}": name for name in names}
        return page(f"Section {here}", texts[here], links, MENU)

    return {f"/{names[0]}": names[0]}, answer


def session_paths(writer: Writer) -> tuple[dict[str, str], Answer]:
    """A session number in the path, a new one on every page."""
    base = writer.word()
    texts = [writer.prose(6) for _ in range(8)]
    titles = [writer.slug() for _ in range(8)]

    def answer(path: str) -> str | None:
        parts = path.split("/")
        if len(parts) != 4 or parts[1] != base or not parts[3][1:].isdigit() or int(parts[3][1:]) >= len(texts):
            return None
        number = int(parts[3][1:])
        rng = random.Random(path)
        links = {f"/{base}/{rng.getrandbits(48):012x}/p{other}": titles[other] for other in range(len(texts))}
        return page(titles[number], texts[number], links, MENU)

    return {f"/{base}/{writer.rng.getrandbits(48):012x}/p0": titles[0]}, answer


def session_queries(writer: Writer) -> tuple[dict[str, str], Answer]:
    """A short token in the query, a new one on every page, under a name of the site's own."""
    base, name = writer.word(), writer.word()
    texts, titles = [writer.prose(6) for _ in range(8)], [writer.slug() for _ in range(8)]

    def answer(path: str) -> str | None:
        where, _, _query = path.partition("?")
        if not where.startswith(f"/{base}/") or not where.rpartition("/")[2].isdigit():
            return None
        number = int(where.rpartition("/")[2]) % len(texts)
        rng = random.Random(path)
        links = {
            f"/{base}/{other}?{name}={rng.choice(SYLLABLES)}{rng.randrange(10**4)}": titles[other]
            for other in range(len(texts))
        }
        return page(titles[number], texts[number], links, MENU)

    return {f"/{base}/0?{name}=start": titles[0]}, answer


def tarpit(writer: Writer) -> tuple[dict[str, str], Answer]:
    """Generated text without end, each page linking to pages that only it links to."""
    base = writer.word()

    def answer(path: str) -> str | None:
        if not path.startswith(f"/{base}/"):
            return None
        own = Writer(path)
        links = {f"/{base}/{own.slug(2)}-{own.rng.randrange(10**6)}": own.slug(2) for _ in range(8)}
        return page(own.slug(), own.prose(8), links)

    return {f"/{base}/start": "More"}, answer


def path_info(writer: Writer) -> tuple[dict[str, str], Answer]:
    """A script that takes anything behind its name, with links that are appended to it."""
    script = f"/{writer.word()}.php"
    tabs, text = [writer.word() for _ in range(4)], writer.prose(8)

    def answer(path: str) -> str | None:
        if not path.startswith(script):
            return None
        return page("Directory", text, {f"{path.rstrip('/')}/{tab}": tab for tab in tabs}, MENU)

    return {script: "Directory"}, answer


def actions(writer: Writer) -> tuple[dict[str, str], Answer]:
    """Reply, print and share links: the same discussion under as many URLs as it has comments."""
    base = writer.word()
    posts = {f"/{base}/{writer.slug()}": writer.prose(10) for _ in range(12)}
    reply, share = writer.word(), writer.word()

    def answer(path: str) -> str | None:
        where, _, query = path.partition("?")
        if where not in posts:
            return None
        links = {f"{where}?{reply}={number}": "Reply" for number in range(1, 40)}
        links |= {f"{where}?{share}={name}": "Share" for name in ("a", "b", "c", "d")}
        links |= {
            f"{where}?{urlencode({**dict(parse_qsl(query)), share: name})}": "Share" for name in ("a", "b", "c", "d")
        }
        return page(f"Discussion {where.rpartition('/')[2]}", posts[where], links, MENU)

    return dict.fromkeys(posts, "Discussion"), answer


def searches(writer: Writer) -> tuple[dict[str, str], Answer]:
    """Result pages of a site's own search, each with related searches."""
    items, base, name = _listing(writer), writer.word(), writer.rng.choice("qsk")
    terms = [writer.word() for _ in range(40)]

    def answer(path: str) -> str | None:
        where, _, query = path.partition("?")
        if where != f"/{base}":
            return None
        asked = dict(parse_qsl(query)).get(name, "")
        rng = random.Random(asked)
        shown = rng.sample(items, 10)
        links = {
            f"/{base}?{urlencode({name: f'{asked} {term}'.strip()})}": f"{asked} {term}"
            for term in rng.sample(terms, 8)
        }
        return page(f"Results for {asked}", "".join(f"<p>{item}</p>" for item in shown), links, MENU)

    return {f"/{base}?{name}={terms[0]}": "Search", f"/{base}?{name}={terms[1]}": "Search"}, answer


def counter(writer: Writer) -> tuple[dict[str, str], Answer]:
    """A list whose pages have no end: behind the last one all are empty."""
    base, style = writer.word(), writer.rng.randrange(2)
    form = (f"/{base}/{{n}}", f"/{base}?from={{n}}0")[style]

    def answer(path: str) -> str | None:
        digits = "".join(c for c in path.removeprefix(f"/{base}") if c.isdigit())
        if not path.startswith(f"/{base}") or not digits:
            return None
        number = int(digits) // (1, 10)[style]
        links = {
            form.format(n=number + step): str(number + step) for step in (-2, -1, 1, 2, 3, 10) if number + step > 0
        }
        return page(f"Entries, page {number}", "<p>There are no entries on this page.</p>", links, MENU)

    return {form.format(n=1): "Entries"}, answer


TRAPS = {
    "calendar": calendar,
    "facets": facets,
    "sorting": sorting,
    "self-similar": self_similar,
    "session paths": session_paths,
    "session queries": session_queries,
    "tarpit": tarpit,
    "path info": path_info,
    "actions": actions,
    "searches": searches,
    "counter": counter,
}
"""Eleven; the twelfth, hosts of a wildcard domain, is made of hosts (`wildcard_hosts`)."""


def wildcard_hosts(writer: Writer, domain: str, count: int) -> tuple[dict[str, str], Callable[[str, str], str | None]]:
    """Any name under a domain answers with the same offer and links to other names."""
    names = sorted({writer.slug(2) for _ in range(count)})
    text = writer.prose(6)

    def answer(host: str, path: str) -> str | None:
        rng = random.Random(host + path)
        links = {f"http://{rng.choice(names)}.{domain}/": rng.choice(names) for _ in range(10)}
        links |= {f"/{rng.choice(names)}": "More" for _ in range(2)}
        return page(f"Best {host.partition('.')[0]}", text, links)

    return {f"{name}.{domain}": name for name in names}, answer
