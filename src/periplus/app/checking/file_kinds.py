"""Every kind of file in a data folder: its name, what its checksum covers, who verifies it and what damage means.

`periplus check` walks a folder by this table, docs/formats/checksums.md is written from it, and a file that no kind
claims is reported. A new kind of file needs a row here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from periplus.app.checking.file_checks import (
    Check,
    check_marks,
    check_nothing,
    check_salt,
    check_text,
    is_arrays,
    is_json,
    is_json_lines,
    is_prefixed,
)
from periplus.checksums import FileFault

__all__ = ["FILE_KINDS", "PARTS", "FileKind", "find_kind", "kind_table"]

PARTS: Final = ("store", "graph", "index", "crawl", "inbox", "other")
"""The parts of a data folder that can be verified one by one."""

_JSON: Final = "all bytes, in the member `checksum`"
_LINE: Final = "each line, in its member `checksum`"
_ARRAYS: Final = "header; each array; padding is zero; length is exact"
_BODY: Final = "all after the header; magic and version are compared"
_READ: Final = "at every reading"


class FileKind(NamedTuple):
    """One kind of file."""

    part: str
    pattern: str
    """Its path in the data folder, with `*` for any part of a name."""
    checksum: str
    """What its checksum covers."""
    verified: str
    """When it is verified, apart from `periplus check`."""
    meaning: str
    """What damage means, and what `periplus repair` does about it."""
    check: Check = check_nothing
    """Finds the faults of one file; `check_nothing` where a file is verified together with others."""


def _check_snapshot(path: Path) -> Iterator[FileFault]:
    from periplus.crawl import check_snapshot

    yield from check_snapshot(path)


def _check_parsing(path: Path) -> Iterator[FileFault]:
    from periplus.crawl import check_journal

    yield from check_journal(path)


def _check_visit_log(path: Path) -> Iterator[FileFault]:
    from periplus.signals import check_visit_log

    yield from check_visit_log(path)


def _check_content(path: Path) -> Iterator[FileFault]:
    from periplus.publish import content_id

    if content_id(path.read_bytes()) != path.name:
        yield FileFault(path, "has other bytes than its name says")


_REBUILT: Final = "is built again from the pages"
_STARTED_ANEW: Final = "is moved aside and begun anew"
_LINES_LEFT_OUT: Final = "the damaged records are left out, and moved aside"

FILE_KINDS: Final = (
    FileKind("other", "periplus.json", _JSON, _READ, "is written again", is_json(2, 2)),
    FileKind("store", "store/**/manifest.json", _JSON, _READ, "is restored from the files beside it"),
    FileKind(
        "store", "store/**/visits-*.log", "header, and each frame of records", _READ,
        "intact frames are kept; pages of a damaged one are lost until they are fetched again",
    ),
    FileKind(
        "store", "store/**/pages-*.warc.*", "zstd or gzip checksum of each record, and its WARC digests", _READ,
        "the copy of the page is lost until it is fetched again; the index is not affected",
    ),
    FileKind(
        "store", "store/**/kept-*.warc.*", "zstd or gzip checksum of each record, and its WARC digests", _READ,
        "the copy of the page is lost until it is fetched again; the index is not affected",
    ),
    FileKind(
        "store", "store/**/dictionary.zst", "zstd checksum", "when a WARC file is begun or repaired",
        "another one is trained; WARC files have their own copy",
    ),
    FileKind("store", "store/**/*.cdxj", "none: for other tools", "never", "none"),
    FileKind("store", "store/**/kept.arrays", _ARRAYS, _READ, "copies of old pages cannot be found"),
    FileKind("store", "store/**/visits.keys", _ARRAYS, _READ, _REBUILT),
    FileKind("store", "store/order.bin", "header, and each run", _READ, _STARTED_ANEW),
    FileKind("crawl", "crawl/**/frontier.bin", _BODY, _READ, "the crawl goes on from the store", _check_snapshot),
    FileKind("crawl", "crawl/**/frontier.next", _BODY, _READ, "the crawl goes on from the store", _check_snapshot),
    FileKind(
        "crawl", "crawl/**/originals/*.urls", _BODY, "when a crawl starts", "as `frontier.bin`",
        is_prefixed(b"PERIORIG", 1),
    ),
    FileKind(
        "crawl", "crawl/**/seen/*.keys", _BODY, "when a crawl starts", "as `frontier.bin`",
        is_prefixed(b"PERISEEN", 1),
    ),
    FileKind("crawl", "crawl/**/spill/*.spill", "each chunk, in `frontier.bin`", _READ, "as `frontier.bin`"),
    FileKind(
        "crawl", "crawl/**/inbox/*.parcel", _BODY, _READ, "links that a shard was sent are lost",
        is_prefixed(b"PERIPARC", 1),
    ),
    FileKind(
        "crawl", "crawl/**/inbox/*.mail", _BODY, _READ, "is asked for again from the shard that sent it",
        is_prefixed(b"PERIMAIL", 1),
    ),
    FileKind(
        "crawl", "crawl/**/outbox/*.mail", _BODY, _READ, "links for another shard are lost",
        is_prefixed(b"PERIMAIL", 1),
    ),
    FileKind(
        "crawl", "crawl/**/parsing.journal", "header, and each record", _READ,
        "a document that failed may be parsed once more", _check_parsing,
    ),
    FileKind("crawl", "crawl/**/shards.json", _JSON, _READ, "is restored from the folders of shards", is_json(2, 2)),
    FileKind("crawl", "crawl/**/topic.json", _JSON, _READ, "the topic has to be given again", is_json(2, 2)),
    FileKind("crawl", "crawl/**/heard.json", _JSON, _READ, _STARTED_ANEW, is_json(2, 2)),
    FileKind("crawl", "crawl/**/quotas.json", _JSON, _READ, _STARTED_ANEW, is_json(2, 2)),
    FileKind("crawl", "crawl/**/status.json", _JSON, _READ, _STARTED_ANEW, is_json(4, 2)),
    FileKind("crawl", "crawl/**/seeds.txt", "all bytes, in its first line", _READ, _STARTED_ANEW, check_text),
    FileKind("crawl", "crawl/blocked.json", _JSON, _READ, "hosts have to be blocked again", is_json(1, 1)),
    FileKind("crawl", "crawl/control", "all bytes, in its first line", _READ, "the command is lost", check_text),
    FileKind("crawl", "crawl/**/metrics.prom", "none: never read back", "never", "none"),
    FileKind("crawl", "crawl/**/*.log", "none: for people", "never", "none"),
    FileKind("crawl", "passive/visits-*.log", "each line, before it", _READ, _LINES_LEFT_OUT, _check_visit_log),
    FileKind("crawl", "passive/counts.arrays", _ARRAYS, _READ, _STARTED_ANEW, is_arrays("passive-counts")),
    FileKind("graph", "graph/graph.arrays", _ARRAYS, "when opened", _REBUILT, is_arrays("graph")),
    FileKind("graph", "graph/backlinks.arrays", _ARRAYS, "when opened first", _REBUILT, is_arrays("backlinks")),
    FileKind("graph", "graph/synonyms.arrays", _ARRAYS, _READ, _REBUILT, is_arrays("synonyms")),
    FileKind("index", "index/manifest.json", _JSON, _READ, _REBUILT),
    FileKind("index", "index/fields.json", _JSON, _READ, "is written again from the settings", is_json(1, 1)),
    FileKind("index", "index/seg-*/lexicon.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("lexicon")),
    FileKind("index", "index/seg-*/postings.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("postings")),
    FileKind("index", "index/seg-*/documents.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("documents")),
    FileKind("index", "index/seg-*/text.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("text")),
    FileKind("index", "index/seg-*/words.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("words")),
    FileKind("index", "index/seg-*/extras.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("extras")),
    FileKind("index", "index/seg-*/names.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("names")),
    FileKind(
        "index", "index/seg-*/static_vectors.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("static_vectors")
    ),
    FileKind("index", "index/seg-*/word_pairs.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("word_pairs")),
    FileKind("index", "index/seg-*/own_fields.arrays", _ARRAYS, "when served", _REBUILT, is_arrays("own_fields")),
    FileKind("index", "index/dead-*.arrays", _ARRAYS, _READ, _REBUILT, is_arrays("dead")),
    FileKind("index", "index/news-*.arrays", _ARRAYS, _READ, _REBUILT, is_arrays("news")),
    FileKind("index", "index/blocks.arrays", _ARRAYS, _READ, _STARTED_ANEW, is_arrays("blocks")),
    FileKind("index", "index/journal-*.log", "header, and each change", _READ, _REBUILT),
    FileKind("index", "index/feeds.log", "each record", _READ, _LINES_LEFT_OUT),
    FileKind("index", "index/meaning/progress.json", _JSON, _READ, _STARTED_ANEW, is_json(1, 1)),
    FileKind("index", "index/meaning/seg-*.arrays", _ARRAYS, _READ, "is computed again by `periplus index embed`"),
    FileKind(
        "index", "index/meaning/embedded.log", "header, and each block", _READ,
        "is computed again by `periplus index embed`",
    ),
    FileKind(
        "inbox", "inbox/*-batch*.new", _BODY, _READ, "documents are lost: it is moved aside",
        is_prefixed(b"PERIDOCS", 1),
    ),
    FileKind(
        "inbox", "inbox/*-batch*.indexed", _BODY, _READ,
        "the documents can be found, and are lost when the index is built again", is_prefixed(b"PERIDOCS", 1),
    ),
    FileKind(
        "inbox", "inbox/*.new", _BODY, _READ, "a published page is lost: it is moved aside",
        is_prefixed(b"PERIPAGE", 1, old_digits=True),
    ),
    FileKind(
        "inbox", "inbox/*.indexed", _BODY, _READ, "the page can be found, and is lost when the index is built again",
        is_prefixed(b"PERIPAGE", 1, old_digits=True),
    ),
    FileKind("inbox", "inbox/*.damaged", "wrong: set aside", "never", "none"),
    FileKind("inbox", "inbox/*.replaced", "a later version of the page is indexed", "never", "none"),
    FileKind("other", "published/urls/*", "none: an id", _READ, "the URL may be published by others"),
    FileKind("other", "published/*/*.json", _JSON, _READ, "the content has to be published again", is_json(2, 1)),
    FileKind(
        "other", "published/*/*", "all bytes: its name", _READ, "the content has to be published again",
        _check_content,
    ),
    FileKind("other", "thumbnails/*/*.webp", "none: a picture", "never", "is made again if it is deleted"),
    FileKind("other", "deleted.json", _JSON, _READ, "deleted pages would be found again: restore it", is_json(2, 2)),
    FileKind("other", "fakeweb.hosts", "none: a hosts file", "by the demo", "is written by every demo"),
    FileKind("other", "schedule.json", _JSON, _READ, "jobs have to be scheduled again", is_json(1, 1)),
    FileKind("other", "changes*.jsonl", _LINE, _READ, _LINES_LEFT_OUT, is_json_lines(1)),
    FileKind("other", "keys.json", _JSON, _READ, "keys have to be made again", is_json(3, 2)),
    FileKind("other", "collections.json", _JSON, _READ, "restore it: collections would have no names", is_json(1, 1)),
    FileKind("other", "collections/pending/*", "none: empty", "never", "none"),
    FileKind("other", "models/used.json", _JSON, _READ, "the weights rank alone", is_json(2, 2)),
    FileKind("other", "models/*.json", _JSON, _READ, "the card of a model is lost", is_json(2, 2)),
    FileKind("other", "models/*.model", _ARRAYS, _READ, "the weights rank alone", is_arrays("ranking-model")),
    FileKind("other", "models/*.md", "none: for people", "never", "none"),
    FileKind("other", "quality/latest.json", _JSON, _READ, _STARTED_ANEW, is_json(2, 2)),
    FileKind("other", "quality/history.jsonl", _LINE, _READ, _LINES_LEFT_OUT, is_json_lines(2)),
    FileKind("other", "judgements.jsonl", _LINE, _READ, _LINES_LEFT_OUT, is_json_lines(2)),
    FileKind("other", "clicks.jsonl", _LINE, _READ, _LINES_LEFT_OUT, is_json_lines(2)),
    FileKind("other", "popular/asked.json", _JSON, _READ, _STARTED_ANEW, is_json(2, 2)),
    FileKind("other", "popular/salt-*", "all bytes, after them", _READ, _STARTED_ANEW, check_salt),
    FileKind("other", "popular/marks-*.log", "each record", _READ, _LINES_LEFT_OUT, check_marks),
    FileKind("other", "popular/seen-*.log", "none: of an earlier version", "never", "none"),
    FileKind("other", "rules/*.json", _JSON, _READ, "rules have to be added again", is_json(1, 1)),
    FileKind("other", "health/*.json", _JSON, _READ, _STARTED_ANEW, is_json(1, 1)),
    FileKind("other", "site/metrics-*.jsonl", _LINE, _READ, _LINES_LEFT_OUT, is_json_lines(1)),
    FileKind("other", "site/status.json", _JSON, _READ, _STARTED_ANEW, is_json(1, 1)),
    FileKind("other", "site/topology.json", _JSON, _READ, "the site has to join again", is_json(1, 1)),
    FileKind("other", "site/site.json", _JSON, _READ, "the site has to join again", is_json(1, 1)),
    FileKind("other", "site/nats.json", "none: written at every start", "never", "none"),
    FileKind("other", "site/*.pem", "none: PEM", _READ, "without its key a site has to join again"),
    FileKind("other", "site/nats.*", "none: for people", "never", "none"),
    FileKind("other", "site/jetstream/**/*", "that of NATS", _READ, "batches come again from the sites that sent them"),
    FileKind("other", "site/outbox/**/id.json", _JSON, _READ, _STARTED_ANEW, is_json(1, 1)),
    FileKind("other", "site/outbox/**/*.batch", "all bytes: a signature", "by its receiver", "is quarantined there"),
    FileKind("other", "site/applied/*.json", _JSON, _READ, _STARTED_ANEW, is_json(1, 1)),
    FileKind("other", "site/quarantine/*", "wrong: refused", "never", "none"),
    FileKind(
        "other", "site/received/urls/*.urls", _BODY, _READ, "URLs are lost until they are found again",
        is_prefixed(b"PERIURLS", 1),
    ),
    FileKind("other", "site/data/*.bin", "all after the header, SHA-256", _READ, "is computed again"),
    FileKind("other", "site/peers/**/*.bin", "all after the header, SHA-256", _READ, "is fetched again"),
    FileKind("other", "site/masters.bin", "header, and each entry", _READ, "pages are placed again"),
    FileKind("other", "site/submissions.bin", "header, and each entry", _READ, "pages are placed again"),
    FileKind("other", "site/host-owners.arrays", _ARRAYS, _READ, _STARTED_ANEW, is_arrays("host-owners")),
    FileKind("other", "*.log", "none: for people", "never", "none"),
    FileKind("other", "damaged/**/*", "wrong: set aside by `periplus repair`", "never", "none"),
    FileKind("other", "index/damaged-*/*", "wrong: set aside by `periplus repair`", "never", "none"),
    FileKind("other", "index/damaged-*", "wrong: set aside by `periplus repair`", "never", "none"),
)  # fmt: skip
"""The first kind whose pattern fits a file is its kind."""


def _as_regex(pattern: str) -> re.Pattern[str]:
    """Return a regular expression: `**/` is any number of folders, `*` any part of a name."""
    pieces = re.split(r"(\*\*/|\*)", pattern)
    return re.compile("".join({"**/": "(?:[^/]+/)*", "*": "[^/]*"}.get(piece) or re.escape(piece) for piece in pieces))


_SNAPSHOT: Final = re.compile(r"snapshots/[^/]+/(.+)")
_SNAPSHOT_KIND: Final = FileKind(
    "other",
    "snapshot.json",
    _JSON,
    _READ,
    "the snapshot cannot be trusted: delete it (`periplus snapshot delete`); a date can be built again",
    is_json(1, 1),
)
_COLLECTION: Final = re.compile(r"collections/[0-9a-f]{16}/(.+)")
_COMPILED: Final = tuple((_as_regex(kind.pattern), kind) for kind in FILE_KINDS)


def find_kind(name: str) -> FileKind | None:
    """Return the kind of a file by its path in the data folder; None if there is none."""
    if snapshot := _SNAPSHOT.fullmatch(name):
        kind = _SNAPSHOT_KIND if snapshot[1] == "snapshot.json" else find_kind(snapshot[1])
        # Nothing writes to a snapshot, so nothing repairs it.
        return kind and kind._replace(
            part="other", pattern=f"snapshots/*/{kind.pattern}", meaning=_SNAPSHOT_KIND.meaning
        )
    if collection := _COLLECTION.fullmatch(name):
        kind = find_kind(collection[1])
        return kind and kind._replace(part="other", pattern=f"collections/*/{kind.pattern}")
    return next((kind for pattern, kind in _COMPILED if pattern.fullmatch(name)), None)


def kind_table() -> str:
    """Return all kinds as a table in Markdown."""
    head = ["| file | the checksum covers | verified | when it is damaged |", "|---|---|---|---|"]
    rows = [f"| `{kind.pattern}` | {kind.checksum} | {kind.verified} | {kind.meaning} |" for kind in FILE_KINDS]
    return "\n".join([*head, *rows]) + "\n"
