"""`periplus site`: a search engine that acts as one with others elsewhere."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from periplus.cli.console import echo, echo_json
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, Seeds, with_settings
from periplus.cli.site_view import echo_demo, echo_site
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import NewSite

__all__ = ["site"]

site: Final = typer.Typer(
    help="Search engines in different places that act as one (docs/sites.md).",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)
_MAX_TOKEN: Final = 65_536
Name = Annotated[str, typer.Option("--name", help="Name of the site: small letters, digits and hyphens.")]


@site.command("init")
@with_settings(place="site.place", languages="site.languages", address="site.address", listen="site.listen")
def init(settings: Settings, name: Name) -> None:
    """Make the data folder the first site of a new federation."""
    from periplus.app import make_site

    _echo_new(make_site(Path(settings.folder), name, settings))


def _echo_new(made: "NewSite") -> None:
    echo(f"Site {made.name} of the federation {made.network}: {', '.join(made.sites)}.")
    if made.token:
        echo("Others join with this token within seven days; whoever has it can join:")
        echo(made.token)
    else:
        echo("Others cannot reach this site; it connects to them.")
    echo("Next: periplus site up URL")


@site.command("join")
@with_settings(place="site.place", languages="site.languages", address="site.address", listen="site.listen")
def join(settings: Settings, name: Name) -> None:
    """Make the data folder a site of a federation, by a token of one of its sites, which must run.

    The token, as `periplus site invite` prints it, is asked for, or read from standard input: arguments can be read by
    everyone on a machine.
    """
    from periplus.app import join_sites

    token = _read_token()
    with observe() as observer:
        made = join_sites(Path(settings.folder), token, name, settings, observer)
    _echo_new(made)


def _read_token() -> str:
    """Return the token that is typed, or the first line of standard input."""
    if sys.stdin.isatty():
        return str(typer.prompt("Token", hide_input=True)).strip()
    return sys.stdin.readline(_MAX_TOKEN).strip()


@site.command("invite")
@with_settings()
def invite(
    settings: Settings,
    days: Annotated[
        float | None,
        typer.Option("--days", min=0.01, max=3_650, help="Issue a new token, valid for so long; the last is revoked."),
    ] = None,
) -> None:
    """Print the token with which other sites can join, for seven days from when it was issued."""
    from periplus.app import invite_site

    echo(invite_site(Path(settings.folder), days))


@site.command("revoke")
@with_settings()
def revoke(settings: Settings) -> None:
    """Revoke the token: nobody can join with it any more. Sites that have joined stay."""
    from periplus.app import revoke_token

    was_valid = revoke_token(Path(settings.folder))
    echo("Nobody can join with the token any more." if was_valid else "There was no valid token.")


@site.command("up")
@with_settings(
    host="serve.host",
    port="serve.port",
    pages="crawl.pages",
    scope="crawl.scope",
    delay="frontier.delay",
    allow="fetch.allow",
    hosts_file="fetch.hosts_file",
    geoip="site.geoip_file",
    slack="site.slack",
)
def up(
    settings: Settings,
    seeds: Seeds = None,
    every: Annotated[
        float, typer.Option("--every", min=1, help="Shortest time between two rankings of all pages, in seconds.")
    ] = 15.0,
    crawl: Annotated[bool, typer.Option("--crawl/--no-crawl", help="Whether to crawl.")] = True,
) -> None:
    """Run the site until stopped: its NATS server, crawl, index and search page. Seeds of other sites go there."""
    from periplus.app import read_seeds, run_site

    urls = read_seeds(seeds or [])

    def ready(url: str) -> None:
        echo(f"Searching at {url} (Ctrl-C stops all)")

    with observe() as observer:
        run_site(Path(settings.folder), settings, urls, ready, every=every, crawling=crawl, observer=observer)
    echo("Stopped. To continue: the same command.")


@site.command("status")
@with_settings()
def status(settings: Settings, as_json: AsJson = False) -> None:
    """Show who is alive, the lag of every sink, bytes exchanged, the last thresholds, and what needs attention."""
    from periplus.app import site_report

    report = site_report(Path(settings.folder), settings)
    if as_json:
        echo_json(
            {
                "site": report.name,
                "running": report.running,
                "sites": report.topology.names,
                "status": report.status,
                "warnings": report.status.warnings() if report.status is not None else [],
            }
        )
    else:
        echo_site(report)


@site.command("leave")
@with_settings()
def leave(settings: Settings) -> None:
    """Leave the federation: the data folder is an ordinary one again. The site must not run."""
    from periplus.app import leave_sites

    with observe() as observer:
        told = leave_sites(Path(settings.folder), settings, observer)
    echo(f"Left. Told: {', '.join(told) or 'nobody'}.")


@site.command("demo")
@with_settings(host="serve.host", port="serve.port")
def demo(
    settings: Settings,
    once: Annotated[bool, typer.Option("--once", help="End after the queries instead of serving.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed generates the same web.")] = 7,
    hosts: Annotated[int, typer.Option("--hosts", help="Number of well-behaved hosts.")] = 30,
    pages: Annotated[int, typer.Option("--pages", help="Number of articles.")] = 600,
) -> None:
    """Run three sites of a generated web on this machine, as far apart as three continents, and cut one off."""
    from periplus.app import open_site_demo, wait_for_signal

    with (
        observe() as observer,
        open_site_demo(settings, seed=seed, hosts=hosts, pages=pages, observer=observer) as run,
    ):
        correct = echo_demo(run)
        if not correct:
            raise typer.Exit(1)
        if not once:
            for name in run.names:
                echo(f"Search {name} at {run.url(name)}")
            echo("Ctrl-C stops.")
            wait_for_signal()
