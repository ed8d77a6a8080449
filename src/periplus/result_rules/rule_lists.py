"""Lines of uBlacklist lists, and of own lists: an action and what it is for.

*://*.example.com/*          block a host and those below it
https://example.com/shop/*   block what is below a path
/casino\\d+\\.example/         block by a regular expression
@*://docs.example.com/*      exempt from the lines above
@1*://*.example.org/*        highlight: raise
block example.com            the same in words; a host alone blocks, too
raise docs.example.org 3     with a strength from 1 to 10
lower example.net/archive/
"""

import re
from typing import Final

from periplus.errors import BadUrl
from periplus.result_rules.rule_records import ALLOW, BLOCK, LOWER, MAX_STRENGTH, RAISE, Rule, UrlPattern
from periplus.url import parse_address

__all__ = ["canonical_host", "parse_list_line", "read_front_matter"]

_WORDS: Final = {"block": BLOCK, "allow": ALLOW, "raise": RAISE, "lower": LOWER, "pin": RAISE}
_ACTION: Final = re.compile(r"(block|allow|raise|lower|pin)\s+(\S+)(?:\s+(\d{1,3}))?", re.IGNORECASE)
_MATCH_PATTERN: Final = re.compile(r"(\*|https?)://(\*|(?:\*\.)?[^/*\s]+)(/\S*)")
_EXPRESSION: Final = re.compile(r"(url|title)?/(.*)/([a-z]*)")
_HOST: Final = re.compile(r"(?:\*\.)?([\w\-]+(?:\.[\w\-]+)*\.?)(/\S*)?")
_HIGHLIGHT: Final = 2
"""The strength of a highlight is its number and this."""


def canonical_host(text: str) -> str:
    """Return a host as the index has it; '' for what is not one."""
    host = text.strip(".").lower()
    if host.isascii() and re.fullmatch(r"[a-z0-9_\-]+(\.[a-z0-9_\-]+)*(:[0-9]{1,5})?|\[[0-9a-f:.]+\]", host):
        return host.partition(":")[0] if not host.startswith("[") else host
    try:
        return parse_address(f"http://{host}/").host
    except BadUrl:
        return ""


def read_front_matter(lines: list[str]) -> tuple[dict[str, str], int]:
    """Return the fields between two lines of dashes at the beginning of a list, and the number of lines they take."""
    if not lines or lines[0].strip() != "---":
        return {}, 0
    fields: dict[str, str] = {}
    for number, line in enumerate(lines[1:100], 2):
        if line.strip() == "---":
            return fields, number
        key, colon, value = line.partition(":")
        if colon:
            fields[key.strip().lower()] = value.strip().strip("'\"")
    return {}, 0


def parse_list_line(text: str, line: int) -> Rule | str | None:
    """Return the rule of a line, None for a comment, or why the line is ignored."""
    if not text or text.startswith("#"):
        return None
    if text.startswith("@if") or text.startswith("$"):
        return "expressions of uBlacklist are not supported"
    action, strength = BLOCK, 1
    words = _ACTION.fullmatch(_without_comment(text))
    if words:
        action, target = _WORDS[words[1].lower()], words[2]
        strength = int(words[3]) if words[3] else MAX_STRENGTH if words[1].lower() == "pin" else 3
        if not 1 <= strength <= MAX_STRENGTH:
            return f"a strength is a number from 1 to {MAX_STRENGTH}"
    elif text.startswith("@"):
        number, target = re.match(r"@(\d{0,3})\s*(.*)", text).groups()  # type: ignore[union-attr]
        action, strength = (RAISE, min(MAX_STRENGTH, int(number) + _HIGHLIGHT)) if number else (ALLOW, 1)
    else:
        target = text
    return _parse_target(target, Rule(action, strength, line=line))


def _without_comment(text: str) -> str:
    return re.split(r"\s#", text, maxsplit=1)[0].rstrip()


def _parse_target(text: str, rule: Rule) -> Rule | str:
    expression = _EXPRESSION.fullmatch(text) or _EXPRESSION.fullmatch(_without_comment(text))
    if expression and (expression[2].count("/") or not _HOST.fullmatch(text)):
        if expression[1] == "title":
            return "titles are not looked at, only URLs"
        flags = "(?i)" if "i" in expression[3] else ""
        return rule._replace(expression=flags + expression[2].replace("\\/", "/"))
    text = _without_comment(text)
    if text == "<all_urls>":
        text = "*://*/*"
    whole = _MATCH_PATTERN.fullmatch(text)
    if whole:
        return _of_host(rule, whole[2], whole[3], whole[3] != "/*")
    short = _HOST.fullmatch(text)
    if short and ("." in short[1] or short[1] == "localhost"):
        path = short[2] or "/"
        return _of_host(rule, f"*.{short[1]}", path.rstrip("*") + "*", path not in ("/", "/*"))
    return "it is neither a match pattern, a regular expression nor a site"


def _of_host(rule: Rule, host: str, path: str, has_path: bool) -> Rule | str:
    if host != "*":
        name = canonical_host(host.removeprefix("*."))
        if not name:
            return "its host is not valid"
        rule = rule._replace(host=name, subdomains=host.startswith("*."))
    if has_path or host == "*":
        rule = rule._replace(pattern=UrlPattern(path, from_start=True, to_end=True, in_path=True))
    return rule
