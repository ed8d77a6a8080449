"""What people want to see more, less or not at all: rule files to rules, rules to documents of a segment.

In: the text of a uBlacklist list, a Brave Goggles file, or lines such as `block example.com`. Out: a `RuleSet`, and,
for the segments of an index, which documents are blocked and by what factor the scores of others are multiplied
(`ActiveRules`). Both are used inside retrieval: what is blocked does not match, so ten results stay ten.

    rule_parser     text to a rule set, within limits; a line that breaks one is named
    rule_lists      lines of uBlacklist and of own lists
    goggles         lines of Goggles
    rule_index      a rule set as arrays, made once
    active_rules    the rule sets of a query, resolved for each segment and cached
    rule_store      the rule sets of a data folder, by their ids, and those that count for everybody
"""

from periplus.result_rules.active_rules import ActiveRules, forget_resolved
from periplus.result_rules.rule_parser import FORMATS, LIMITS, parse_rules
from periplus.result_rules.rule_records import IgnoredLine, Rule, RuleSet, RuleText
from periplus.result_rules.rule_store import RuleStore

__all__ = [
    "FORMATS",
    "LIMITS",
    "ActiveRules",
    "IgnoredLine",
    "Rule",
    "RuleSet",
    "RuleStore",
    "RuleText",
    "forget_resolved",
    "parse_rules",
]
