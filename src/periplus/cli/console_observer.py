"""Shows the progress of a call: a display that updates in place on a terminal, plain lines elsewhere."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from periplus.app import SILENT, Observer
from periplus.cli.console import is_terminal, log
from periplus.cli.crawl_view import crawl_block, crawl_line

if TYPE_CHECKING:
    from periplus.app import CrawlStatistics, ShardStatus

__all__ = ["PlainObserver", "observe"]

_PLAIN_SECONDS: Final = 5.0
"""Without a terminal, a long stage is reported this often."""
_LIVE_SECONDS: Final = 0.25
_BAR_WIDTH: Final = 24


@contextlib.contextmanager
def observe(quiet: bool = False) -> Iterator[Observer]:
    """Yield an observer that shows messages and progress on standard error; with `quiet`, one that shows nothing."""
    if quiet:
        yield SILENT
    elif is_terminal():
        with contextlib.closing(_LiveObserver()) as observer:
            yield observer
    else:
        yield PlainObserver()


class PlainObserver:
    """Prints a line from time to time."""

    def __init__(self) -> None:
        self._stages: dict[str, tuple[float, int]] = {}
        """When each stage was last reported, and how far it was."""
        self._crawl_reported = time.monotonic()

    def message(self, text: str) -> None:
        """Print a line."""
        log(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Print a line at the beginning of a stage, at its end and now and then between."""
        now, ended = time.monotonic(), 0 < total <= done
        reported_at, reported = self._stages.get(stage, (float("-inf"), 0))
        again = done < reported  # the stage runs once more, for something else
        if not again and ((done == reported and ended) or (not ended and now - reported_at < _PLAIN_SECONDS)):
            return
        self._stages[stage] = now, done
        amount = f" {done:,}" + (f" of {total:,}" if total else "") if done or ended else ""
        log(f"{stage}{amount}")

    def crawl_progress(self, statistics: "CrawlStatistics", shards: "Sequence[ShardStatus]" = ()) -> None:
        """Print the figures of a crawl now and then."""
        now = time.monotonic()
        if now - self._crawl_reported >= _PLAIN_SECONDS:
            self._crawl_reported = now
            log(crawl_line(statistics))


class _LiveObserver:
    """Draws bars for stages, and a block for a crawl. Nothing is refreshed by a thread: crawl shards are forked."""

    def __init__(self) -> None:
        self._display: Any = None
        self._tasks: dict[str, Any] = {}
        self._drawn = 0.0

    def close(self) -> None:
        """Leave the display as it is, and begin no other at this place."""
        display, self._display = self._display, None
        self._tasks = {}
        if display is not None:
            display.stop()

    def message(self, text: str) -> None:
        """Print a line above the display."""
        log(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Draw a bar for the stage."""
        from rich.progress import Progress

        if not isinstance(self._display, Progress):
            self.close()
            self._display = _make_bars()
            self._display.start()
        new = stage not in self._tasks
        if new:
            self._tasks[stage] = self._display.add_task(stage, total=total or None)
        due = new or 0 < total <= done or time.monotonic() - self._drawn >= _LIVE_SECONDS
        self._display.update(self._tasks[stage], completed=done, total=total or None, refresh=due)
        if due:
            self._drawn = time.monotonic()

    def crawl_progress(self, statistics: "CrawlStatistics", shards: "Sequence[ShardStatus]" = ()) -> None:
        """Draw the figures of a crawl and of its shards."""
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if not isinstance(self._display, Live):
            self.close()
            self._display = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._display.start()
        if time.monotonic() - self._drawn >= _LIVE_SECONDS:
            self._drawn = time.monotonic()
            text = Text(crawl_block(statistics, shards), overflow="ellipsis", no_wrap=True)
            self._display.update(text, refresh=True)


def _make_bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=_BAR_WIDTH),
        TaskProgressColumn(text_format_no_percentage=""),
        TextColumn("{task.completed:,.0f}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), auto_refresh=False)
