"""The parameters of a fake web."""

from dataclasses import dataclass
from typing import Final

from periplus.errors import BadInput

__all__ = ["TROUBLE", "FakeWebPlan"]

TROUBLE: Final = ("slow", "broken", "trap", "lying", "farm")
"""The kinds of trouble that can be enabled."""

_MAX_HOSTS: Final = 60_000


@dataclass(frozen=True, slots=True)
class FakeWebPlan:
    """The parameters that determine the web: the same plan yields the same bytes."""

    seed: int = 7
    hosts: int = 30
    """Good hosts; aliases and trouble hosts are added."""
    pages: int = 1500
    """Articles; home pages and section lists are added."""
    trouble: tuple[str, ...] = ()
    """Any of 'slow', 'broken', 'trap', 'lying', 'farm'."""

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= _MAX_HOSTS:
            raise BadInput(f"A fake web has 1 to {_MAX_HOSTS} hosts, not {self.hosts}.")
        if not self.hosts <= self.pages <= 10_000_000:
            raise BadInput(f"A fake web of {self.hosts} hosts has at least as many pages, not {self.pages}.")
        if self.seed < 0:
            raise BadInput(f"The seed of a fake web is 0 or more, not {self.seed}.")
        for kind in self.trouble:
            if kind not in TROUBLE:
                raise BadInput(f"There is no kind of trouble '{kind}'.", f"Choose from {', '.join(TROUBLE)}.")
