"""`periplus cluster`: the same engine on many machines, or on several nodes of this one."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from periplus.cli.cluster_view import echo_cluster
from periplus.cli.console import clean, echo, echo_json, format_bytes, format_count
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, Seeds, with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import ClusterAnswer, ClusterDemo

__all__ = ["cluster"]

cluster: Final = typer.Typer(
    help="Crawl, index and serve on many machines (docs/cluster.md).",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)

_FAILURE: Final = 1


@cluster.command("up")
@with_settings(
    address="cluster.address",
    nodes="cluster.nodes",
    shards="cluster.shards",
    replicas="cluster.replicas",
    storage="storage.url",
)
def cluster_up(settings: Settings) -> None:
    """Start a cluster on a running Ray cluster (--address), or with several Ray nodes on this machine."""
    from periplus.app import cluster_up

    with observe() as observer, cluster_up(settings, observer) as session:
        echo_cluster(session.client.status())
        echo("Next: periplus cluster crawl URL")


@cluster.command("status")
@with_settings(address="cluster.address")
def status(settings: Settings, as_json: AsJson = False) -> None:
    """Show shards, nodes, pages, the index that is served, and what is missing."""
    from periplus.app import join_cluster

    with join_cluster(settings) as session:
        state = session.client.status()
    if as_json:
        echo_json(state)
    else:
        echo_cluster(state)


@cluster.command("crawl")
@with_settings(address="cluster.address")
def crawl(
    settings: Settings,
    seeds: Seeds = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the crawl that runs.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Return at once; the crawl goes on.")] = False,
) -> None:
    """Crawl on all shards until nothing is left; the settings are those of `cluster up`. Ctrl-C leaves it running."""
    from periplus.app import join_cluster, read_seeds

    urls = read_seeds(seeds or [])
    with observe() as observer, join_cluster(settings, observer) as session:
        if stop:
            session.stop_crawl()
            echo("Stopped.")
        elif detach:
            session.start_crawl(urls)
            echo("The crawl runs. See: periplus cluster status")
        else:
            _echo_crawled(session.crawl(urls))


def _echo_crawled(state: dict[str, Any]) -> None:
    shards = state["crawl"]["shards"]
    pages = sum(shard["pages"] for shard in shards.values())
    echo(f"Crawled {format_count(pages, 'page')} on {format_count(len(shards), 'shard')}.")


@cluster.command("index")
@with_settings(address="cluster.address")
def index(settings: Settings) -> None:
    """Build an index of all pages on all shards; where the cluster serves, it replaces the one that is served."""
    from periplus.app import join_cluster

    with observe() as observer, join_cluster(settings, observer) as session:
        built = session.build()
    echo(
        f"Generation {built.generation}: {format_count(built.documents, 'page')} in "
        f"{format_count(len(built.shards), 'shard')}, {format_bytes(built.bytes)}, {built.seconds:.1f} s."
    )


@cluster.command("serve")
@with_settings(address="cluster.address")
def serve(
    settings: Settings, stop: Annotated[bool, typer.Option("--stop", help="Stop replicas and brokers.")] = False
) -> None:
    """Start replicas and brokers, which serve the search page until `cluster serve --stop` or `cluster down`."""
    from periplus.app import join_cluster

    with observe() as observer, join_cluster(settings, observer) as session:
        if stop:
            session.client.update(serving=False)
            echo("Stopped.")
            return
        for url in session.serve():
            echo(f"Search it at {url}")


@cluster.command("resize")
@with_settings(address="cluster.address")
def resize(
    settings: Settings,
    shards: Annotated[int | None, typer.Option("--shards", min=1, max=4096, help="Shards of the crawl.")] = None,
    replicas: Annotated[int | None, typer.Option("--replicas", min=1, max=16, help="Replicas of each shard.")] = None,
    brokers: Annotated[int | None, typer.Option("--brokers", min=1, max=256, help="Number of brokers.")] = None,
) -> None:
    """Change the number of shards of the crawl that runs, of replicas, or of brokers."""
    from periplus.app import join_cluster

    with observe() as observer, join_cluster(settings, observer) as session:
        counts = {"replicas": replicas, "brokers": brokers}
        session.client.update(**{name: count for name, count in counts.items() if count is not None})
        if shards is not None:
            session.resize(shards)
        echo_cluster(session.client.status())


@cluster.command("down")
@with_settings(address="cluster.address")
def down(settings: Settings) -> None:
    """Stop everything in an orderly way; what was crawled and indexed stays in storage."""
    from periplus.app import cluster_down

    with observe() as observer:
        cluster_down(settings, observer)
    echo("Stopped.")


@cluster.command("demo")
@with_settings(
    nodes="cluster.nodes",
    shards="cluster.shards",
    replicas="cluster.replicas",
    host="serve.host",
    port="serve.port",
)
def demo(
    settings: Settings,
    once: Annotated[bool, typer.Option("--once", help="End after the queries instead of serving.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed generates the same web.")] = 7,
    hosts: Annotated[int, typer.Option("--hosts", help="Number of well-behaved hosts.")] = 30,
    pages: Annotated[int, typer.Option("--pages", help="Number of articles.")] = 1_500,
) -> None:
    """Crawl, index and search a generated web on several Ray nodes, kill one of them, and search again."""
    from periplus.app import open_cluster_demo, wait_for_signal

    with (
        observe() as observer,
        open_cluster_demo(settings, seed=seed, hosts=hosts, pages=pages, observer=observer) as run,
    ):
        _echo_crawled(run.crawl())
        built = run.build()
        echo(f"Indexed {format_count(built.documents, 'page')} on {format_count(len(built.shards), 'shard')}.")
        url = run.serve()
        echo_cluster(run.session.client.status())
        correct = _ask(run)
        label = run.kill_node()
        echo(f"\nKilled {label}. Other queries, at once:")
        correct &= _ask(run, whole=False)
        seconds = run.wait_complete()
        echo(f"\nComplete again after {seconds:.0f} s, on the nodes that are left:")
        echo_cluster(run.session.client.status())
        correct &= _ask(run)
        if not correct:
            raise typer.Exit(_FAILURE)
        if not once:
            echo(f"Search it at {url} (Ctrl-C stops)")
            wait_for_signal()


def _ask(run: "ClusterDemo", *, whole: bool = True) -> bool:
    """Ask all questions; return whether the answers are right or, unless `whole`, say that they are partial."""
    answers: list[ClusterAnswer] = []
    echo()
    for answer in run.ask(whole=whole):
        mark = "✓" if answer.correct else "✗"
        answered = f"{answer.shards - len(answer.missing)} of {answer.shards} shards"
        echo(f"{mark} {answer.question}   ({answer.total:,} results, {answer.seconds * 1000:.1f} ms, {answered})")
        for title in answer.titles[:1]:
            echo(f"    {clean(title)}")
        answers.append(answer)
    right = sum(answer.correct for answer in answers)
    echo(f"{right} of {len(answers)} queries have a right page on top.")
    return all(answer.correct or (answer.missing and not whole) for answer in answers)
