"""The rule sets of a data folder: one file for each, named by its id, and a file that names those for everybody.

    rules/ID.json        {"format": 1, "kind": "list" or "goggles", "name", "text", "checksum": xxh3}
    rules/server.json    {"format": 1, "ids": [...], "checksum": xxh3}

Anybody who may use the page can add a set. So there is room for a bounded number of them, and those that were used
least recently make room for new ones; sets that count for everybody stay.
"""

import contextlib
import functools
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput, NothingHere
from periplus.files import decode_json, disk_errors, encode_json, write_atomically
from periplus.result_rules.active_rules import ActiveRules
from periplus.result_rules.rule_index import open_rules
from periplus.result_rules.rule_parser import parse_rules
from periplus.result_rules.rule_records import RuleSet, RuleText
from periplus.writer_queue import queue_for_lock

__all__ = ["RuleStore"]

_FORMAT: Final = 1
_ID: Final = re.compile(r"[0-9a-f]{32}")
_SERVER: Final = "server.json"
_LOCK_SECONDS: Final = 10.0
_MAX_SETS: Final = 5_000
_MAX_BYTES: Final = 512 << 20
_MAX_ACTIVE: Final = 8
"""Sets that count for one query."""
_USED_SECONDS: Final = 86_400.0
"""How exact it is noted when a set was used."""


class _SetFile(msgspec.Struct, frozen=True):
    format: int
    kind: str
    text: str
    name: str = ""


class _ServerFile(msgspec.Struct, frozen=True):
    format: int
    ids: tuple[str, ...] = ()


class RuleStore:
    """The rule sets of a data folder. Any thread and any process may use it."""

    def __init__(
        self, folder: Path, max_sets: int = _MAX_SETS, max_bytes: int = _MAX_BYTES, others: Path | None = None
    ) -> None:
        """Open the rule sets of a data folder; others: another one, whose sets can be read, too, by their ids."""
        self._folder = folder / "rules"
        self._others = RuleStore(others) if others is not None else None
        self._max_sets, self._max_bytes = max_sets, max_bytes
        self._server_path = os.fspath(self._folder / _SERVER)
        self._server: tuple[tuple[int, int, int], tuple[str, ...]] = ((0, 0, 0), ())
        self._names: dict[str, str] = {}
        self._open = functools.lru_cache(256)(self._read)

    def add(self, text: str, format_name: str = "auto", name: str = "") -> RuleSet:
        """Store a rule set; raise `BadInput`, with the number of the line, if it is not accepted."""
        rules = parse_rules(text, format_name, name)
        if not rules.rules and not rules.blocks_others:
            reason = f" Line {rules.ignored[0].line}: {rules.ignored[0].reason}." if rules.ignored else ""
            raise BadInput(f"There is no rule in this text.{reason}", "Write for example: block example.com")
        path = self._folder / f"{rules.id}.json"
        if not path.exists():
            record = _SetFile(_FORMAT, rules.source.format, rules.source.text, rules.name)
            with disk_errors(path):
                self._folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                self._make_room(len(text) + 200)
                write_atomically(path, encode_json(record))
        return self.get(rules.id)

    def _locked(self) -> contextlib.AbstractContextManager[object]:
        return queue_for_lock(self._folder, "rules", _LOCK_SECONDS)

    def _make_room(self, size: int) -> None:
        """Delete the sets that were used least recently, where there would be too many, or too many bytes."""
        kept = set(self.server_ids())
        sets = [(entry.stat(), entry) for entry in self._folder.glob("*.json") if _ID.fullmatch(entry.stem)]
        sets.sort(key=lambda pair: pair[0].st_mtime)
        count, total = len(sets) + 1, size + sum(status.st_size for status, _ in sets)
        for status, path in sets:
            if count <= self._max_sets and total <= self._max_bytes:
                return
            if path.stem not in kept:
                path.unlink(missing_ok=True)
                count, total = count - 1, total - status.st_size
        if count > self._max_sets or total > self._max_bytes:
            raise BadInput("There is no room for further rules on this server.")

    def get(self, identifier: str) -> RuleSet:
        """Return a rule set by its id; raise `NothingHere` if there is none."""
        path = self._folder / f"{identifier}.json"
        if self._others is not None and not path.exists():
            return self._others.get(identifier)
        if not _ID.fullmatch(identifier) or not path.exists():
            raise NothingHere("This server does not have these rules.", "Open /rules to add them.")
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _USED_SECONDS:
                os.utime(path)
        return self._open(identifier)

    def _read(self, identifier: str) -> RuleSet:
        path = self._folder / f"{identifier}.json"
        with disk_errors(path):
            raw = path.read_bytes()
        record = decode_json(path, raw, _SetFile, _FORMAT, "Delete the file and add the rules again.", checksum_since=1)
        rules = open_rules(RuleText(record.text, record.kind))
        return rules._replace(name=rules.name or record.name)

    def server_ids(self) -> tuple[str, ...]:
        """Return the ids of the sets that count for everybody."""
        # Every query asks, and few servers have any: an error, or a Path, takes longer than the answer.
        if not os.access(self._server_path, os.F_OK):
            return ()
        try:
            status = os.stat(self._server_path)
        except OSError:
            return ()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._server[0]:
            path = self._folder / _SERVER
            with disk_errors(path):
                raw = path.read_bytes()
            record = decode_json(path, raw, _ServerFile, _FORMAT, "Delete the file.", checksum_since=1)
            self._server = stamp, record.ids
        return self._server[1]

    def set_server_ids(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Set which rule sets count for everybody; raise `NothingHere` for one that is not stored."""
        chosen = tuple(dict.fromkeys(ids))
        if len(chosen) > _MAX_ACTIVE // 2:
            raise BadInput(f"At most {_MAX_ACTIVE // 2} rule sets count for everybody.")
        for identifier in chosen:
            self.get(identifier)
        if chosen or (self._folder / _SERVER).exists():
            with self._locked():
                write_atomically(self._folder / _SERVER, encode_json(_ServerFile(_FORMAT, chosen)))
        return chosen

    def activate(self, ids: Iterable[str], *, blocks_only: bool = False) -> tuple[ActiveRules | None, int]:
        """Return the rules that count for a query, those for everybody included, and how many ids are not known."""
        sets, unknown = [], 0
        for identifier in dict.fromkeys((*self.server_ids(), *ids)):
            try:
                sets.append(self.get(identifier))
            except NothingHere:
                unknown += 1
        return ActiveRules(sets[:_MAX_ACTIVE], blocks_only=blocks_only) if sets else None, unknown
