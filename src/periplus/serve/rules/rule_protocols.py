"""The protocols of rule sets, so that the server can be tested with any implementation."""

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["RuleSetLike", "RulesLike"]


class RuleSetLike(Protocol):
    """A rule set."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def name(self) -> str:
        """Its name, or ''."""

    @property
    def description(self) -> str:
        """What it says of itself, or ''."""

    @property
    def source(self) -> Any:
        """Its text and format."""

    @property
    def ignored(self) -> Sequence[tuple[int, str]]:
        """The first of the lines that are ignored, and why."""

    @property
    def ignored_count(self) -> int:
        """How many lines are ignored."""

    @property
    def blocks_others(self) -> bool:
        """Whether pages that no rule is about are blocked."""

    def count(self, action: str) -> int:
        """Return how many rules have an action."""


class RulesLike(Protocol):
    """The rule sets of a server."""

    def add(self, text: str, format_name: str = "auto", name: str = "") -> RuleSetLike:
        """Store a rule set; raise `BadInput`, with the number of the line, if it is not accepted."""

    def get(self, identifier: str) -> RuleSetLike:
        """Return a rule set; raise `NothingHere` if there is none with this id."""

    def server_ids(self) -> tuple[str, ...]:
        """Return the ids of the sets that count for everybody."""

    def set_server_ids(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Set which sets count for everybody; raise `NothingHere` for one that is not stored."""
