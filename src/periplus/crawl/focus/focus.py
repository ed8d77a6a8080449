"""Focused crawling: the score of each link, from the classifier, the hubs, and the relevance of its host so far.

    score of a link = 0.40 its words (link text and URL) + 0.25 the page it is on + 0.20 its host + 0.15 the hub
    crawl rank      = 20 x score + a small part of the ordinary rank

The topic itself is in `crawl/topic.json`, so that a run that names none continues with it; the learned state is part
of the crawl's snapshot. It depends only on the fetch records and their order: recovery arrives at the same state.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.crawl.focus.classifier import Classifier, ClassifierState
from periplus.crawl.focus.hubs import Distiller, DistillerState
from periplus.errors import BadInput, BadUrl, CorruptFile
from periplus.files import decode_json, encode_json, write_atomically
from periplus.frontier import BestFirst
from periplus.parse import parse
from periplus.records import LIST_KIND, Address, FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import FocusSettings, ParseSettings
from periplus.typed_decoding import convert_to
from periplus.url import parse_address

__all__ = ["Focus", "FocusState", "crawl_rank", "group_ranks_by_host", "open_focus"]

_SCALE: Final = 20.0
_FILE: Final = "topic.json"
_FORMAT: Final = 2
"""Version of the file format; raised with every change to it. Files without one are of format 0."""
_REMEDY: Final = "Name the topic again: --topic."
_MAX_EXAMPLE_BYTES: Final = 4_000_000
_MAX_HOSTS: Final = 100_000
_PRIOR_PAGES: Final = 2.0
"""Weight, in pages, of the prior relevance of a host beside the pages fetched from it."""


class FocusState(msgspec.Struct):
    """Learned state, as stored in the crawl's snapshot."""

    topic: str = ""
    pages: tuple[str, ...] = ()
    classifier: ClassifierState = msgspec.field(default_factory=ClassifierState)
    distiller: DistillerState = msgspec.field(default_factory=DistillerState)
    hosts: dict[str, tuple[float, int]] = {}
    """Sum of the relevance of each host's pages, and their number."""
    looked: int = 0
    relevant: float = 0.0
    """Sum of the relevance of all `looked` pages."""


class Focus:
    """The topic of one crawl: scores pages and links by it."""

    def __init__(self, settings: FocusSettings, state: FocusState | None = None) -> None:
        same = state is not None and (state.topic, state.pages) == (settings.topic, settings.pages)
        self.state = state if state is not None and same else FocusState(settings.topic, settings.pages)
        self._classifier = Classifier(settings.topic, self.state.classifier if same else None)
        self._distiller = Distiller(self.state.distiller)
        self.urls: dict[int, Address] = {}
        """Example pages that are to be fetched, by key."""
        for text in settings.pages:
            self._add_example(text, fresh=not same)
        self.choice = BestFirst(settings.least * _SCALE, settings.patience)

    def _add_example(self, text: str, fresh: bool) -> None:
        """Add an example: a URL, a file of URLs, or a page in a file."""
        if "://" in text:
            address = parse_address(text)
            self.urls[address.key] = address
            return
        data = _read_example(Path(text)) if fresh or Path(text).exists() else b""
        lines = [line.strip() for line in data.decode("utf-8", "replace").split("\n") if line.strip()]
        if lines and all("://" in line.split()[0] for line in lines):
            for line in lines:
                address = parse_address(line)
                self.urls[address.key] = address
        elif fresh and (page := _parse_example(Path(text), data)) is not None:
            self._classifier.add_example(page)

    def add_fetched_examples(self, find: Callable[[int], FetchRecord | None]) -> None:
        """Add the example pages that were fetched before the topic was set."""
        if self.state.looked == 0:
            for key in self.urls:
                record = find(key)
                if record is not None and record.page is not None:
                    self._classifier.add_example(record.page)

    def dump(self) -> FocusState:
        """Return the learned state."""
        self.state.classifier = self._classifier.dump()
        return self.state

    def score_record(self, record: FetchRecord) -> float:
        """Return the relevance of a record's page to the topic, and learn from it."""
        page = record.page
        if page is None or page.kind == LIST_KIND or record.duplicate_of:
            return 0.0
        if record.key in self.urls and not record.revisit:
            self._classifier.add_example(page)
        relevance = self._classifier.score_page(page)
        host = _host_of(record.url)
        total, count = self.state.hosts.get(host, (0.0, 0))
        if count or len(self.state.hosts) < _MAX_HOSTS:
            self.state.hosts[host] = (total + relevance, count + 1)
        self.state.looked += 1
        self.state.relevant += relevance
        return relevance

    def score_links(self, record: FetchRecord, relevance: float, links: Sequence[tuple[Address, str]]) -> list[float]:
        """Return the score of each link of a page."""
        if not links:
            return []
        is_list = record.page is not None and record.page.kind == LIST_KIND
        texts = [f"{text} {address.host} {address.path} ".encode("utf-8", "replace") for address, text in links]
        words = self._classifier.score_links(texts).tolist()
        host = _host_of(record.url)
        page = self._host_relevance(host, 0.0) if is_list else relevance
        hub = self._distiller.host_score(host)
        if not is_list:
            self._distiller.add(record.key, host, relevance, [address for address, _ in links])
        return [
            0.40 * word + 0.25 * page + 0.20 * self._host_relevance(address.host, page) + 0.15 * hub
            for word, (address, _) in zip(words, links, strict=True)
        ]

    def score_address(self, address: Address) -> float:
        """Return the score of an address without link text."""
        if address.key in self.urls:
            return 1.0
        word = float(self._classifier.score_links([f"{address.host} {address.path} ".encode()])[0])
        return 0.5 * word + 0.5 * self._host_relevance(address.host, 0.0)

    def update_ranks(self) -> dict[str, dict[int, float]]:
        """Return the raised crawl ranks of links on good hubs, by host and key; empty unless hubs were just updated."""
        ranks = self._distiller.update_hubs()
        return {
            host: {key: crawl_rank(0.4 + 0.4 * hub, 0.0) for key, hub in scores.items()}
            for host, scores in ranks.items()
        }

    def _host_relevance(self, host: str, prior: float) -> float:
        """Return the mean relevance of a host's pages, smoothed with `prior` while they are few."""
        total, count = self.state.hosts.get(host, (0.0, 0))
        return (total + _PRIOR_PAGES * prior) / (count + _PRIOR_PAGES)


def crawl_rank(score: float, ordinary: float) -> float:
    """Return the crawl rank of a URL by its score; the ordinary rank breaks ties."""
    return round(_SCALE * score + max(-8.0, min(16.0, ordinary)) / 16.0, 4)


def group_ranks_by_host(requests: Iterable[FetchRequest]) -> dict[str, dict[int, float]]:
    """Return the ranks of requests by host and key."""
    ranks: dict[str, dict[int, float]] = {}
    for request in requests:
        ranks.setdefault(request.address.host, {})[request.address.key] = request.rank
    return ranks


def open_focus(settings: FocusSettings, folder: Path, state: FocusState | None) -> Focus | None:
    """Return the focus that was set, or else that of earlier runs in the crawl folder; None if there is none."""
    path = folder / _FILE
    if settings.topic.strip() == "-":
        path.unlink(missing_ok=True)
        return None
    if not settings.topic.strip() and not settings.pages:
        stored = _read_topic(path)
        return Focus(stored, state) if stored is not None else None
    focus = Focus(settings, state)
    write_atomically(path, encode_json({**msgspec.to_builtins(settings), "format": _FORMAT}))
    return focus


def _read_topic(path: Path) -> FocusSettings | None:
    try:
        fields = decode_json(path, path.read_bytes(), dict[str, Any], _FORMAT, _REMEDY, checksum_since=2)
        fields.pop("format", None)
        return convert_to(fields, FocusSettings)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise CorruptFile(f"{path} is damaged: {error}.", _REMEDY) from error


def _read_example(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_EXAMPLE_BYTES)
    except OSError as error:
        raise BadInput(f"The example page {path} cannot be read: {error.strerror}.") from error


def _parse_example(path: Path, data: bytes) -> Page | None:
    """Parse a file as if it had been fetched."""
    address = parse_address("http://example.invalid/" + path.name)
    result = FetchResult(FetchRequest(address), Outcome.OK, 0.0, 200, (), data)
    page = parse(result, ParseSettings())
    if page is None:
        raise BadInput(f"The example page {path} cannot be parsed.", "Use an HTML, text or PDF file.")
    return page


def _host_of(url: str) -> str:
    try:
        return parse_address(url).host
    except BadUrl:
        return ""
