"""The text of a rule file to a rule set, within limits. What breaks a limit is refused, and the line is named."""

from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

import re2

from periplus.errors import BadInput
from periplus.result_rules.goggles import is_goggle, parse_goggle_line, read_goggle_field
from periplus.result_rules.rule_lists import parse_list_line, read_front_matter
from periplus.result_rules.rule_records import BLOCK, IgnoredLine, Rule, RuleSet, RuleText

__all__ = ["FORMATS", "LIMITS", "RuleLimits", "compile_options", "parse_rules"]

FORMATS: Final = ("auto", "list", "goggles")
_MAX_IGNORED: Final = 100
"""Ignored lines that are named."""
_MAX_NAME: Final = 200
_EXPRESSION_MEMORY: Final = 1 << 20
"""Bytes that one regular expression may take."""


class RuleLimits(NamedTuple):
    """What one rule set may have."""

    bytes: int = 2_000_000
    rules: int = 100_000
    pattern: int = 500
    """Characters of a pattern or a regular expression."""
    wildcards: int = 4
    """Wildcards of a pattern, `*` and `^` each."""
    anywhere: int = 10_000
    """Patterns that are not limited to one site."""
    short: int = 100
    """Such patterns without four letters in a row: they are compared with every URL."""
    expressions: int = 200
    """Regular expressions."""


LIMITS: Final = RuleLimits()


def compile_options(memory: int = _EXPRESSION_MEMORY) -> re2.Options:
    """Return the options that expressions are compiled with: linear time, bounded memory."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    return options


def parse_rules(text: str, format_name: str = "auto", name: str = "", limits: RuleLimits = LIMITS) -> RuleSet:
    """Return the rules of a file. Raise `BadInput`, with the number of the line, for what breaks a limit.

    name: of the set, where the file does not have one. Lines that cannot be understood are ignored, and listed.
    """
    if format_name not in FORMATS:
        raise BadInput("The format of rules is not known.", f"Use one of {', '.join(FORMATS)}.")
    _check_size(text, limits)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    goggle = format_name == "goggles" or (format_name == "auto" and is_goggle(lines))
    fields, skipped = ({}, 0) if goggle else read_front_matter(lines)
    parser = _Parser(parse_goggle_line if goggle else parse_list_line, limits)
    for number, line in enumerate(lines[skipped:], skipped + 1):
        line = line.strip()
        if goggle and line.startswith("!"):
            key, value = read_goggle_field(line)
            fields.setdefault(key, value)
        parser.add(line, number)
    source = RuleText("\n".join(lines).strip("\n") + "\n", "goggles" if goggle else "list")
    return RuleSet(
        _identify(source),
        source,
        _clean(fields.get("name", "") or name),
        _clean(fields.get("description", "")),
        tuple(parser.rules),
        tuple(parser.ignored),
        parser.ignored_count,
        parser.blocks_others,
    )


def _identify(source: RuleText) -> str:
    return sha256(f"{source.format}\n{source.text}".encode("utf-8", "replace")).hexdigest()[:32]


def _clean(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text[:_MAX_NAME]).strip()


def _check_size(text: str, limits: RuleLimits) -> None:
    if len(text) <= limits.bytes and len(text.encode("utf-8", "replace")) <= limits.bytes:
        return
    line = text[: limits.bytes].count("\n") + 1
    count = text.count("\n", 0, 64 * limits.bytes) + 1
    if count > limits.rules:
        line = min(line, limits.rules + 1)
    raise _refusal(line, f"the file has more than {limits.bytes:,} bytes from here on", "Split it into several sets.")


def _refusal(line: int, reason: str, hint: str = "Remove or shorten this line.") -> BadInput:
    return BadInput(f"The rules were not accepted: line {line:,}: {reason}.", hint)


class _Parser:
    """Collects the rules of one file."""

    def __init__(self, parse: Callable[[str, int], Rule | str | None], limits: RuleLimits) -> None:
        self._parse = parse
        self._limits = limits
        self._anywhere = self._short = self._expressions = 0
        self.rules: list[Rule] = []
        self.ignored: list[IgnoredLine] = []
        self.ignored_count = 0
        self.blocks_others = False

    def add(self, text: str, line: int) -> None:
        """Add a line."""
        if len(text) > 8 * self._limits.pattern:
            raise _refusal(line, f"it has {len(text):,} characters")
        rule = self._parse(text, line)
        if isinstance(rule, str):
            self.ignored_count += 1
            if len(self.ignored) < _MAX_IGNORED:
                self.ignored.append(IgnoredLine(line, rule))
        elif rule is not None:
            self._add_rule(rule)

    def _add_rule(self, rule: Rule) -> None:
        if rule.action == BLOCK and not (rule.host or rule.pattern or rule.expression):
            self.blocks_others = True
            return
        if len(self.rules) >= self._limits.rules:
            raise _refusal(
                rule.line, f"there are more than {self._limits.rules:,} rules", "Split it into several sets."
            )
        if rule.expression:
            self._check_expression(rule)
        elif rule.pattern is not None:
            self._check_pattern(rule)
        if not rule.expression or self._is_expression(rule):
            self.rules.append(rule)

    def _check_pattern(self, rule: Rule) -> None:
        limits, text = self._limits, rule.pattern.text if rule.pattern else ""
        if len(text) > limits.pattern:
            raise _refusal(rule.line, f"a pattern has at most {limits.pattern} characters")
        if max(text.count("*"), text.count("^")) > limits.wildcards:
            raise _refusal(rule.line, f"a pattern has at most {limits.wildcards} wildcards of a kind")
        if rule.host:
            return
        self._anywhere += 1
        self._short += max(map(len, text.replace("^", "*").split("*"))) < 4
        if self._anywhere > limits.anywhere:
            raise _refusal(rule.line, f"more than {limits.anywhere:,} patterns are not limited to one site")
        if self._short > limits.short:
            raise _refusal(rule.line, f"more than {limits.short} patterns have no four letters in a row")

    def _check_expression(self, rule: Rule) -> None:
        limits = self._limits
        if len(rule.expression) > limits.pattern:
            raise _refusal(rule.line, f"a regular expression has at most {limits.pattern} characters")
        self._expressions += 1
        if self._expressions > limits.expressions:
            raise _refusal(rule.line, f"there are more than {limits.expressions} regular expressions")

    def _is_expression(self, rule: Rule) -> bool:
        """Return whether an expression can be compiled; one that takes too much memory is refused."""
        try:
            re2.compile(rule.expression, compile_options())
        except re2.error as error:
            message = error.args[0] if error.args else b""
            reason = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
            if "too large" in reason or "repetition size" in reason or "nests too deeply" in reason:
                raise _refusal(rule.line, "the regular expression is too large") from None
            self.ignored_count += 1
            if len(self.ignored) < _MAX_IGNORED:
                self.ignored.append(
                    IgnoredLine(rule.line, f"not a regular expression that is supported: {reason[:80]}")
                )
            return False
        return True
