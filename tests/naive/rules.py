"""Naive twins of rules: a pattern as a regular expression, and what rules make of one page."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from periplus.result_rules import Rule

_SEPARATOR = r"(?:[\x00-\x24\x26-\x2c\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]|$(?![\s\S]))"


def pattern_matches(text: str, from_start: bool, to_end: bool, url: str) -> bool:
    parts = [".*" if letter == "*" else letter if letter == "^" else re.escape(letter) for letter in text.lower()]
    if parts and parts[-1] == "^":
        parts[-1] = _SEPARATOR
    inner = "".join(_SEPARATOR.replace(r"|$(?![\s\S])", "") if part == "^" else part for part in parts)
    expression = ("" if from_start else ".*") + inner + ("" if to_end else ".*")
    lowered = "".join(letter.lower() if letter.isascii() else letter for letter in url)
    return re.fullmatch(expression, lowered, re.DOTALL) is not None


def applies(rule: Rule, url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if rule.host and not (host == rule.host or (rule.subdomains and host.endswith("." + rule.host))):
        return False
    if rule.expression:
        return re.search(rule.expression, url) is not None
    if rule.pattern is None:
        return True
    region = "/" + url.partition("://")[2].partition("/")[2] if rule.pattern.in_path else url
    return pattern_matches(rule.pattern.text, rule.pattern.from_start, rule.pattern.to_end, region)


def judge(rules: Iterable[Rule], blocks_others: bool, url: str) -> tuple[bool, float]:
    """Return whether a page is blocked, and what its score is multiplied by."""
    own = [rule for rule in rules if applies(rule, url)]
    actions = {rule.action for rule in own}
    blocked = ("block" in actions and "allow" not in actions) or (blocks_others and not own)
    raised = max((rule.strength for rule in own if rule.action == "raise"), default=0)
    lowered = max((rule.strength for rule in own if rule.action == "lower"), default=0)
    return blocked, 2 ** (raised / 3) if raised else 2 ** (-lowered / 3)
