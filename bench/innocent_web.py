"""Twelve sites that only look like traps: numbers, dates, parameters and deep paths, and every page worth fetching."""

from collections.abc import Callable

from trap_web import MENU, Writer, page


def forum(writer: Writer, count: int) -> dict[str, str]:
    """Threads of several pages: /t/topic/12345/7."""
    pages, first, threads = {}, writer.rng.randrange(10_000, 90_000), count // 5
    folder = writer.rng.choice(("/t", "/thread", "/d"))
    starts = {}
    for thread in range(threads):
        slug, number = writer.slug(), first + 17 * thread
        paths = [f"{folder}/{slug}/{number}" + (f"/{part}" if part > 1 else "") for part in range(1, 6)]
        starts[paths[0]] = slug
        for part, path in enumerate(paths):
            near = {paths[other]: str(other + 1) for other in (part - 1, part + 1) if 0 <= other < len(paths)}
            pages[path] = page(f"{slug}, page {part + 1}", writer.prose(8), near, MENU)
    return _index(writer, pages, starts)


def blog(writer: Writer, count: int) -> dict[str, str]:
    """Dated posts and archives of months: /2019/03/12/title."""
    pages, months = {}, {}
    for number in range(count):
        year, month = 1998 + number // 36, number // 3 % 12 + 1
        path = f"/{year}/{month:02d}/{number % 28 + 1:02d}/{writer.slug()}"
        months.setdefault(f"/{year}/{month:02d}/", {})[path] = path.rpartition("/")[2]
        pages[path] = page(writer.slug(), writer.prose(7), {f"/{year}/{month:02d}/": "Month"}, MENU)
    for path, posts in months.items():
        pages[path] = page(f"Archive {path}", "", posts, MENU)
    return _index(writer, pages, dict.fromkeys(months, "Archive"))


def articles(writer: Writer, count: int) -> dict[str, str]:
    """/article-123456-1.html."""
    kind = writer.rng.choice(("article", "story", "news"))
    return _chain(writer, [f"/{kind}-{100_000 + 37 * n}-1.html" for n in range(count)])


def reference(writer: Writer, count: int) -> dict[str, str]:
    """An API reference: short pages of one form, with the same words around a few new ones."""
    paths = [f"/api/{writer.word()}/{writer.word().capitalize()}{n}.html" for n in range(count)]
    pages = {}
    for path in paths:
        members = "".join(
            f"<p><code>{writer.word()}_{writer.word()}({writer.word()})</code> returns the {writer.word()} of the "
            f"{writer.word()}.</p>"
            for _ in range(4)
        )
        pages[path] = page(
            f"Class {path.rpartition('/')[2]}",
            f"<p>Constructor summary</p><p>Method summary</p>{members}",
            dict.fromkeys(writer.rng.sample(paths, 3), "see"),
            MENU,
        )
    return _index(writer, pages, {path: path for path in paths})


def catalogue(writer: Writer, count: int) -> dict[str, str]:
    """Pages of a list, ?page=7, with items that only they link to."""
    items = [f"/item?{writer.rng.choice(('id', 'sku'))}={n}" for n in range(count * 9 // 10)]
    pages = {path: page(writer.slug(), writer.prose(5), None, MENU) for path in items}
    size = 9
    lists = [f"/list?page={n}" for n in range(1, -(-len(items) // size) + 1)]
    for number, path in enumerate(lists):
        shown = {item: writer.slug() for item in items[number * size : (number + 1) * size]}
        near = {lists[other]: str(other + 1) for other in (number - 1, number + 1) if 0 <= other < len(lists)}
        pages[path] = page(f"Items, page {number + 1}", "", shown | near, MENU)
    return _index(writer, pages, {lists[0]: "Items"})


def questions(writer: Writer, count: int) -> dict[str, str]:
    """/questions/11227809/3-reasons."""
    return _chain(
        writer,
        [f"/questions/{11_000_000 + 131 * n}/{writer.rng.randrange(2, 9)}-{writer.slug()}" for n in range(count)],
    )


def manual(writer: Writer, count: int) -> dict[str, str]:
    """M-10003-6.htm: next and previous only."""
    paths = [f"/M-{10_000 + n // 8}-{n % 8 + 1}.htm" for n in range(count)]
    pages = {}
    for number, path in enumerate(paths):
        near = {paths[other]: "Next" for other in (number - 1, number + 1) if 0 <= other < count}
        pages[path] = page(f"Section {number // 8}.{number % 8 + 1}", writer.prose(6), near, MENU)
    return _index(writer, pages, {paths[0]: "Begin"})


def wiki(writer: Writer, count: int) -> dict[str, str]:
    """Pages that link to each other, and no list of them."""
    paths = [f"/wiki/{writer.slug(2).title()}_{n}" for n in range(count)]
    pages = {}
    for number, path in enumerate(paths):
        near = {paths[(number * 3 + step) % count]: "see" for step in (1, 2, 3)}
        near |= {paths[int(count * writer.rng.random() ** 3)]: "see" for _ in range(9)}
        pages[path] = page(path.rpartition("/")[2], writer.prose(8), near, MENU)
    return _index(writer, pages, {paths[0]: "Main page"})


def mail(writer: Writer, count: int) -> dict[str, str]:
    """An archive of mails: /2019-March/012345.html."""
    names = ("January", "March", "June", "October")
    paths = [f"/{2001 + n // 80}-{names[n // 20 % 4]}/{n:06d}.html" for n in range(count)]
    return _chain(writer, paths, 4)


def glossary(writer: Writer, count: int) -> dict[str, str]:
    """Pages of one sentence."""
    paths = [f"/define/{writer.slug(2)}{n}" for n in range(count)]
    pages = {path: page(path.rpartition("/")[2], writer.prose(1), None, MENU) for path in paths}
    return _index(writer, pages, {path: path for path in paths})


def versions(writer: Writer, count: int) -> dict[str, str]:
    """Two versions of a documentation: most of each page is the same, some of it is not."""
    names = [f"{writer.slug(2)}.html" for _ in range(count // 2)]
    texts = {name: writer.prose(8) for name in names}
    pages, starts = {}, {}
    for version in ("1.0", "1.1"):
        for number, name in enumerate(names):
            near = {
                f"/docs/{version}/{names[other]}": names[other]
                for other in (number - 1, number + 1)
                if 0 <= other < len(names)
            }
            pages[f"/docs/{version}/{name}"] = page(name, texts[name] + writer.prose(2), near, MENU)
        starts[f"/docs/{version}/{names[0]}"] = version
    return _index(writer, pages, starts)


def tree(writer: Writer, count: int) -> dict[str, str]:
    """Deep folders in which names recur: /a/b/a/c/b/."""
    names = [writer.word() for _ in range(4)]
    paths = ["/"]
    while len(paths) < count:
        parent = paths[len(paths) // 4]
        paths += [f"{parent}{name}/" for name in names]
    pages: dict[str, str] = {}
    for path in paths[1 : count + 1]:
        below = {f"{path}{name}/": name for name in names if f"{path}{name}/" in set(paths[1 : count + 1])}
        pages[path] = page(f"Folder {path}", writer.prose(4), below, MENU)
    return _index(writer, pages, {f"/{name}/": name for name in names})


def _chain(writer: Writer, paths: list[str], sentences: int = 7) -> dict[str, str]:
    """Return pages that lists of twenty link to."""
    pages, lists = {}, {}
    for begin in range(0, len(paths), 20):
        index = f"/index/{begin // 20}"
        lists[index] = f"Part {begin // 20}"
        pages[index] = page(
            f"Part {begin // 20}", "", {path: writer.slug() for path in paths[begin : begin + 20]}, MENU
        )
    for path in paths:
        pages[path] = page(writer.slug(), writer.prose(sentences), None, MENU)
    return _index(writer, pages, lists)


def _index(writer: Writer, pages: dict[str, str], links: dict[str, str]) -> dict[str, str]:
    pages["/about"], pages["/contact"] = (
        page("About", writer.prose(5), menu=MENU),
        page("Contact", writer.prose(3), menu=MENU),
    )
    pages["/"] = page("Start", writer.prose(3), links, MENU)
    return pages


INNOCENT: dict[str, Callable[[Writer, int], dict[str, str]]] = {
    "forum": forum,
    "blog": blog,
    "articles": articles,
    "reference": reference,
    "catalogue": catalogue,
    "questions": questions,
    "manual": manual,
    "wiki": wiki,
    "mail archive": mail,
    "glossary": glossary,
    "versions": versions,
    "tree": tree,
}
