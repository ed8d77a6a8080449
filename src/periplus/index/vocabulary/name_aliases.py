"""Other names of documents, which texts and links teach: how much evidence each needs, and its share of the name."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.index.vocabulary.completions import stored_link_texts
from periplus.index.vocabulary.kernels import alias_scan, name_scan
from periplus.index.vocabulary.name_columns import (
    NameScan,
    Numbers,
    SegmentNames,
    SegmentTitles,
    name_keys,
    sort_rows,
)
from periplus.index.vocabulary.name_lookup import NAME_ALIAS, NAME_BASE

__all__ = ["alias_names"]

_MAX_ALIASES: Final = 12
"""Other names of one document that are stored."""
_ALIAS_COUNTS: Final = np.array([2, 1, 2, 4, 2])
"""By kind of another name, how much a document with it counts; below 2 in all, the name is not stored."""
_TITLE_COUNT: Final = 2
"""How much a page with a title counts where the title is another name of other pages."""
_RELATED: Final = (alias_scan.ALIAS_ACRONYM, alias_scan.ALIAS_VARIANT)
"""Kinds whose letters are those of the title: documents of one host suffice for them."""


def alias_names(
    titles: SegmentTitles,
    scan: NameScan,
    names: int,
    languages: npt.NDArray[np.uint8],
    words: ArrayFile,
    hosts: npt.NDArray[np.int32],
    of_titles: list[SegmentNames],
) -> SegmentNames:
    """Return the other names that texts and links teach, each with its share of all that the name stands for.

    Pages that have the name as their title have a part in it too. A page cannot give itself any name: unless the name
    is made of the letters of the title, two hosts have to use it, or the host is that of most documents.
    """
    best = np.full(max(1, names), -1, np.int64)  # Of several pages of one title, the one that is mentioned most.
    order = np.argsort(scan.mentions, kind="stable")
    order = order[titles.entry[order] >= 0]
    best[titles.entry[order]] = order
    own = titles.entry[scan.alias_document] == scan.alias_entry
    target = np.where(own, scan.alias_document, best[scan.alias_entry])
    links = list(stored_link_texts(words, np.arange(len(titles.entry))))
    target = np.concatenate((target, np.array([document for document, _ in links], np.int64))).astype(np.int64)
    source = np.concatenate((scan.alias_document, np.array([-2 - n for n in range(len(links))], np.int64)))
    data = scan.alias_data + b"".join(text for _, text in links)
    sizes = np.concatenate((scan.alias_sizes, np.array([len(text) for _, text in links], np.int64))).astype(np.int64)
    bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    keys = name_keys(data, bounds, languages[target] if len(target) else np.zeros(0, np.uint8)).bare_words
    strength = np.concatenate((_ALIAS_COUNTS[scan.alias_kind], np.ones(len(links), np.int64)))
    host = np.concatenate((hosts[scan.alias_document], np.full(len(links), -1))).astype(np.int64)
    related = np.concatenate((np.isin(scan.alias_kind, _RELATED), np.zeros(len(links), np.bool_)))
    # Documents count, not repetitions; some count more than once, and of one host only a few.
    order = sort_rows(keys, target, source, -strength)
    order = order[_ranks(keys[order], target[order], source[order]) == 0]
    order = order[sort_rows(keys[order], target[order], host[order], -strength[order])]
    rank = _ranks(keys[order], target[order], host[order])
    valid = (keys[order] != 0) & (host[order] != -2)
    order, rank = order[valid], rank[valid]
    order, rank = (column[(rank < name_scan.HOST_MENTIONS) | (host[order] < 0)] for column in (order, rank))
    first = np.flatnonzero(_ranks(keys[order], target[order]) == 0)  # Of each name of a document.
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    count = np.bincount(group, strength[order], len(first))
    # Hosts that use the name; that of most documents, and links, are as good as two.
    witnesses = np.bincount(group, np.where(host[order] < 0, 2, rank == 0), len(first))
    useful = (count >= 2) & ((witnesses >= 2) | (np.bincount(group, related[order], len(first)) > 0))
    of_pairs = order[first[useful]]
    key, document, count = keys[of_pairs], target[of_pairs], count[useful]
    worth = count * np.sqrt(scan.mentions[document] + 1.0)
    all_keys, title_worth = _title_worth(of_titles, scan.mentions)
    distinct, place = np.unique(np.concatenate((key, all_keys)), return_inverse=True)
    total = np.bincount(place.reshape(-1), np.concatenate((worth, title_worth)), len(distinct))
    share = worth / total[place.reshape(-1)[: len(key)]] if len(key) else worth
    by_document = np.lexsort((-count, document))
    rank = np.arange(len(document)) - np.searchsorted(document[by_document], document[by_document])
    kept = by_document[rank < _MAX_ALIASES]
    weight = (share * count / (count + 0.5))[kept].astype(np.float32)
    return SegmentNames(key[kept], document[kept].astype(np.int32), np.full(len(kept), NAME_ALIAS, np.uint8), weight)


def _ranks(*columns: npt.NDArray[Any]) -> Numbers:
    """Return, for rows that are sorted, how many rows before each are the same."""
    first = np.ones(len(columns[0]), np.bool_)
    for number, column in enumerate(columns):
        changed = column[1:] != column[:-1]
        first[1:] = changed if number == 0 else first[1:] | changed
    rows = np.arange(len(first))
    return rows - np.maximum.accumulate(np.where(first, rows, 0))


def _title_worth(
    of_titles: list[SegmentNames], mentions: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
    """Return the keys of titles as they are written, and what each counts as another page's name."""
    key = np.concatenate([names.key[names.kind <= NAME_BASE] for names in of_titles])
    document = np.concatenate([names.document[names.kind <= NAME_BASE] for names in of_titles])
    return key, _TITLE_COUNT * np.sqrt(mentions[document] + 1.0)
