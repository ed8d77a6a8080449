"""All operations of the fault laboratory, by name."""

import tempfile
from pathlib import Path

import collection_operations
import crawl_operations
import index_operations
import people_operations
import publish_operations
import storage_operations
import store_operations
from operation import Operation

from periplus.app import Engine

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for module in (
        publish_operations,
        collection_operations,
        store_operations,
        index_operations,
        crawl_operations,
        people_operations,
        storage_operations,
    )
    for operation in module.OPERATIONS
}


def warm() -> None:
    """Load everything that operations need, so that a forked process has it."""
    with tempfile.TemporaryDirectory() as name, Engine(name) as engine:
        engine.publish("A page", "Its text.", url="https://warm.test/")
        engine.build()
        engine.search("page text", size=3)
        engine.search('"page text" -x te*', explain=True)
        engine.delete("https://warm.test/")
    for operation in OPERATIONS.values():
        with tempfile.TemporaryDirectory() as name:
            operation.prepare(Path(name) / "data")
