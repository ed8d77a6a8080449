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


class _HostTemplates:
    """What follows from the names of one host, until they change."""

    __slots__ = ("counted", "folders", "urls")

    def __init__(self) -> None:
        self.urls: dict[str, tuple[str, str, str]] = {}
        """Of recent addresses the template, and the folder and the name in it as `_split_path` returns them."""
        self.folders: dict[str, str] = {}
        """By folder with its numbers replaced, its template up to the last slash, or all of it if it is deep."""
        self.counted: set[str] = set()
        """Folders whose own names were counted in those above them: to count them again changes nothing."""

    def size(self) -> int:
        """Return how many entries there are, of all kinds."""
        return len(self.urls) + len(self.folders) + len(self.counted)


class UrlTemplates:
    """The names that folders have shown, and the templates that follow from them."""

    def __init__(self, names: dict[str, list[int]] | None = None) -> None:
        self.names = {} if names is None else names
        """By host and folder, fingerprints of the names in it; none for folders with more than are told apart."""
        self.generalized = 0
        """How often all names of a folder became alike."""
        self._recent: dict[str, _HostTemplates] = {}
        """By host."""
        self._recent_size = 0
        self._forgotten = 0
        """How often all of it was forgotten."""

    def template(self, address: Address) -> str:
        """Return host and template of an address."""
        recent = self._recent.get(address.host)
        found = recent.urls.get(address.url) if recent is not None else None
        if found is None:
            recent = self._make_room(address.host)
            found = recent.urls[address.url] = self._make_template(address, recent)
            self._recent_size += 1
        return found[0]

    def _make_room(self, host: str) -> _HostTemplates:
        """Return what is remembered of a host, with room for more."""
        if self._recent_size >= _MAX_RECENT:
            self.forget()
        recent = self._recent.get(host)
        if recent is None:
            recent = self._recent[host] = _HostTemplates()
        return recent

    def forget(self) -> None:
        """Forget what follows from the names: they have been changed from outside."""
        self._recent, self._recent_size = {}, 0
        self._forgotten += 1

    def learn(self, address: Address) -> bool:
        """Count the names in the path of an address that was fetched; return whether templates have changed."""
        before, host = self.generalized, address.host
        recent = self._recent.get(host)
        found = recent.urls.get(address.url) if recent is not None else None
        folder, name = _split_path(address.path.partition("?")[0]) if found is None else found[1:]
        if recent is not None and folder in recent.counted:
            key = recent.folders[folder]
        else:
            forgotten = self._forgotten
            key = self._find_key(host, folder, learning=True)
            if self._forgotten == forgotten:  # otherwise a folder above it may have been
                recent = self._make_room(host)
                self._recent_size += 1 + (folder not in recent.folders)
                recent.folders[folder] = key
                recent.counted.add(folder)
        if key[-1] == "/":
            self._count(host, key, name)
        return self.generalized > before

    def _make_template(self, address: Address, recent: _HostTemplates) -> tuple[str, str, str]:
        path, mark, query = address.path.partition("?")
        folder, name = _split_path(path)
        template = recent.folders.get(folder)
        if template is None:
            template = recent.folders[folder] = self._find_key(address.host, folder, learning=False)
            self._recent_size += 1
        if template[-1] == "/":
            template += _any_name(name) if self.names.get(template) == [] else name
        if mark:
            parameters = sorted({piece.partition("=")[0] for piece in query.split("&")})
            template += "?" + "&".join(parameters[:_MAX_PARAMETERS])
        return template, folder, name

    def _find_key(self, host: str, folder: str, learning: bool) -> str:
        """Return what a folder is known by: the template up to its last slash, or all of it if that is too deep."""
        names, known = folder.split("/")[1:-1], self.names
        template = f"{host} /"
        for name in names[:_MAX_DEPTH]:
            if learning:
                self._count(host, template, name)
            template += f"{'*' if known.get(template) == [] else name}/"
        return template if len(names) < _MAX_DEPTH else f"{template}**"

    def _count(self, host: str, key: str, name: str) -> None:
        names = self.names.get(key)
        if names is None:
            if len(self.names) >= _MAX_FOLDERS:
                del self.names[next(iter(self.names))]
                self.forget()
            self.names[key] = [fingerprint_text(name)]
        elif names and (value := fingerprint_text(name)) not in names:
            names.append(value)
            if len(names) > _MAX_NAMES:
                names.clear()
                recent = self._recent.pop(host, None)
                self._recent_size -= recent.size() if recent is not None else 0
                self.generalized += 1


def _split_path(path: str) -> tuple[str, str]:
    """Return the folder of a path, up to its last slash, and the name in it, both with `#` for each number."""
    path = _NUMBER.sub("#", path)
    end = path.rfind("/") + 1
    return path[:end], path[end:]


def _any_name(name: str) -> str:
    """Return the template of a file name that is one of many: only its extension counts."""
    stem, dot, extension = name.rpartition(".")
    return f"*.{extension}" if dot and stem and len(extension) <= 5 else "*"
