"""A crawl in a process of its own that outlives the one that started it, such as a server.

Its arguments come by standard input; its output goes to `crawl/detached.log`.
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
from periplus.health import share_health
from periplus.limits import divide_memory
from periplus.settings import Settings
from periplus.typed_decoding import parse_json

__all__ = ["start_detached"]

_START_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.02


class _CrawlArguments(msgspec.Struct):
    folder: str
    settings: Settings
    seeds: list[str]


def start_detached(folder: Path, settings: Settings, seeds: Sequence[str]) -> None:
    """Start or continue a crawl in a new process. Raise `BadInput` with its error message if it does not start."""
    log = folder / "crawl" / "detached.log"
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
    with process.stdin as stdin:
        stdin.write(msgspec.json.encode(_CrawlArguments(str(folder.resolve()), settings, list(seeds))))
    _wait_for_start(process, folder, log)


def _wait_for_start(process: "subprocess.Popen[bytes]", folder: Path, log: Path) -> None:
    """Wait until the crawl writes its status, or ends."""
    limit = time.monotonic() + _START_SECONDS
    while time.monotonic() < limit:
        code = process.poll()
        if code:
            message = log.read_text("utf-8", "replace").strip().split("\n")[-1][:300]
            raise BadInput(f"The crawl did not start: {message}", f"See {log}.")
        status = read_status(folder / "crawl")
        if code == 0 or (status is not None and status.process == process.pid):
            return
        time.sleep(_POLL_SECONDS)
    raise BadInput("The crawl has not started yet.", f"See {log}.")


def _crawl(arguments: _CrawlArguments) -> None:
    folder = Path(arguments.folder)
    arguments.settings = divide_memory(arguments.settings)
    crawler: Crawler | Supervisor
    if max(arguments.settings.crawl.shards, count_shards(folder)) > 1:
        crawler = Supervisor(folder, arguments.settings, arguments.seeds, arguments.settings.crawl.shards)
    else:
        crawler = Crawler(folder, arguments.settings, arguments.seeds)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: crawler.stop())
    with share_health(folder):
        statistics = crawler.run()
    sys.stderr.write(f"The crawl has ended with {statistics.pages:,} pages.\n")


def _main() -> None:
    try:
        _crawl(parse_json(sys.stdin.buffer.read(), _CrawlArguments))
    except (PeriplusError, msgspec.MsgspecError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    _main()
