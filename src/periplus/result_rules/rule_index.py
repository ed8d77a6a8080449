"""A rule set as arrays: hashes of hosts, patterns by four of their bytes, regular expressions as one automaton."""

import functools
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import re2

from periplus.result_rules import kernels
from periplus.result_rules.rule_parser import compile_options, parse_rules
from periplus.result_rules.rule_records import ALLOW, BLOCK, LOWER, RAISE, Rule, RuleSet, RuleText

__all__ = ["RuleIndex", "index_rules", "open_rules"]

_AUTOMATON_BYTES: Final = 64 << 20
_SETS: Final = 64
"""Rule sets that are kept as arrays."""


def _code(rule: Rule) -> int:
    if rule.action in (BLOCK, ALLOW):
        return kernels.BLOCKED if rule.action == BLOCK else kernels.ALLOWED
    assert rule.action in (RAISE, LOWER)
    return rule.strength << (kernels.RAISE_SHIFT if rule.action == RAISE else kernels.LOWER_SHIFT)


class RuleIndex:
    """The rules of one set as they are looked up."""

    def __init__(self, rules: RuleSet) -> None:
        self.blocks_others = rules.blocks_others
        self.scores = any(rule.action in (RAISE, LOWER) for rule in rules.rules)
        """Whether any rule raises or lowers."""
        patterns = [rule for rule in rules.rules if rule.pattern is not None]
        hosts = [rule for rule in rules.rules if rule.pattern is None and not rule.expression]
        self.host_keys, self.host_codes = _index_hosts(hosts)
        self.patterns = _index_patterns(patterns)
        self._sites: dict[tuple[str, bool], list[int]] = defaultdict(list)
        for number, rule in enumerate(patterns):
            if rule.host:
                self._sites[rule.host, rule.subdomains].append(number)
        expressions = [rule for rule in rules.rules if rule.expression]
        self.expression_codes = [_code(rule) for rule in expressions]
        self.expressions = _compile([rule.expression for rule in expressions]) if expressions else None

    @property
    def reads_urls(self) -> bool:
        """Whether URLs are looked at, and not hosts alone."""
        return self.expressions is not None or len(self.patterns.codes) > 0

    def site_patterns(self, hosts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the patterns that are limited to the site of each host: where those of each begin, and all of them."""
        if not self._sites:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        slots, members = np.zeros(len(hosts) + 1, np.int32), list[int]()
        for number, host in enumerate(hosts):
            members += self._sites.get((host, False), ())
            domain = host
            while domain:
                members += self._sites.get((domain, True), ())
                domain = domain.partition(".")[2]
            slots[number + 1] = len(members)
        return slots, np.array(members, np.int32)


def _index_hosts(rules: Sequence[Rule]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint16]]:
    codes: dict[int, int] = {}
    for rule in rules:
        host = np.frombuffer(rule.host.encode("utf-8", "replace"), np.uint8)
        key = int(kernels.hash_host(host, not rule.subdomains))
        codes[key] = int(kernels.merge_codes(codes.get(key, 0), _code(rule)))
    keys = np.array(sorted(codes), np.uint64)
    return keys, np.array([codes[int(key)] for key in keys], np.uint16)


def _translate(text: str) -> bytes:
    """Return the bytes of a pattern: lower case, wildcards as bytes that no URL has; stars in a row are one."""
    raw = text.lower().encode("utf-8", "replace")
    clean = bytes(byte for byte in raw if byte > kernels.SEPARATOR)
    while b"**" in clean:
        clean = clean.replace(b"**", b"*")
    return clean.replace(b"*", bytes([kernels.STAR])).replace(b"^", bytes([kernels.SEPARATOR]))


def _index_patterns(rules: Sequence[Rule]) -> kernels.PatternTable:
    texts = [_translate(rule.pattern.text if rule.pattern else "") for rule in rules]
    flags = [
        rule.pattern.from_start * kernels.FROM_START
        | rule.pattern.to_end * kernels.TO_END
        | rule.pattern.in_path * kernels.IN_PATH
        for rule in rules
        if rule.pattern is not None
    ]
    start = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=start[1:])
    slots: dict[int, list[int]] = defaultdict(list)
    short: list[int] = []
    for number, (rule, text) in enumerate(zip(rules, texts, strict=True)):
        if rule.host:
            continue
        grams = _grams(text)
        if grams:
            slots[min(grams, key=lambda gram: (len(slots[gram]) if gram in slots else 0, gram))].append(number)
        else:
            short.append(number)
    counts = np.zeros((1 << kernels.TABLE_BITS) + 1, np.int32)
    for slot, members in slots.items():
        counts[slot + 1] = len(members)
    return kernels.PatternTable(
        np.frombuffer(b"".join(texts) or b"\0", np.uint8).copy(),
        start,
        np.array(flags, np.int64),
        np.array([_code(rule) for rule in rules], np.uint16),
        np.array(short, np.int32),
        np.cumsum(counts, dtype=np.int32),
        np.array([number for slot in sorted(slots) for number in slots[slot]], np.int32),
    )


_COMMON: Final = (b"http", b"ttps", b"tps:", b"ps:/", b"s://", b"://w", b"//ww", b"/www", b"www.", b".com", b"com/")
"""Parts of nearly every URL."""


def _grams(text: bytes) -> list[int]:
    """Return the slots of all four bytes in a row that a pattern has between wildcards, rare ones if there are any."""
    parts = text.replace(bytes([kernels.SEPARATOR]), bytes([kernels.STAR])).split(bytes([kernels.STAR]))
    grams = [part[at : at + kernels.GRAM] for part in parts for at in range(len(part) - kernels.GRAM + 1)]
    chosen = [gram for gram in grams if gram not in _COMMON] or grams
    return [int(kernels.gram_slot(*gram)) for gram in chosen]


def _compile(expressions: Sequence[str]) -> re2.Set:
    automaton = re2.Set.SearchSet(compile_options(_AUTOMATON_BYTES))
    for expression in expressions:
        automaton.Add(expression)
    automaton.Compile()
    return automaton


_INDEXES: Final[OrderedDict[str, RuleIndex]] = OrderedDict()
_LOCK: Final = threading.Lock()


def index_rules(rules: RuleSet) -> RuleIndex:
    """Return a rule set as arrays; those that were used last are kept, by the ids of their sets."""
    with _LOCK:
        found = _INDEXES.get(rules.id)
        if found is not None:
            _INDEXES.move_to_end(rules.id)
            return found
    made = RuleIndex(rules)
    with _LOCK:
        _INDEXES[rules.id] = made
        while len(_INDEXES) > _SETS:
            _INDEXES.popitem(last=False)
    return made


@functools.lru_cache(_SETS)
def open_rules(source: RuleText) -> RuleSet:
    """Return the rule set of a text that was accepted before."""
    return parse_rules(source.text, source.format)
