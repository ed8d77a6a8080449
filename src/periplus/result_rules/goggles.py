"""Lines of a Goggles file: a URL pattern and, behind a dollar sign, what happens to the pages that match it.

! name: Without shops
/blog/$boost=3
$boost,site=docs.example.org
|https://www.example.com/shop/$downrank=2
example.net^$discard
$discard                     everything that no other line is about
"""

import re
from typing import Final

from periplus.result_rules.rule_lists import canonical_host
from periplus.result_rules.rule_records import BLOCK, LOWER, MAX_STRENGTH, RAISE, Rule, UrlPattern

__all__ = ["is_goggle", "parse_goggle_line", "read_goggle_field"]

_OPTIONS: Final = re.compile(r"(.*)\$((?:boost|downrank|discard|site|in[a-z]+)(?:=[^,]*)?(?:,.*)?)")
_FIELD: Final = re.compile(r"!\s*([a-z_]+)\s*:\s*(.*)", re.IGNORECASE)
_SITE_PATTERN: Final = re.compile(r"\|\|([\w.\-]+)\^?")
_SAMPLE: Final = 200
"""Lines that a format is recognised by."""


def is_goggle(lines: list[str]) -> bool:
    """Return whether lines are those of a Goggles file."""
    sample = [line.strip() for line in lines[:_SAMPLE]]
    return any(line.startswith("!") or _OPTIONS.fullmatch(line) for line in sample)


def read_goggle_field(text: str) -> tuple[str, str]:
    """Return name and value of a field such as '! name: My Goggle'; empty for other comments."""
    field = _FIELD.fullmatch(text)
    return (field[1].lower(), field[2].strip()) if field else ("", "")


def parse_goggle_line(text: str, line: int) -> Rule | str | None:
    """Return the rule of a line, None for a comment, or why the line is ignored.

    A rule that blocks, with neither host nor pattern, stands for all pages that no other rule is about.
    """
    if not text or text.startswith(("!", "#")):
        return None
    whole = _OPTIONS.fullmatch(text)
    pattern, options = (whole[1], whole[2].split(",")) if whole else (text, [])
    rule = Rule(RAISE, line=line)
    for option in options:
        name, equals, value = (part.strip() for part in option.partition("="))
        if name == "site":
            host = canonical_host(value)
            if not host:
                return "its site is not valid"
            rule = rule._replace(host=host)
        elif name in ("boost", "downrank"):
            if equals and not (value.isascii() and value.isdigit() and 1 <= int(value[:3]) <= MAX_STRENGTH):
                return f"{name} is a number from 1 to {MAX_STRENGTH}"
            rule = rule._replace(action=RAISE if name == "boost" else LOWER, strength=int(value) if equals else 1)
        elif name == "discard":
            rule = rule._replace(action=BLOCK)
        elif name != "inurl":
            known = name in ("intitle", "indescription", "incontent")
            return "only URLs are looked at, not " + name[2:] if known else f"the option {name[:20]} is not known"
    return _with_pattern(rule, pattern)


def _with_pattern(rule: Rule, text: str) -> Rule | str:
    site = _SITE_PATTERN.fullmatch(text)
    if site and not rule.host:
        host = canonical_host(site[1])
        return rule._replace(host=host) if host else "its site is not valid"
    if text.startswith("||"):
        text = text[2:]
    anchored, ended = text.startswith("|"), text.endswith("|") and len(text) > 1
    text = text[anchored : len(text) - ended]
    if text.strip("*"):
        return rule._replace(pattern=UrlPattern(text, anchored, ended))
    if rule.host or rule.action == BLOCK:
        return rule
    return "it would match every page"
