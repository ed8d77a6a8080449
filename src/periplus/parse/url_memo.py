"""What was found out about recent URLs: most links of a page are on all pages of its site."""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

__all__ = ["UrlMemo"]

Value = TypeVar("Value")

_MAX_URLS: Final = 32_768
_MAX_LENGTH: Final = 256


class UrlMemo(Generic[Value]):
    """A function of URLs that remembers its results, which are never None, within bounds."""

    def __init__(self, function: Callable[[str], Value], max_urls: int = _MAX_URLS) -> None:
        self._function = function
        self._max_urls = max_urls
        self._known: dict[str, Value] = {}

    def __len__(self) -> int:
        return len(self._known)

    def values(self, urls: Sequence[str]) -> list[Value]:
        """Return the value of each URL."""
        known = self._known
        if None not in (values := list(map(known.get, urls))):
            return values  # type: ignore[return-value]  # none of them is None
        return [self._find(url) if value is None else value for url, value in zip(urls, values, strict=True)]

    def _find(self, url: str) -> Value:
        value = self._function(url)
        if len(url) <= _MAX_LENGTH:
            if len(self._known) >= self._max_urls:
                self._known.clear()
            self._known[url] = value
        return value
