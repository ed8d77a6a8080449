"""The links to the other pages of results."""

from collections.abc import Callable, Sequence

from periplus.records import Query
from periplus.serve.result_html.escaping import escape_text
from periplus.serve.search_request import PAGE_SIZE, RequestLinks

__all__ = ["write_page_numbers"]


def write_page_numbers(
    query: Query, numbers: Sequence[int], links: RequestLinks, translate: Callable[[str], str]
) -> str:
    """Return the links to pages, or '' if there is one page only; translate: a text to one that is escaped."""
    current = query.start // PAGE_SIZE + 1
    if len(numbers) < 2 and current == 1:
        return ""
    head, rest = escape_text(links.head), escape_text(links.rest)
    label = f'<span class="unseen">{translate("Page")} </span>'

    def link(number: int) -> str:
        start = (number - 1) * PAGE_SIZE
        return f"{head}&amp;start={start}{rest}" if start else head + rest

    items = [
        f'    <li class="{"near" if abs(number - current) <= 1 else "far"}">'
        + (
            f'<span class="here" aria-current="page">{label}{number}</span>'
            if number == current
            else f'<a href="{link(number)}">{label}{number}</a>'
        )
        + "</li>\n"
        for number in numbers
    ]
    previous = f'<a rel="prev" href="{link(current - 1)}">{translate("Previous")}</a>' if current > 1 else ""
    following = (
        f'<a rel="next" href="{link(current + 1)}">{translate("Next")}</a>' if numbers and numbers[-1] > current else ""
    )
    return (
        f'<nav class="pages" aria-label="{translate("Pages of results")}">\n{previous}  <ol>\n{"".join(items)}  </ol>\n'
        f"{following}</nav>\n"
    )
