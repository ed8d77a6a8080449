"""What an operation of the fault laboratory is, and what its steps need."""

import abc
import contextlib
import io
from pathlib import Path
from typing import Any, Protocol

from periplus.cli import main
from periplus.errors import PeriplusError
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import SearchSettings, Settings

_SEARCH_MS = 50_000.0


class Wrong(AssertionError):
    """An answer is wrong: something is there that was never written, or with another content."""


class Lost(Wrong):
    """Something that was acknowledged is not there."""


class CommandFailed(PeriplusError):
    """A command ended with another status than 0; the message is what it printed."""


class MarkWriter(Protocol):
    """Takes down what an operation begins and acknowledges."""

    def begin(self, name: str) -> None:
        """Mark that a change begins: from now on it may be there."""

    def done(self, name: str) -> None:
        """Mark that a change was acknowledged: from now on it must be there."""


class Operation(abc.ABC):
    """An operation on a data folder that acknowledges something. Its steps run in processes of their own."""

    name = ""
    keeps_names = True
    """Whether everything is durable when it is acknowledged, names included."""

    def prepare(self, folder: Path) -> None:  # noqa: B027 - many begin with an empty folder
        """Make the data folder that the operation begins with; it is durable."""

    @abc.abstractmethod
    def run(self, folder: Path, marks: MarkWriter) -> None:
        """Do it. It is also run again where an earlier run was interrupted anywhere."""

    @abc.abstractmethod
    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        """Raise `Wrong` unless all that is in `done` is there and nothing that is not in `begun`; then do more work."""


def expect(condition: object, message: str) -> None:
    """Raise `Wrong` with the message unless the condition is true."""
    if not condition:
        raise Wrong(message)


def expect_between(done: Any, seen: Any, begun: Any, what: str) -> None:
    """Raise `Wrong` unless a set has everything that was acknowledged, and nothing that was not begun."""
    if not set(done) <= set(seen):
        raise Lost(f"{what} lost: {sorted(set(done) - set(seen))}")
    expect(set(seen) <= set(begun), f"{what} from nowhere: {sorted(set(seen) - set(begun))}")


def run_command(*arguments: object) -> str:
    """Run a command of Periplus in this process; return its output, raise `CommandFailed` if it fails."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    if code:
        raise CommandFailed(f"{' '.join(map(str, arguments[:2]))} ended with {code}: {errors.getvalue().strip()}")
    return output.getvalue()


def find_urls(folder: Path, words: str, size: int = 50) -> list[str]:
    """Return the URLs that a search finds, in order; with time enough for a complete answer on a busy machine."""
    settings = Settings(search=SearchSettings(budget_ms=_SEARCH_MS))
    page = Searcher.open(folder, settings).search(Query(words, size=size, verbatim=True))
    expect(not page.partial, f"a search took longer than {_SEARCH_MS} ms")
    return [hit.url for hit in page.hits]
