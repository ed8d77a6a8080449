"""Serve a cluster: the search page and the HTTP API of a broker, as `periplus serve` serves a data folder."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadInput
from periplus.files import open_data_folder, write_atomically
from periplus.hashing import fingerprint_text
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.cluster import Broker, ClusterKey
    from periplus.evaluate import QueryDiagnosis
    from periplus.records import Query
    from periplus.serve import Publisher, PublishReceipt, PublishRequest, ServerResources, UploadedFile

__all__ = ["OPENED_SUFFIX", "open_broker_server", "serve_broker"]

_ID_DIGITS: Final = 64
OPENED_SUFFIX: Final = ".opened"
"""Of the file, beside the serving table, with the version that queries are answered by."""


def open_broker_server(folder: Path, settings: Settings, table: Path, key: "ClusterKey") -> "ServerResources":
    """Open what one process serves a cluster with.

    folder: where the keys of the API are, the same for all brokers;
    table: the file of the serving table; beside it, its version is written once it is used.
    """
    from periplus.cluster import Broker, TableReader
    from periplus.result_rules import RuleStore
    from periplus.serve import Actions, ApiKeys, ServerResources

    def on_table(version: int) -> None:
        write_atomically(table.with_suffix(OPENED_SUFFIX), str(version).encode())

    rules = RuleStore(folder)
    broker = Broker(TableReader.of_file(table), key, settings, on_table, rules)
    keys = ApiKeys(open_data_folder(folder, create=True))
    keys.ensure_file()
    own = _BrokerActions(broker, settings)
    actions = Actions(publish=own.publish, unpublish=own.unpublish, why=own.why, rules=rules)
    return ServerResources(broker, actions, keys)


def serve_broker(
    folder: Path,
    settings: Settings,
    table: Path,
    key: "ClusterKey",
    on_ready: Callable[[str], None],
    observer: Observer = SILENT,
) -> None:
    """Serve a cluster until SIGINT or SIGTERM; `on_ready` is called with the URL once the broker answers."""
    from periplus.serve import run

    compile_kernels(observer)
    opened = open_broker_server(folder, settings, table, key)
    run(opened.searcher, settings.serve, on_ready, opened.actions, opened.keys)


class _BrokerActions:
    """What a broker can do besides searching."""

    def __init__(self, broker: "Broker", settings: Settings) -> None:
        self._broker, self._settings = broker, settings

    def why(self, query: "Query", url: str) -> "QueryDiagnosis":
        """Return what became of a page in a query over all shards."""
        from periplus.evaluate import diagnose

        return diagnose(self._broker, None, self._settings, query, url)

    def publish(
        self, request: "PublishRequest", publisher: "Publisher | None" = None, file: "UploadedFile | None" = None
    ) -> "PublishReceipt":
        """Publish a page in the shard that owns its host; it is durable when this returns."""
        from periplus.publish import content_id, make_published_record
        from periplus.serve import PublishReceipt

        if file is not None:
            raise BadInput("Files cannot be published to a cluster.", "Send their text.")
        record = make_published_record(
            request.title,
            request.content,
            request.url,
            request.description,
            request.author,
            request.date,
            request.tags,
            request.language,
        )
        self._broker.publish(record)
        identifier = content_id(request.content.encode("utf-8", "replace"))
        return PublishReceipt(identifier, record.url, f"{record.key:016x}")

    def unpublish(self, identifier: str, publisher: "Publisher | None" = None) -> None:
        """Withdraw a published page, by the key that publishing it returned, or by the id of content without a URL."""
        key = int(identifier, 16)
        if len(identifier) == _ID_DIGITS:
            key = fingerprint_text(f"https://published.invalid/{identifier}")
        page = self._broker.cached_page(key)
        if page is None:
            raise BadInput("There is no such page.", "Give the id that publishing it returned.")
        self._broker.withdraw(page.url)
