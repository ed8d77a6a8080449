"""The files of snapshots: `snapshots/NAME` is a folder like a data folder, with an index, a graph and signals.

Files that never change are hard links, so that a snapshot takes no room until the index is built anew; files that are
appended to are copied. A snapshot is made in a hidden folder and renamed when it is complete.
"""

import contextlib
import datetime
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.errors import BadInput, NothingHere
from periplus.files import decode_json, disk_errors, encode_json, make_folder, read_file, sync_folder, write_atomically
from periplus.index import Index
from periplus.result_rules import RuleStore
from periplus.settings import Settings
from periplus.typed_decoding import convert_to

__all__ = [
    "Snapshot",
    "check_snapshot_name",
    "choose_snapshot",
    "complete_snapshot",
    "link_files",
    "list_snapshots",
    "new_snapshot_folder",
    "read_snapshot",
    "remove_snapshot",
    "snapshot_settings",
    "snapshots_folder",
]

FORMAT: Final = 1
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_FILE: Final = "snapshot.json"
_SECTIONS: Final = ("search", "rank", "embeddings")
"""Settings that answers depend on."""
_LINKED: Final = (".arrays", ".json", ".model")
"""Files that are replaced as a whole, never changed; others are copied."""
_SIGNALS: Final = ("clicks.jsonl", "passive/counts.arrays")
_DAY: Final = 86_400


class Snapshot(msgspec.Struct, frozen=True):
    """What is known of a snapshot."""

    format: int
    name: str
    made: float
    """Unix time at which it was made: the clock of its searches, unless it is of a date."""
    generation: int
    documents: int
    as_of: str = ""
    """The date whose versions of pages it has, '' for those of the index at that time."""
    settings: dict[str, Any] = {}
    """The settings of searching and ranking at that time."""

    @property
    def today(self) -> int:
        """The day on which its searches are asked, in days since 1970."""
        return int(self.made // _DAY) if not self.as_of else _days(self.as_of)


def snapshots_folder(folder: Path) -> Path:
    """Return the folder of the snapshots of a data folder."""
    return folder / "snapshots"


def check_snapshot_name(name: str) -> str:
    """Return a name; raise `BadInput` unless it can be one of a snapshot."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            "This is not the name of a snapshot.",
            "Use up to 64 lower-case letters, digits, dots, hyphens, underscores.",
        )
    return name


def read_snapshot(folder: Path, name: str) -> Snapshot:
    """Return what is known of a snapshot; raise `BadInput` if there is none of this name."""
    path = snapshots_folder(folder) / check_snapshot_name(name) / _FILE
    try:
        raw = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"There is no snapshot '{name}'.", "See: periplus snapshot list.") from None
    return decode_json(path, raw, Snapshot, FORMAT, "Delete it: periplus snapshot delete NAME.", checksum_since=1)


def list_snapshots(folder: Path) -> list[Snapshot]:
    """Return all snapshots, the oldest first."""
    try:
        names = sorted(entry.name for entry in os.scandir(snapshots_folder(folder)) if entry.is_dir())
    except FileNotFoundError:
        return []
    found = [read_snapshot(folder, name) for name in names if _NAME.fullmatch(name)]
    return sorted(found, key=lambda snapshot: (snapshot.made, snapshot.name))


def choose_snapshot(folder: Path, date: str) -> Snapshot:
    """Return the snapshot of a date: one with the versions of that date, or the last one made up to its end.

    Raise `BadInput` if there is none.
    """
    day = _days(date)
    found = [snapshot for snapshot in list_snapshots(folder) if snapshot.today <= day]
    if not found:
        hint = f"Make one: periplus snapshot create NAME --as-of {date}."
        raise BadInput(f"There is no snapshot of {date} or before.", hint)
    return max(found, key=lambda snapshot: (snapshot.today, bool(snapshot.as_of), snapshot.made, snapshot.name))


def _days(date: str) -> int:
    try:
        day = datetime.date.fromisoformat(date if len(date) == 10 else "")
    except ValueError:
        raise BadInput("This is not a date.", "Write it as 2026-05-01.") from None
    return day.toordinal() - datetime.date(1970, 1, 1).toordinal()


@contextlib.contextmanager
def new_snapshot_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yield a hidden folder for a new snapshot, which is removed unless it is completed; raise `BadInput` if the name
    is taken."""
    parent = snapshots_folder(folder)
    if (parent / check_snapshot_name(name)).exists():
        raise BadInput(f"There is a snapshot '{name}' already.", f"Delete it: periplus snapshot delete {name}.")
    hidden = parent / f".{name}.new"
    make_folder(parent)
    shutil.rmtree(hidden, ignore_errors=True)  # of a process that was killed; whoever calls this holds the index
    with disk_errors(hidden):
        hidden.mkdir(mode=0o700)
    try:
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def link_files(folder: Path, target: Path) -> None:
    """Link or copy what the answers of a data folder depend on; whoever calls this holds the index."""
    index = Index.open(folder / "index", verify=False)
    manifest = index.manifest
    names = {
        "manifest.json",
        "fields.json",
        manifest.deleted_file,
        manifest.news_file,
        *(entry.name for entry in manifest.segments),
    }
    for path in sorted((folder / "index").iterdir()):
        if path.name in names or (path.suffix == ".arrays" and not path.name.startswith(("dead-", "news-"))):
            _link(path, target / "index" / path.name)
    for segment in manifest.segments:
        _link(
            folder / "index" / "meaning" / f"{segment.name}.arrays",
            target / "index" / "meaning" / f"{segment.name}.arrays",
        )
    _link(folder / "index" / "meaning" / "embedded.log", target / "index" / "meaning" / "embedded.log")
    for name in ("graph", "models", *_SIGNALS):
        _link(folder / name, target / name)


def _link_rules(folder: Path, target: Path) -> None:
    """Link the rules that count for everybody."""
    if ids := RuleStore(folder).server_ids():
        for name in ("server", *ids):
            _link(folder / "rules" / f"{name}.json", target / "rules" / f"{name}.json")


def _link(path: Path, target: Path) -> None:
    """Link a file, or all files of a folder; hidden ones are left out."""
    if path.is_dir():
        for child in sorted(path.iterdir()):
            if not child.name.startswith("."):
                _link(child, target / child.name)
    elif path.is_file():
        make_folder(target.parent)
        with disk_errors(target):
            if path.suffix in _LINKED:
                os.link(path, target)
            else:
                shutil.copyfile(path, target)


def complete_snapshot(hidden: Path, name: str, settings: Settings, now: float, as_of: str = "") -> Snapshot:
    """Describe a snapshot whose files are there, and make it visible."""
    index = Index.open(hidden / "index")
    _link_rules(hidden.parents[1], hidden)
    sections = {section: msgspec.to_builtins(getattr(settings, section)) for section in _SECTIONS}
    snapshot = Snapshot(FORMAT, name, now, index.manifest.generation, index.documents, as_of, sections)
    write_atomically(hidden / "periplus.json", encode_json({"format": 2}))
    write_atomically(hidden / _FILE, encode_json(snapshot))
    with disk_errors(hidden):
        hidden.rename(hidden.parent / name)
    sync_folder(hidden.parent)
    return snapshot


def remove_snapshot(folder: Path, name: str) -> Snapshot:
    """Remove a snapshot, and return what was known of it; raise `BadInput` if there is none of this name."""
    snapshot = read_snapshot(folder, name)
    path = snapshots_folder(folder) / name
    hidden = path.with_name(f".{name}.old")
    with disk_errors(path):
        path.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)
    return snapshot


def snapshot_settings(snapshot: Snapshot, settings: Settings) -> Settings:
    """Return settings as they were for searching and ranking when a snapshot was made.

    Settings that no longer exist are left out. Raise `NothingHere` if they cannot be read.
    """
    changes = {}
    for section in _SECTIONS:
        current = getattr(settings, section)
        stored = snapshot.settings.get(section, {})
        known = {name: value for name, value in stored.items() if name in current.__struct_fields__}
        try:
            changes[section] = convert_to(msgspec.to_builtins(current) | known, type(current))
        except msgspec.ValidationError as error:
            raise NothingHere(f"The settings of snapshot '{snapshot.name}' cannot be used: {error}.") from None
    return msgspec.structs.replace(settings, **changes)
