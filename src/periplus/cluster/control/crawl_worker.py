"""The worker of a crawl shard: thin, around `ShardRunner`."""

from typing import Any, Final

from periplus.cluster.control.coordinator_actor import key_path
from periplus.cluster.control.unit_actor import UnitSpec
from periplus.cluster.crawling import ShardRunner
from periplus.cluster.crawling.shard_checkpoints import ShardCheckpoints
from periplus.cluster.serving.serving_table import format_address
from periplus.cluster.wire.listening import choose_port
from periplus.cluster.wire.signing import load_key
from periplus.errors import BadInput
from periplus.files import make_folder
from periplus.storage import open_storage

__all__ = ["CrawlWorker"]

_JOIN_SECONDS: Final = 60.0


class CrawlWorker:
    """Runs the crawl of a shard."""

    def __init__(self, spec: UnitSpec) -> None:
        self._spec = spec
        settings = spec.settings
        storage = open_storage(settings.storage.url, settings.storage)
        self._checkpoints = ShardCheckpoints(storage, spec.number)
        make_folder(spec.folder.parent)
        self._runner = ShardRunner(
            spec.folder,
            settings,
            spec.number,
            load_key(key_path(settings)),
            host=spec.listen_address,
            port=choose_port(spec.listen_address, settings.cluster),
            checkpoints=self._checkpoints,
        )
        self._runner.start()

    def describe(self) -> dict[str, Any]:
        """Return address, instance, state and pages."""
        report = self._runner.status()
        return {
            "state": report.state,
            "address": format_address((self._spec.address, int(self._runner.address.rpartition(":")[2]))),
            "instance": self._runner.instance,
            "pages": report.status.pages if report.status is not None else 0,
            "fault": report.fault,
            "stored": self._checkpoints.progress,
            **self._runner.traffic(),
        }

    def call(self, command: str, argument: bytes) -> bytes:
        """Refuse any command: what a crawl does is in its plan."""
        raise BadInput(f"A crawl shard has no command {command!r}.")

    def close(self) -> None:
        """Stop the crawl; what it has done is on disk and in storage then."""
        self._runner.stop()
        self._runner.join(_JOIN_SECONDS)
        self._runner.close()
