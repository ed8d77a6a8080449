"""Serve a generated web on loopback addresses."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["FakeWebAddress", "serve_fake_web"]


class FakeWebAddress(NamedTuple):
    """Where a generated web is, once it answers."""

    hosts: int
    port: int
    seeds: tuple[str, ...]
    hosts_file: Path


def serve_fake_web(
    on_ready: Callable[[FakeWebAddress], None],
    hosts_file: Path,
    *,
    seed: int = 7,
    hosts: int = 30,
    pages: int = 1_500,
    trouble: Sequence[str] = (),
    port: int = 0,
) -> None:
    """Serve a generated web until stopped; its names are written to `hosts_file`, for the crawler."""
    from periplus.fakeweb import FakeWeb, FakeWebPlan, serve_forever
    from periplus.files import write_atomically

    web = FakeWeb(FakeWebPlan(seed, hosts, pages, tuple(trouble)))

    def ready(actual_port: int) -> None:
        write_atomically(hosts_file, web.hosts_file_text(actual_port).encode())
        on_ready(FakeWebAddress(len(web.hosts), actual_port, tuple(web.seeds), hosts_file))

    serve_forever(web, port, ready)
