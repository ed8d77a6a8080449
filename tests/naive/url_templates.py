"""Naive twin of `periplus.crawl.regions.url_templates`: each path is walked anew, from its first folder to its name."""

import re

MAX_NAMES = 3


class NaiveTemplates:
    """The names of folders, up to so many folders, and the templates of paths without a query."""

    def __init__(self, max_folders: int) -> None:
        self.names: dict[str, set[str]] = {}
        self._max_folders = max_folders

    def learn(self, host: str, path: str) -> bool:
        """Count the names in a path; return whether those of a folder have become alike."""
        return self._walk(host, path, True)[1]

    def template(self, host: str, path: str) -> str:
        """Return host and template of a path."""
        return self._walk(host, path, False)[0]

    def _walk(self, host: str, path: str, learning: bool) -> tuple[str, bool]:
        pieces = re.sub("[0-9]+", "#", path).split("/")[1:]
        key, changed = f"{host} ", False
        for number, name in enumerate(pieces[:5]):
            key += "/"
            if learning:
                changed |= self._count(key, name)
            if self.names.get(key, {"one"}):
                key += name
            elif number < len(pieces) - 1 or not re.fullmatch(r".+\.[^.]{0,5}", name):
                key += "*"
            else:
                key += "*." + name.rpartition(".")[2]
        return key + "/**" * (len(pieces) > 5), changed

    def _count(self, key: str, name: str) -> bool:
        """Count a name in a folder, none of whose names are kept once there are too many."""
        if key not in self.names:
            if len(self.names) >= self._max_folders:
                del self.names[next(iter(self.names))]
            self.names[key] = {name}
            return False
        names = self.names[key]
        if names:
            names.add(name)
        if len(names) <= MAX_NAMES:
            return False
        names.clear()
        return True
