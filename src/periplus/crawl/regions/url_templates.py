"""Path templates: which URLs of a host are of one kind, learned from how many names each folder has.

`/wiki/Lighthouse` and `/wiki/Harbour` are of one kind once `/wiki/` has shown many names: `/wiki/*`. Numbers are alike
from the beginning (`/t/#/#`), and of a query only the names of its parameters count (`/shop?colour&size`).
"""

import re
from typing import Final

from periplus.hashing import fingerprint_text
from periplus.records import Address

__all__ = ["UrlTemplates"]

_NUMBER: Final = re.compile(r"[0-9]+")
_MAX_NAMES: Final = 12
"""Names of a folder that are told apart; one more, and all are alike."""
_MAX_DEPTH: Final = 5
_MAX_PARAMETERS: Final = 8
_MAX_FOLDERS: Final = 100_000
_MAX_RECENT: Final = 4_096
_NO_NAMES: Final = ("",)


class UrlTemplates:
    """The names that folders have shown, and the templates that follow from them."""

    def __init__(self, names: dict[str, list[int]] | None = None) -> None:
        self.names = {} if names is None else names
        """By host and folder, fingerprints of the names in it; none for folders with more than are told apart."""
        self.generalized = 0
        """How often all names of a folder became alike."""
        self._recent: dict[str, dict[str, str]] = {}
        """By host, templates of recent addresses by URL, until one may have changed."""
        self._recent_size = 0

    def template(self, address: Address) -> str:
        """Return host and template of an address."""
        recent = self._recent.get(address.host)
        template = recent.get(address.url) if recent is not None else None
        if template is None:
            if self._recent_size >= _MAX_RECENT:
                self._forget_recent()
            template = self._walk(address, learning=False)
            self._recent.setdefault(address.host, {})[address.url] = template
            self._recent_size += 1
        return template

    def _forget_recent(self) -> None:
        self._recent, self._recent_size = {}, 0

    def learn(self, address: Address) -> bool:
        """Count the names in the path of an address that was fetched; return whether templates have changed."""
        before = self.generalized
        self._walk(address, learning=True)
        return self.generalized > before

    def _walk(self, address: Address, learning: bool) -> str:
        """Return host and template; what each folder is known by is the part of it up to the slash behind it."""
        path, mark, query = address.path.partition("?")
        folders = _NUMBER.sub("#", path).split("/")
        last, known = len(folders) - 1, self.names
        template = f"{address.host} "
        for number in range(1, min(last, _MAX_DEPTH) + 1):
            name = folders[number]
            template += "/"
            if learning:
                self._count(address.host, template, name)
            if known.get(template, _NO_NAMES) == []:
                name = _any_name(name) if number == last else "*"
            template += name
        if last > _MAX_DEPTH:
            template += "/**"
        if mark:
            parameters = sorted({piece.partition("=")[0] for piece in query.split("&")})
            template += "?" + "&".join(parameters[:_MAX_PARAMETERS])
        return template

    def _count(self, host: str, key: str, name: str) -> None:
        names = self.names.get(key)
        if names is None:
            if len(self.names) >= _MAX_FOLDERS:
                del self.names[next(iter(self.names))]
                self._forget_recent()
            self.names[key] = [fingerprint_text(name)]
        elif names and (value := fingerprint_text(name)) not in names:
            names.append(value)
            if len(names) > _MAX_NAMES:
                names.clear()
                self._recent_size -= len(self._recent.pop(host, ()))
                self.generalized += 1


def _any_name(name: str) -> str:
    """Return the template of a file name that is one of many: only its extension counts."""
    stem, dot, extension = name.rpartition(".")
    return f"*.{extension}" if dot and stem and len(extension) <= 5 else "*"
