"""The process of a broker: the ordinary search page and API, over the shards of a cluster.

Its arguments come by standard input. It writes the URL to a file once it answers, and ends with its parent.
"""

import os
import signal
import sys
from pathlib import Path

import msgspec

from periplus.errors import PeriplusError
from periplus.files import write_atomically
from periplus.settings import Settings
from periplus.supervision import die_with_parent
from periplus.typed_decoding import parse_json

__all__ = ["BrokerArguments"]


class BrokerArguments(msgspec.Struct):
    """What a broker is started with."""

    folder: str
    settings: Settings
    table: str
    """File of the serving table."""
    key_file: str
    ready: str
    """File for the URL."""
    parent: int


def _serve(arguments: BrokerArguments) -> None:
    from periplus.app.serving.broker_server import serve_broker
    from periplus.cluster import load_key

    def on_ready(url: str) -> None:
        write_atomically(Path(arguments.ready), f"{os.getpid()} {url}".encode())

    serve_broker(
        Path(arguments.folder),
        arguments.settings,
        Path(arguments.table),
        load_key(Path(arguments.key_file)),
        on_ready,
    )


def _main() -> None:
    arguments = parse_json(sys.stdin.buffer.read(), BrokerArguments)
    die_with_parent(arguments.parent, signal.SIGKILL)
    try:
        _serve(arguments)
    except PeriplusError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
