"""The schema of an index: which own fields its documents have, in `fields.json` of its folder.

Whoever writes a segment reads it there, so builds, live indexes and merges agree. It is written from the settings
before anything is indexed; a change that stored documents contradict is refused.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from periplus.files import decode_json, disk_errors, encode_json, make_folder, write_atomically
from periplus.settings import FieldSettings

__all__ = ["Schema", "read_schema", "schema_path", "schema_stamp", "write_schema"]

_FILE: Final = "fields.json"
_FORMAT: Final = 1

Schema = Mapping[str, FieldSettings]


class _SchemaFile(msgspec.Struct, frozen=True):
    format: int
    fields: dict[str, FieldSettings] = {}


def schema_path(folder: Path) -> Path:
    """Return the path of the schema of an index folder."""
    return folder / _FILE


def schema_stamp(folder: Path) -> tuple[int, int]:
    """Return what differs after the schema of an index folder was written."""
    try:
        status = schema_path(folder).stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def read_schema(folder: Path) -> dict[str, FieldSettings]:
    """Return the own fields of an index folder; none if it has no schema."""
    path = schema_path(folder)
    if not path.exists():
        return {}
    with disk_errors(path):
        raw = path.read_bytes()
    return decode_json(path, raw, _SchemaFile, _FORMAT, "Remove it, and start again.", checksum_since=1).fields


def write_schema(folder: Path, schema: Schema) -> None:
    """Write the own fields of an index folder."""
    with disk_errors(folder):
        make_folder(folder)
    write_atomically(schema_path(folder), encode_json(_SchemaFile(_FORMAT, dict(schema))))
