"""A shard with an index that people publish to, uploaded meanwhile: it is whole and searchable on a bare machine."""

import threading
from pathlib import Path

from periplus.app import Engine
from periplus.index import check_index
from periplus.storage import ShardMirror, Storage, restore_shard
from periplus.store import check_store_folder


def test_an_engine_that_is_published_to_is_restored_as_it_was(storage: Storage, tmp_path: Path) -> None:
    folder = tmp_path / "shard-00"
    with Engine(str(folder)) as engine:
        for number in range(12):
            engine.publish(f"Harbour {number}", f"tides and ships, quay{number}", url=f"https://a.test/{number}")
        engine.build()
        mirror = ShardMirror(folder, storage, 0)
        mirror.upload()
        published = threading.Event()

        def publish() -> None:
            for number in range(12, 24):
                engine.publish(f"Harbour {number}", f"tides and ships, quay{number}", url=f"https://a.test/{number}")
                published.set()

        publisher = threading.Thread(target=publish)
        publisher.start()
        published.wait()
        while publisher.is_alive():
            mirror.upload()
        publisher.join()
        mirror.upload()
    restore_shard(storage, 0, tmp_path / "bare")
    assert list(check_index(tmp_path / "bare" / "index")) == []
    assert list(check_store_folder(tmp_path / "bare" / "store")) == []
    with Engine(str(tmp_path / "bare")) as engine:
        engine.build()
        page = engine.search("tides", size=50)
        assert {hit.url for hit in page.hits} == {f"https://a.test/{number}" for number in range(24)}
