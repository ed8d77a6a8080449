"""Records of rules: one rule, a set of them, and its text as it travels."""

from typing import Final, NamedTuple

__all__ = [
    "ALLOW",
    "BLOCK",
    "LOWER",
    "MAX_STRENGTH",
    "RAISE",
    "IgnoredLine",
    "Rule",
    "RuleSet",
    "RuleText",
    "UrlPattern",
]

BLOCK, ALLOW, RAISE, LOWER = "block", "allow", "raise", "lower"
"""Actions of a rule. 'allow' exempts pages from the blocking rules of the same set."""
MAX_STRENGTH: Final = 10


class UrlPattern(NamedTuple):
    """A pattern with wildcards: `*` for any characters, `^` for one that is not a letter, a digit or one of `_-.%`."""

    text: str
    from_start: bool = False
    to_end: bool = False
    """Whether it has to begin and to end where the URL does."""
    in_path: bool = False
    """Whether it is compared with what follows the host only."""


class Rule(NamedTuple):
    """What happens to the pages of a host, or to those whose URLs match."""

    action: str
    strength: int = 1
    """Of raising and lowering, from 1 to 10."""
    host: str = ""
    """The host; '' for any."""
    subdomains: bool = True
    """Whether hosts below it count, too."""
    pattern: UrlPattern | None = None
    expression: str = ""
    """A regular expression (RE2) that the URL must contain a match of."""
    line: int = 0


class IgnoredLine(NamedTuple):
    """A line that has no effect, and why."""

    line: int
    reason: str


class RuleText(NamedTuple):
    """A rule set as it was written: what is stored, and what travels between machines."""

    text: str
    format: str


class RuleSet(NamedTuple):
    """The rules of one file."""

    id: str
    """A hash of its text and format, 32 hexadecimal digits."""
    source: RuleText
    name: str
    description: str
    rules: tuple[Rule, ...]
    ignored: tuple[IgnoredLine, ...]
    """The first of the lines that were ignored."""
    ignored_count: int
    blocks_others: bool
    """Whether pages that no rule raises, lowers or allows are blocked."""

    def count(self, action: str) -> int:
        """Return how many rules have an action."""
        return sum(rule.action == action for rule in self.rules)
