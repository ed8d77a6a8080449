"""`periplus demo`: the whole way through on a generated web, in about a minute."""

from typing import TYPE_CHECKING, Annotated

import typer

from periplus.cli.console import clean, echo
from periplus.cli.console_observer import observe
from periplus.cli.crawl_view import echo_summary
from periplus.cli.index_view import echo_indexed
from periplus.cli.options import with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import DemoAnswer

__all__ = ["demo"]


@with_settings(host="serve.host", port="serve.port")
def demo(
    settings: Settings,
    once: Annotated[bool, typer.Option("--once", help="End after the queries instead of serving.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed generates the same web.")] = 7,
    hosts: Annotated[int, typer.Option("--hosts", help="Number of well-behaved hosts.")] = 30,
    pages: Annotated[int, typer.Option("--pages", help="Number of articles.")] = 1_500,
) -> None:
    """Crawl a generated web, index it, answer five queries, and serve the search page."""
    from periplus.app import open_demo

    with observe() as observer, open_demo(settings, seed=seed, hosts=hosts, pages=pages, observer=observer) as run:
        crawled = run.crawl()
        echo_summary(crawled)
        if crawled.interrupted:
            raise KeyboardInterrupt
        echo_indexed(run.build())
        echo()
        answers = []
        for answer in run.ask():
            _print_answer(answer)
            answers.append(answer)
        echo(f"\n{sum(answer.correct for answer in answers)} of {len(answers)} queries have a right page on top.")
        if not once:
            run.serve(lambda url: echo(f"Search it at {url} (Ctrl-C stops)"))


def _print_answer(answer: "DemoAnswer") -> None:
    page = answer.page
    mark = "✓" if answer.correct else "✗"
    echo(f"{mark} {answer.question}   ({page.total:,} results, {page.seconds * 1000:.1f} ms)")
    for hit in page.hits:
        echo(f"    {clean(hit.title)}   {clean(' › '.join(hit.breadcrumbs))}")
