"""Arithmetic as people type it: '2*(3+4)^2', '17 % of 80', 'sqrt(2)'. Bounded in time for any input."""

import math
import re
from collections.abc import Callable
from typing import Final

__all__ = ["as_text", "calculate"]

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)|(?P<name>[a-z]+)|(?P<sign>\*\*|[-+*/^%()×÷·−]))"
)
_SIGNS: Final = str.maketrans({"×": "*", "÷": "/", "·": "*", "−": "-"})
_FUNCTIONS: Final[dict[str, Callable[[float], float]]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "ln": math.log,
    "log": math.log10,
    "abs": abs,
    "exp": math.exp,
}
_NAMES: Final = {"pi": math.pi, "e": math.e}
_OPERATORS: Final = frozenset("+*/^%")
_MAX_PLAIN: Final = 1e15
_MAX_DEPTH: Final = 50


def calculate(words: str) -> str:
    """Return '2 + 3 = 5' for a calculation, '' for anything else."""
    text = words.strip().rstrip("=?").strip().lower()
    try:
        tokens = _tokens(text.replace("% of", "% *"))
        if not _is_calculation(tokens):
            return ""
        value = _Parser(tokens).parse()
    except (ArithmeticError, ValueError):
        return ""
    if isinstance(value, complex) or math.isnan(value) or math.isinf(value):
        return ""
    return f"{text} = {as_text(value)}"


def as_text(value: float) -> str:
    """Format a number with separators: without decimals if it is whole, else with up to ten significant digits."""
    if value == round(value) and abs(value) < _MAX_PLAIN:
        return f"{round(value):,}".replace("-", "−")
    if 1e-4 <= abs(value) < _MAX_PLAIN:
        digits = max(0, 9 - math.floor(math.log10(abs(value))))
        return f"{value:,.{digits}f}".rstrip("0").rstrip(".").replace("-", "−")
    return f"{value:.9g}".replace("-", "−")


def _tokens(text: str) -> list[str | float]:
    tokens: list[str | float] = []
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise ValueError("not an expression")
        offset = match.end()
        if match["number"]:
            tokens.append(float(match["number"].replace(",", "")))
        else:
            tokens.append((match["name"] or match["sign"]).translate(_SIGNS).replace("**", "^"))
    return tokens


def _is_calculation(tokens: list[str | float]) -> bool:
    """Return whether there is something to calculate: '1984' and '2024-05-01' are not calculations."""
    names = [token for token in tokens if isinstance(token, str)]
    if any(name in _FUNCTIONS for name in names) or any(name in _OPERATORS for name in names):
        return True
    return names.count("-") == 1 and len(tokens) == 3


class _Parser:
    """A recursive descent parser: sums of products of powers."""

    def __init__(self, tokens: list[str | float]) -> None:
        self._tokens = tokens
        self._index = 0
        self._depth = 0

    def parse(self) -> float:
        """Return the value of the whole expression."""
        value = self._sum()
        if self._index != len(self._tokens):
            raise ValueError("not an expression")
        return value

    def _next(self) -> str | float | None:
        return self._tokens[self._index] if self._index < len(self._tokens) else None

    def _take(self, *signs: str) -> str:
        token = self._next()
        if isinstance(token, str) and token in signs:
            self._index += 1
            return token
        return ""

    def _sum(self) -> float:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("not an expression")
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        self._depth -= 1
        return value

    def _product(self) -> float:
        value = self._signed()
        while sign := self._take("*", "/"):
            other = self._signed()
            value = value * other if sign == "*" else value / other
        return value

    def _signed(self) -> float:
        sign = self._take("-", "+")
        value = self._power()
        return -value if sign == "-" else value

    def _power(self) -> float:
        base = self._atom()
        while self._take("%"):
            base /= 100
        if self._take("^"):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise ValueError("not an expression")
            return float(math.pow(base, self._signed()))
        return base

    def _atom(self) -> float:
        token = self._next()
        self._index += 1
        if isinstance(token, float):
            return token
        if token == "(":  # noqa: S105
            value = self._sum()
            if not self._take(")"):
                raise ValueError("not an expression")
            return value
        if token in _FUNCTIONS and self._take("("):
            value = self._sum()
            if not self._take(")"):
                raise ValueError("not an expression")
            return _FUNCTIONS[str(token)](value)
        if token in _NAMES:
            return _NAMES[str(token)]
        raise ValueError("not an expression")
