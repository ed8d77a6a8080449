"""Generations of the index in storage: complete or absent, verified, and apart from each other."""

from pathlib import Path

import pytest

from periplus.cluster import list_generations, remove_generations, store_generation
from periplus.cluster.control.generation_store import restore_generation
from periplus.errors import CorruptFile, NothingHere
from periplus.settings import StorageSettings
from periplus.storage import Storage, open_storage


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage((tmp_path / "storage").as_uri(), StorageSettings(), create=True)


def make_index(folder: Path, content: bytes) -> Path:
    for name in ("index/manifest.json", "index/seg-1/postings.bin", "graph/graph.arrays"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content + name.encode())
    (folder / "index" / ".index.lock").touch()
    (folder / "store").mkdir(exist_ok=True)
    (folder / "store" / "pages.warc").write_bytes(b"pages")
    return folder


def test_a_generation_is_restored_as_it_was_stored(storage: Storage, tmp_path: Path) -> None:
    for generation in (1, 2):
        store_generation(storage, make_index(tmp_path / "build", b"%d" % generation), generation, 3)
    for generation in (1, 2):
        target = tmp_path / f"replica-{generation}"
        assert restore_generation(storage, generation, 3, target) > 0
        files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
        assert files == ["graph/graph.arrays", "index/manifest.json", "index/seg-1/postings.bin"]
        assert (target / "index/manifest.json").read_bytes() == b"%dindex/manifest.json" % generation
        assert restore_generation(storage, generation, 3, target) == 0, "it is there already"
    assert list_generations(storage) == [1, 2]


def test_a_generation_may_be_stored_again(storage: Storage, tmp_path: Path) -> None:
    store_generation(storage, make_index(tmp_path / "build", b"first"), 1, 0)
    store_generation(storage, make_index(tmp_path / "build", b"again"), 1, 0)
    restore_generation(storage, 1, 0, tmp_path / "replica")
    assert (tmp_path / "replica/graph/graph.arrays").read_bytes().startswith(b"again")


def test_what_is_not_there_is_named(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(NothingHere, match="generation 7 was not built"):
        restore_generation(storage, 7, 0, tmp_path / "replica")
    with pytest.raises(NothingHere, match="no index"):
        store_generation(storage, tmp_path / "empty", 1, 0)


def test_a_damaged_generation_leaves_nothing(storage: Storage, tmp_path: Path) -> None:
    store_generation(storage, make_index(tmp_path / "build", b"x"), 1, 0)
    damaged = tmp_path / "storage/generations/00000001/shards/00/index/seg-1/postings.bin"
    damaged.write_bytes(b"y" + damaged.read_bytes()[1:])
    with pytest.raises(CorruptFile):
        restore_generation(storage, 1, 0, tmp_path / "replica")
    assert not (tmp_path / "replica").exists()


def test_generations_that_are_not_kept_are_removed(storage: Storage, tmp_path: Path) -> None:
    for generation in (1, 2, 3):
        store_generation(storage, make_index(tmp_path / "build", b"x"), generation, 0)
    remove_generations(storage, {2, 3})
    assert list_generations(storage) == [2, 3]
