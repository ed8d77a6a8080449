"""The collection statistics that all sites build with: each measures its index, one sums, all adopt the newest sum.

Two kinds of data of each site (`DataStore`), sent through the sink for statistics:

    collection-part   what the index of the site has: documents, words by field, languages
    collection        the sum that the site builds with, or is about to: the one of the highest epoch that it knows

The first by name of the sites that are alive sums the parts of all sites that have not left, whenever they have changed
enough. An epoch is unique: its higher bits are one more than those before, its lower 16 bits come from the name of the
site that has summed. So two halves of a federation that were cut off from each other never give two sums one epoch, and
agree on the higher one when they meet. A site that is cut off from all others keeps the statistics that it has.
"""

import contextlib
import logging
from typing import Final

import msgspec

from periplus.errors import BadInput
from periplus.hashing import fingerprint_text
from periplus.index import BuildStatistics, sum_build_statistics
from periplus.sites.messaging.exchange_policy import ExchangePolicy
from periplus.sites.site_data import DataStore
from periplus.sites.site_node import SiteNode
from periplus.text import LANGUAGES
from periplus.typed_decoding import parse_json

__all__ = ["COLLECTION", "COLLECTION_PART", "CollectionExchange", "read_collection"]

_LOG: Final = logging.getLogger("periplus.sites")
COLLECTION_PART: Final = "collection-part"
COLLECTION: Final = "collection"
_SINK: Final = "statistics"
_MAX_BYTES: Final = 64 << 10
_MAX_DOCUMENTS: Final = 1 << 40
_MAX_WORDS: Final = 1 << 24
"""Words of a field of one document, on average."""
_MAX_SITES: Final = 256
_MAX_PART_DOCUMENTS: Final = _MAX_DOCUMENTS // _MAX_SITES
"""Of one site: whatever each claims within its bounds, the sum of all is within those of a sum."""
_MAX_LANGUAGES: Final = 256
_SITE_BITS: Final = 16
_MAX_ROUND: Final = 1 << 45
_MAX_SKIPPED: Final = 1 << 30
"""Rounds by which the sum of another site may be ahead: a site that invents numbers does not use them up at once."""
_PART_SECONDS: Final = 5.0
_SUM_SECONDS: Final = 10.0


class CollectionExchange:
    """The exchange of one site; `step` is one turn. One thread uses it."""

    def __init__(self, node: SiteNode, share: float, seconds: float) -> None:
        """share, seconds: how much has to change, and after how long anything counts (`site.threshold_*`)."""
        self._node = node
        self._part_policy = ExchangePolicy(share, seconds, min(_PART_SECONDS, seconds / 60))
        self._sum_policy = ExchangePolicy(share, seconds, min(_SUM_SECONDS, seconds / 60))

    def step(self, own: BuildStatistics | None, now: float) -> None:
        """Offer the part of this site, adopt the newest sum, and sum if that is for this site to do.

        own: of the index, None while there is none; now: of `time.monotonic`.
        """
        if len(self._node.topology.names) < 2:
            return
        if own is not None:
            self._offer(own, now)
        self._adopt()
        alive = self._node.alive()
        if alive and self._node.name < min(alive):
            self._sum(now)

    def _offer(self, own: BuildStatistics, now: float) -> None:
        sent = read_part(self._node.data)
        if self._part_policy.is_due(_changed_share(sent, own), now):
            self._node.send_data(_SINK, COLLECTION_PART, msgspec.json.encode(own))
            self._part_policy.note_sent(now)

    def _adopt(self) -> None:
        current = read_collection(self._node.data)
        epoch = newest = current.epoch if current is not None else 0
        best: bytes | None = None
        for site in self._node.topology.others(self._node.name):
            body = self._node.data.of_site(site.name, COLLECTION)
            with contextlib.suppress(BadInput):
                offered = _decode(body) if body is not None else None
                skipped = _round(offered) - (epoch >> _SITE_BITS) if offered is not None else 0
                if offered is not None and newest < offered.epoch and skipped <= _MAX_SKIPPED:
                    newest, best = offered.epoch, body
        if best is not None:
            self._node.send_data(_SINK, COLLECTION, best)

    def _sum(self, now: float) -> None:
        parts = self.parts()
        current = read_collection(self._node.data)
        if len(parts) < 2:
            return
        before = current.epoch >> _SITE_BITS if current is not None else 0
        epoch = (before + 1) << _SITE_BITS | fingerprint_text(self._node.name) % (1 << _SITE_BITS)
        total = sum_build_statistics(list(parts.values()), epoch)
        try:
            _decode(msgspec.json.encode(total))
        except BadInput as error:
            _LOG.warning("The collection statistics of all sites together are refused: %s", error)
            return
        if self._sum_policy.is_due(_changed_share(current, total), now):
            self._node.send_data(_SINK, COLLECTION, msgspec.json.encode(total))
            self._sum_policy.note_sent(now)
            _LOG.info("Collection statistics of %d sites: epoch %d.", len(parts), epoch)

    def parts(self) -> dict[str, BuildStatistics]:
        """Return what the indexes of all sites have that have not left, as far as it is known, by site."""
        parts = {self._node.name: read_part(self._node.data)}
        for site in self._node.topology.others(self._node.name):
            body = self._node.data.of_site(site.name, COLLECTION_PART)
            with contextlib.suppress(BadInput):
                parts[site.name] = _check_part(_decode(body)) if body is not None else None
        return {name: part for name, part in parts.items() if part is not None and part.documents}


def read_collection(data: DataStore) -> BuildStatistics | None:
    """Return the sum that a site builds with from now on; None while there is none."""
    return _read(data, COLLECTION)


def read_part(data: DataStore) -> BuildStatistics | None:
    """Return what a site has offered last of its own index."""
    return _read(data, COLLECTION_PART)


def _read(data: DataStore, name: str) -> BuildStatistics | None:
    body = data.get(name)
    with contextlib.suppress(BadInput):
        return _decode(body) if body is not None else None
    return None


def _round(statistics: BuildStatistics) -> int:
    return statistics.epoch >> _SITE_BITS


def _decode(body: bytes) -> BuildStatistics:
    """Return the statistics that a site has sent; raise `BadInput` for what no collection has."""
    if len(body) > _MAX_BYTES:
        raise BadInput("The collection statistics are too large.")
    try:
        statistics = parse_json(body, BuildStatistics)
    except msgspec.MsgspecError as error:
        raise BadInput("The collection statistics are not readable.") from error
    statistics.check()
    documents = statistics.documents
    sound = (
        documents <= _MAX_DOCUMENTS
        and _round(statistics) <= _MAX_ROUND
        and len(statistics.languages) <= _MAX_LANGUAGES
        and all(count <= documents * 1.01 for count in statistics.filled)
        and all(count <= documents * _MAX_WORDS for count in statistics.tokens)
    )
    if not sound:
        raise BadInput("The collection statistics are not those of any collection.")
    return statistics


def _check_part(part: BuildStatistics) -> BuildStatistics:
    """Return the part of a site, without languages that there are not; raise `BadInput` if no site can have it.

    So no site can claim what makes the sum of all parts invalid, and keep all sites from a new one.
    """
    languages = {code: count for code, count in part.languages.items() if code in LANGUAGES}
    if part.documents > _MAX_PART_DOCUMENTS or any(count > part.documents * 1.01 for count in languages.values()):
        raise BadInput("The collection statistics are not those of any site.")
    return msgspec.structs.replace(part, languages=languages)


def _changed_share(before: BuildStatistics | None, after: BuildStatistics) -> float:
    """Return the largest relative difference between numbers of the two."""
    if before is None:
        return 1.0
    pairs = [(float(before.documents), float(after.documents))]
    pairs += [*zip(before.tokens, after.tokens, strict=True), *zip(before.filled, after.filled, strict=True)]
    pairs += [
        (before.languages.get(code, 0.0), after.languages.get(code, 0.0))
        for code in {*before.languages, *after.languages}
    ]
    scale = max(float(before.documents), float(after.documents), 1.0)
    # A language of a few pages, or a field that few have, is compared with the collection.
    return max(abs(one - other) / max(one, other, scale) for one, other in pairs)
