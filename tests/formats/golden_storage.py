"""The storage of a cluster as golden files: its stamp, and a shard of which one file has grown."""

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from formats.golden_files import GoldenFormat, content
from periplus.settings import StorageSettings
from periplus.storage import ShardMirror, open_storage, restore_shard, shard_upload
from periplus.storage.shard_manifest import read_shard_manifest

SETTINGS = StorageSettings(retry_seconds=0.0)


def write_storage(folder: Path) -> None:
    """Upload a shard twice."""
    storage = open_storage((folder / "storage").as_uri(), SETTINGS, create=True)
    with tempfile.TemporaryDirectory() as name, mock.patch.object(shard_upload, "_AT_ONCE", 1):
        shard = Path(name)
        (shard / "crawl").mkdir()
        (shard / "store").mkdir()
        (shard / "crawl" / "frontier.bin").write_bytes(b"snapshot")
        (shard / "store" / "visits-00000.log").write_bytes(b"fetch records")
        (shard / "store" / "empty.log").write_bytes(b"")
        (shard / "a name with spaces").write_bytes(b"text")
        mirror = ShardMirror(shard, storage, 3)
        mirror.upload()
        with (shard / "store" / "visits-00000.log").open("ab") as file:
            file.write(b", more")
        mirror.upload()


def read_storage(folder: Path) -> Any:
    """Return the stamp, the manifest and the files of the shard."""
    storage = open_storage((folder / "storage").as_uri(), SETTINGS)
    versioned = read_shard_manifest(storage, 3)
    assert versioned is not None
    with tempfile.TemporaryDirectory() as name:
        shard = Path(name) / "shard"
        restore_shard(storage, 3, shard)
        files = {
            os.path.relpath(path, shard): path.read_text("ascii")
            for path in sorted(shard.rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }
    return {"id": storage.id, "manifest": content(versioned.manifest), "files": files}


FORMATS = (GoldenFormat("storage", write_storage, read_storage, unnumbered=("storage/shards/*/files/*",)),)
