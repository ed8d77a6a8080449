"""Uploads and restores that end anywhere: the storage has the last upload or the next, whole, and work goes on."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_folders import append, content, object_names, write

from periplus.errors import NothingHere
from periplus.settings import StorageSettings
from periplus.storage import ShardMirror, Storage, open_storage, restore_shard, shard_restore, shard_upload
from periplus.storage.shard_manifest import read_shard_manifest
from periplus.storage.storage_records import Backend

NAMES = (
    "crawl/frontier.bin",
    "store/manifest.json",
    "store/visits-00000.log",
    "index/seg-1/terms.arrays",
    "inbox/1.new",
)


class Interruption(BaseException):
    """The process ends here."""


class FragileBackend:
    """A storage whose client ends with a request: before it is sent, or after it was carried out."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.rest = -1
        """Requests until the end; -1 is never."""
        self.carried_out = False
        self.ended = False

    def __getattr__(self, name: str) -> Any:
        request = getattr(self._backend, name)

        def send(*arguments: Any) -> Any:
            if self.ended:
                raise Interruption
            if self.rest == 0:
                self.ended = True
                if self.carried_out:
                    request(*arguments)
                raise Interruption
            self.rest -= 1
            return request(*arguments)

        return send


def open_fragile(folder: Path) -> tuple[Storage, FragileBackend, Storage]:
    """Return a storage whose client may end, its backend, and the same storage as another machine sees it."""
    sound = open_storage((folder / "shared").as_uri(), StorageSettings(retry_seconds=0.0), create=True)
    backend = FragileBackend(sound._backend)
    fragile = Storage(sound.url, backend, StorageSettings(retry_seconds=0.0))
    fragile.id = sound.id
    return fragile, backend, sound


def restored(storage: Storage, target: Path) -> dict[str, bytes] | None:
    """Return the content of the shard on a bare machine; None if it was never uploaded."""
    try:
        restore_shard(storage, 0, target)
    except NothingHere:
        return None
    files = content(target)
    shutil.rmtree(target)
    return files


def check_no_leftovers(storage: Storage) -> None:
    manifest = read_shard_manifest(storage, 0)
    assert manifest is not None
    assert object_names(storage, 0) == manifest.manifest.objects()


@pytest.mark.parametrize("carried_out", [False, True])
def test_an_upload_that_ends_with_any_request(tmp_path: Path, carried_out: bool, one_thread: None) -> None:
    fragile, backend, sound = open_fragile(tmp_path)
    folder = tmp_path / "data"
    write(folder, {name: os.urandom(100) for name in NAMES})
    ShardMirror(folder, sound, 0).upload()
    number, ended = 0, True
    while ended:
        before = content(folder)
        write(folder, {NAMES[0]: os.urandom(100), f"inbox/{number + 2}.new": b"page"})
        append(folder, NAMES[2], os.urandom(300))
        (folder / f"inbox/{number + 1}.new").unlink()
        backend.rest, backend.carried_out, backend.ended = number, carried_out, False
        try:
            ShardMirror(folder, fragile, 0).upload()
        except Interruption:
            pass
        ended = backend.ended
        files = restored(sound, tmp_path / "bare")
        assert files in (before, content(folder))
        assert ended or files == content(folder)
        ShardMirror(folder, sound, 0).upload()
        assert restored(sound, tmp_path / "bare") == content(folder)
        check_no_leftovers(sound)
        number += 1
    assert number > 6  # two manifests, three objects, the list, the removal


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_restore_that_ends_with_any_request_is_resumed(tmp_path: Path, carried_out: bool, one_thread: None) -> None:
    fragile, backend, sound = open_fragile(tmp_path)
    write(tmp_path / "data", {name: os.urandom(100) for name in NAMES})
    ShardMirror(tmp_path / "data", sound, 0).upload()
    for number in range(20):
        backend.rest, backend.carried_out, backend.ended = number, carried_out, False
        try:
            restore_shard(fragile, 0, tmp_path / "bare")
        except Interruption:
            assert not (tmp_path / "bare").exists()
            result = restore_shard(sound, 0, tmp_path / "bare")
            assert result.fetched_files == len(NAMES) - max(number - 2, 0)
        assert content(tmp_path / "bare") == content(tmp_path / "data")
        shutil.rmtree(tmp_path / "bare")
        if not backend.ended:
            break
    assert number == 2 + len(NAMES)


CHANGES = st.lists(
    st.tuples(st.sampled_from(["write", "append", "truncate", "remove"]), st.sampled_from(NAMES), st.integers(0, 3000)),
    max_size=5,
)
ROUNDS = st.lists(st.tuples(CHANGES, st.integers(-1, 14), st.booleans(), st.booleans()), min_size=1, max_size=5)


def change(folder: Path, changes: Iterable[tuple[str, str, int]]) -> None:
    for kind, name, size in changes:
        if kind == "write":
            write(folder, {name: os.urandom(size)})
        elif kind == "append":
            append(folder, name, os.urandom(size))
        elif (folder / name).exists():
            if kind == "truncate":
                os.truncate(folder / name, min(size, (folder / name).stat().st_size))
            else:
                (folder / name).unlink()


@pytest.fixture(scope="module")
def one_thread() -> Any:
    """Requests are sent one after the other, so that the one that ends is the same each time."""
    patch = pytest.MonkeyPatch()
    patch.setattr(shard_upload, "_AT_ONCE", 1)
    patch.setattr(shard_restore, "_AT_ONCE", 1)
    yield
    patch.undo()


@settings(max_examples=40)
@given(rounds=ROUNDS)
def test_any_history_of_changes_and_interruptions(one_thread: None, rounds: list[Any]) -> None:
    """The shard moves to another machine in some rounds; what an upload has acknowledged is always restored."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        fragile, backend, sound = open_fragile(root)
        folder, acknowledged, mirror = root / "data-0", None, None
        folder.mkdir()
        for number, (changes, rest, carried_out, moves) in enumerate(rounds):
            change(folder, changes)
            backend.rest, backend.carried_out, backend.ended = rest, carried_out, False
            try:
                mirror = mirror or ShardMirror(folder, fragile, 0)
                mirror.upload()
                acknowledged = content(folder)
            except Interruption:
                mirror = None
                files = restored(sound, root / "bare")
                assert files in (acknowledged, content(folder))
                acknowledged = files
            assert restored(sound, root / "bare") == acknowledged
            if moves and acknowledged is not None:
                folder, mirror = root / f"data-{number + 1}", None
                restore_shard(sound, 0, folder)
        backend.rest, backend.ended = -1, False
        ShardMirror(folder, sound, 0).upload()
        assert restored(sound, root / "bare") == content(folder)
        check_no_leftovers(sound)
