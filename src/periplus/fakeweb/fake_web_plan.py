"""The parameters of a fake web."""

from dataclasses import dataclass
from typing import Final

from periplus.errors import BadInput
from periplus.fakeweb.model.fake_regions import FakeRegion

__all__ = ["LANGUAGES", "TROUBLE", "FakeWebPlan"]

TROUBLE: Final = ("slow", "broken", "trap", "lying", "farm")
"""The kinds of trouble that can be enabled."""

LANGUAGES: Final = ("en", "de", "fr", "es", "ja")
"""The languages of pages."""

_MAX_HOSTS: Final = 60_000
_MAX_REGIONS: Final = 100


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

    regions: tuple[FakeRegion, ...] = ()
    """Regions that hosts are spread over in turn, each in the language of its region; () is one web without places."""

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= _MAX_HOSTS:
            raise BadInput(f"A fake web has 1 to {_MAX_HOSTS} hosts, not {self.hosts}.")
        if not self.hosts <= self.pages <= 10_000_000:
            raise BadInput(f"A fake web of {self.hosts} hosts has at least as many pages, not {self.pages}.")
        if self.seed < 0:
            raise BadInput(f"The seed of a fake web is 0 or more, not {self.seed}.")
        if len(self.regions) > _MAX_REGIONS:
            raise BadInput(f"A fake web has at most {_MAX_REGIONS} regions, not {len(self.regions)}.")
        for region in self.regions:
            if region.language not in LANGUAGES:
                raise BadInput(f"A fake web has no pages in '{region.language}'.", f"It has {', '.join(LANGUAGES)}.")
        for kind in self.trouble:
            if kind not in TROUBLE:
                raise BadInput(f"There is no kind of trouble '{kind}'.", f"Choose from {', '.join(TROUBLE)}.")
