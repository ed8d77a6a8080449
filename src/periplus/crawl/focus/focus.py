"""Keeping to a topic: what each link promises, from the classifier, the hubs, and what its host has been so far.

    promise of a link = 0.40 its words (link text and URL) + 0.25 the page it is on + 0.20 its host + 0.15 the hub
    crawl rank        = 20 x promise + a little of the ordinary rank

The topic itself is in `crawl/topic.json`, so that a run that names none goes on with it; what was learnt is part of the
crawl's snapshot. Everything here follows from the visits in their order: recovery comes to the same.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.crawl.focus.classifier import Classifier, ClassifierState
from periplus.crawl.focus.hubs import Distiller, DistillerState
from periplus.errors import BadInput, BadUrl, CorruptFile
from periplus.files import decode_json, write_atomically
from periplus.frontier import BestFirst
from periplus.parse import parse
from periplus.records import LIST_KIND, Address, FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import FocusSettings, ParseSettings
from periplus.url import parse_address

__all__ = ["Focus", "FocusState", "by_host", "open_focus", "rank_of"]

_SCALE: Final = 20.0
_FILE: Final = "topic.json"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0."""
_REMEDY: Final = "Name the topic again: --topic."
_LONGEST: Final = 4_000_000
_MOST_HOSTS: Final = 100_000
_DOUBT: Final = 2.0
"""A host counts as so many pages of what linked to it, until pages of its own are known."""


class FocusState(msgspec.Struct):
    """What was learnt, for the crawl's snapshot."""

    topic: str = ""
    pages: tuple[str, ...] = ()
    classifier: ClassifierState = msgspec.field(default_factory=ClassifierState)
    distiller: DistillerState = msgspec.field(default_factory=DistillerState)
    hosts: dict[str, tuple[float, int]] = {}
    """Relevance of the pages of each host: its sum, and how many they are."""
    looked: int = 0
    relevant: float = 0.0
    """Pages looked at, and the sum of their relevance."""


class Focus:
    """What one crawl knows of its topic."""

    def __init__(self, settings: FocusSettings, state: FocusState | None = None) -> None:
        same = state is not None and (state.topic, state.pages) == (settings.topic, settings.pages)
        self.state = state if state is not None and same else FocusState(settings.topic, settings.pages)
        self._classifier = Classifier(settings.topic, self.state.classifier if same else None)
        self._distiller = Distiller(self.state.distiller)
        self.urls: dict[int, Address] = {}
        """Example pages that are to be fetched, by key."""
        for text in settings.pages:
            self._take(text, fresh=not same)
        self.choice = BestFirst(settings.least * _SCALE, settings.patience)

    def _take(self, text: str, fresh: bool) -> None:
        """Take an example: a URL, or a file."""
        if "://" in text:
            place = parse_address(text)
            self.urls[place.key] = place
            return
        data = _read(Path(text)) if fresh or Path(text).exists() else b""
        lines = [line.strip() for line in data.decode("utf-8", "replace").split("\n") if line.strip()]
        if lines and all("://" in line.split()[0] for line in lines):
            for line in lines:
                place = parse_address(line)
                self.urls[place.key] = place
        elif fresh and (page := _parse(Path(text), data)) is not None:
            self._classifier.give(page)

    def recall(self, find: Callable[[int], FetchRecord | None]) -> None:
        """Take example pages that were fetched before the topic was set."""
        if self.state.looked == 0:
            for key in self.urls:
                visit = find(key)
                if visit is not None and visit.page is not None:
                    self._classifier.give(visit.page)

    def dump(self) -> FocusState:
        """Give what was learnt."""
        self.state.classifier = self._classifier.dump()
        return self.state

    def look(self, visit: FetchRecord) -> float:
        """Look at a visit: give how much its page is about the topic, and learn from it."""
        page = visit.page
        if page is None or page.kind == LIST_KIND or visit.duplicate_of:
            return 0.0
        if visit.key in self.urls and not visit.revisit:
            self._classifier.give(page)
        relevance = self._classifier.look(page)
        host = _host_of(visit.url)
        total, count = self.state.hosts.get(host, (0.0, 0))
        if count or len(self.state.hosts) < _MOST_HOSTS:
            self.state.hosts[host] = (total + relevance, count + 1)
        self.state.looked += 1
        self.state.relevant += relevance
        return relevance

    def promises(self, visit: FetchRecord, relevance: float, links: Sequence[tuple[Address, str]]) -> list[float]:
        """Give how much each link of a page promises."""
        if not links:
            return []
        is_list = visit.page is not None and visit.page.kind == LIST_KIND
        texts = [f"{text} {place.host} {place.path} ".encode("utf-8", "replace") for place, text in links]
        words = self._classifier.look_at_links(texts).tolist()
        host = _host_of(visit.url)
        page = self._of_host(host, 0.0) if is_list else relevance
        hub = self._distiller.hub(host)
        if not is_list:
            self._distiller.add(visit.key, host, relevance, [place for place, _ in links])
        return [
            0.40 * word + 0.25 * page + 0.20 * self._of_host(place.host, page) + 0.15 * hub
            for word, (place, _) in zip(words, links, strict=True)
        ]

    def promise(self, place: Address) -> float:
        """Give how much a URL promises that no link with words leads to."""
        if place.key in self.urls:
            return 1.0
        word = float(self._classifier.look_at_links([f"{place.host} {place.path} ".encode()])[0])
        return 0.5 * word + 0.5 * self._of_host(place.host, 0.0)

    def raised(self) -> dict[str, dict[int, float]]:
        """Give the crawl ranks that links of good hubs have come to, by host and key; most of the time none."""
        found = self._distiller.distil()
        return {
            host: {key: rank_of(0.4 + 0.4 * hub, 0.0) for key, hub in worth.items()} for host, worth in found.items()
        }

    def _of_host(self, host: str, before: float) -> float:
        """Give the mean relevance of a host's pages; as long as few are known, `before` counts too."""
        total, count = self.state.hosts.get(host, (0.0, 0))
        return (total + _DOUBT * before) / (count + _DOUBT)


def rank_of(promise: float, ordinary: float) -> float:
    """Give the crawl rank of a URL by its promise; the ordinary rank decides between equals."""
    return round(_SCALE * promise + max(-8.0, min(16.0, ordinary)) / 16.0, 4)


def by_host(dues: Iterable[FetchRequest]) -> dict[str, dict[int, float]]:
    """Give the ranks of dues by host and key."""
    found: dict[str, dict[int, float]] = {}
    for due in dues:
        found.setdefault(due.address.host, {})[due.address.key] = due.rank
    return found


def open_focus(settings: FocusSettings, folder: Path, state: FocusState | None) -> Focus | None:
    """Give the topic that was set, or else that of earlier runs in the crawl folder; None when there is none."""
    path = folder / _FILE
    if settings.topic.strip() == "-":
        path.unlink(missing_ok=True)
        return None
    if not settings.topic.strip() and not settings.pages:
        known = _read_topic(path)
        return Focus(known, state) if known is not None else None
    focus = Focus(settings, state)
    write_atomically(path, msgspec.json.encode({**msgspec.to_builtins(settings), "format": _FORMAT}))
    return focus


def _read_topic(path: Path) -> FocusSettings | None:
    try:
        fields = decode_json(path, path.read_bytes(), dict[str, Any], _FORMAT, _REMEDY)
        fields.pop("format", None)
        return msgspec.convert(fields, FocusSettings)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise CorruptFile(f"{path} is damaged: {error}.", _REMEDY) from error


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST)
    except OSError as error:
        raise BadInput(f"The example page {path} cannot be read: {error.strerror}.") from error


def _parse(path: Path, data: bytes) -> Page | None:
    """Read a file as if it had been fetched."""
    place = parse_address("http://example.invalid/" + path.name)
    fetched = FetchResult(FetchRequest(place), Outcome.OK, 0.0, 200, (), data)
    page = parse(fetched, ParseSettings())
    if page is None:
        raise BadInput(f"The example page {path} cannot be read as a page.", "Give HTML, text or PDF.")
    return page


def _host_of(url: str) -> str:
    try:
        return parse_address(url).host
    except BadUrl:
        return ""
