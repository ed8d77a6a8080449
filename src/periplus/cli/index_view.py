"""The result of a build, in text."""

from typing import TYPE_CHECKING

from periplus.cli.console import echo, format_bytes, format_count

if TYPE_CHECKING:
    from periplus.app import IndexStatistics

__all__ = ["echo_built", "echo_indexed"]


def echo_indexed(statistics: "IndexStatistics") -> None:
    """Print the size of the index."""
    pages, hosts = format_count(statistics.documents, "page"), format_count(statistics.hosts, "host")
    echo(f"Indexed {pages} from {hosts}: {format_bytes(statistics.bytes)}.")


def echo_built(statistics: "IndexStatistics") -> None:
    """Print the size of the index, and what to do next."""
    echo_indexed(statistics)
    echo("Next: periplus search WORDS, or periplus serve")
