"""Patterns that URLs are compared with: globs with `*`, and regular expressions, matched in linear time.

Expressions are RE2's: without look-around and back-references, so that no URL, however made, takes long to match.
"""

import fnmatch
import re
from typing import Final

import re2

from periplus.errors import SettingsError

__all__ = ["UrlPatterns"]

_PREFIX: Final = "re:"
_MAX_MEMORY: Final = 64 << 20
"""Bytes that all expressions of one setting may take."""
_HINT: Final = "Look-around and back-references are not available: https://github.com/google/re2/wiki/Syntax."


class UrlPatterns:
    """Globs and, after the prefix `re:`, regular expressions; a URL matches if one of them does."""

    def __init__(self, patterns: tuple[str, ...], setting: str) -> None:
        """Compile the patterns; raise `SettingsError` with the name of the setting for a wrong expression."""
        expressions = [pattern[len(_PREFIX) :] for pattern in patterns if pattern.startswith(_PREFIX)]
        self._globs = _compile_globs([pattern for pattern in patterns if not pattern.startswith(_PREFIX)])
        self._expressions = _compile_expressions(expressions, setting) if expressions else None

    def __bool__(self) -> bool:
        return self._globs is not None or self._expressions is not None

    def match(self, url: str) -> bool:
        """Return whether a URL matches: a glob from its beginning to its end, an expression anywhere in it."""
        if self._globs is not None and self._globs.match(url):
            return True
        return self._expressions is not None and bool(self._expressions.Match(url))


def _compile_globs(globs: list[str]) -> re.Pattern[str] | None:
    """Return one pattern for many globs with `*` and `?`; those without a scheme match anywhere in the URL."""
    if not globs:
        return None
    patterns = [glob if glob.startswith(("http:", "https:", "*")) else f"*{glob}*" for glob in globs]
    return re.compile("|".join(fnmatch.translate(glob) for glob in patterns))


def _compile_expressions(expressions: list[str], setting: str) -> "re2.Set":
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    expression_set = re2.Set.SearchSet(options)
    for expression in expressions:
        try:
            re2.compile(expression, options)
            expression_set.Add(expression)
        except (re2.error, UnicodeEncodeError) as error:
            reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
            raise SettingsError(
                f"{setting}: '{expression[:80]}' is not a regular expression: {reason}.", _HINT
            ) from None
    try:
        expression_set.Compile()
        expression_set.Match("")
    except (re2.error, RuntimeError) as error:
        raise SettingsError(f"{setting}: the expressions take too much memory together.", _HINT) from error
    return expression_set
