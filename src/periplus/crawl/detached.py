"""A crawl in a process of its own that outlives whoever began it, such as a server that was asked to over HTTP.

What it is to do comes by standard input; what it has to say goes to `crawl/crawl.log`.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.crawl_status import read_status
from periplus.crawl.crawler import Crawler
from periplus.crawl.sharding.supervisor import Supervisor
from periplus.crawl.sharding.topology import count_shards
from periplus.errors import BadInput, PeriplusError
from periplus.files import disk_errors
from periplus.settings import Settings

__all__ = ["start_detached"]

_PATIENCE: Final = 60.0
_TURN: Final = 0.02


class _Order(msgspec.Struct):
    folder: str
    settings: Settings
    seeds: list[str]


def start_detached(folder: Path, settings: Settings, seeds: Sequence[str]) -> None:
    """Begin a crawl, or go on with it, in a new process; raise `BadInput` with its own words when it does not start."""
    log = folder / "crawl" / "crawl.log"
    with disk_errors(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.open("wb")
    with file:
        process = subprocess.Popen(
            [sys.executable, "-m", "periplus.crawl.detached"],
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    assert process.stdin is not None
    with process.stdin as order:
        order.write(msgspec.json.encode(_Order(str(folder.resolve()), settings, list(seeds))))
    _await(process, folder, log)


def _await(process: "subprocess.Popen[bytes]", folder: Path, log: Path) -> None:
    """Wait until the crawl says something of itself, or ends."""
    limit = time.monotonic() + _PATIENCE
    while time.monotonic() < limit:
        code = process.poll()
        if code:
            said = log.read_text("utf-8", "replace").strip().split("\n")[-1][:300]
            raise BadInput(f"The crawl did not start: {said}", f"See {log}.")
        status = read_status(folder / "crawl")
        if code == 0 or (status is not None and status.process == process.pid):
            return
        time.sleep(_TURN)
    raise BadInput("The crawl has not started yet.", f"See {log}.")


def _crawl(order: _Order) -> None:
    folder = Path(order.folder)
    crawler: Crawler | Supervisor
    if max(order.settings.crawl.shards, count_shards(folder)) > 1:
        crawler = Supervisor(folder, order.settings, order.seeds, order.settings.crawl.shards)
    else:
        crawler = Crawler(folder, order.settings, order.seeds)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: crawler.stop())
    found = crawler.run()
    sys.stderr.write(f"The crawl has ended with {found.pages:,} pages.\n")


def _main() -> None:
    try:
        _crawl(msgspec.json.decode(sys.stdin.buffer.read(), type=_Order))
    except (PeriplusError, msgspec.MsgspecError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    _main()
