"""Sites for tests: keys, records, and a site that sends and receives batches within one process."""

from collections.abc import Callable, Mapping
from pathlib import Path

from periplus.sites import LocalNetwork, SiteRecord, SiteTopology
from periplus.sites.messaging.batches import Batch
from periplus.sites.messaging.outbox import Outbox, OutboxReader
from periplus.sites.messaging.sinks import SinkHandler, SinkReceiver, SinkSender
from periplus.sites.messaging.site_keys import SiteKey, make_site_key, sign_record

NETWORK = "test"


def make_sites(folder: Path, names: tuple[str, ...]) -> tuple[SiteTopology, dict[str, SiteKey]]:
    """Return a topology of sites and their keys, whose files are below `folder`."""
    keys = {name: make_site_key(folder / name / "key.pem") for name in names}
    records = [sign_record(keys[name], SiteRecord(name=name, key=keys[name].public)) for name in sorted(names)]
    return SiteTopology(network=NETWORK, sites=tuple(records)), keys


class SinkSite:
    """A site with an outbox and a receiver, which can be killed and started again on the same folder."""

    def __init__(
        self,
        network: LocalNetwork,
        folder: Path,
        topology: SiteTopology,
        key: SiteKey,
        name: str,
        handlers: Mapping[str, SinkHandler],
        max_bytes: int = 1 << 20,
    ) -> None:
        self.transport = network.join(name)
        self.outbox = Outbox(folder / "outbox", "test", key, NETWORK, name, max_bytes)
        self.receiver = SinkReceiver(folder, name, lambda: topology, handlers)
        self.sender = SinkSender(self.transport, OutboxReader(folder / "outbox"))
        self.transport.consume(self.receiver.receive)

    def kill(self) -> None:
        """End the site without any order: what is not on disk is lost."""
        self.transport.close()
        self.outbox.close()


def file_handler(folder: Path, on_apply: Callable[[Batch], None] = lambda batch: None) -> SinkHandler:
    """Return a handler that writes a file for each batch, by its identity: the effect of a batch."""
    folder.mkdir(parents=True, exist_ok=True)

    def apply(batch: Batch) -> None:
        header = batch.header
        path = folder / f"{header.sender}-{header.lane}-{header.number}"
        path.write_text("\n".join(item.url for item in batch.items))
        on_apply(batch)

    return apply
