"""A federation of two sites within one process: nodes, searchers, and the indexes of both."""

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
from made_sites import SETTINGS, MadeFederation

from index.made_pages import Ranks
from periplus.app.sites.federated_engine import FederatedEngine
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import SiteSettings
from periplus.sites import LocalNetwork, SiteConfig, SiteFolder, SiteNode, SiteTopology, new_site_record
from periplus.sites.messaging.sinks import SinkHandler
from periplus.url import parse_address

_SITE = SiteSettings(
    heartbeat_seconds=0.5, liveness_seconds=600.0, deadline=600.0, threshold_share=1e-6, threshold_seconds=1.0
)


def record(url: str, title: str, text: str) -> FetchRecord:
    """Return a page that was fetched."""
    address = parse_address(url)
    page = Page(url=address.url, title=title, text=text, language="en")
    return FetchRecord(address.url, address.key, Outcome.OK, 1.6e9, 200, page=page, content=address.key)


def _pages() -> list[list[FetchRecord]]:
    parts = []
    for name, word in (("one", "lighthouse"), ("two", "harbour")):
        text = f"The {word} of this page is old. " * 5
        parts.append([record(f"http://{name}.example/{i}", f"{word} number {i}", text) for i in range(6)])
    return parts


class EngineWorld:
    """Sites 'site-0', which has pages about lighthouses, and 'site-1', which has pages about harbours."""

    def __init__(self, folder: Path, handlers: Mapping[str, Mapping[str, SinkHandler]] | None = None) -> None:
        """handlers: of the sinks of each site."""
        self.network = LocalNetwork()
        self.made = MadeFederation(folder, _pages(), Ranks({}))
        self.settings = msgspec.structs.replace(SETTINGS, site=_SITE)
        folders = {name: SiteFolder(folder / name) for name in self.made.names}
        records = tuple(new_site_record(folders[name].make_key(), name, None, (), "") for name in self.made.names)
        topology = SiteTopology(network="test", sites=records)
        self.nodes, self.engines = {}, {}
        for name in self.made.names:
            folders[name].create(SiteConfig(name=name, client_port=1), topology)
            transport = self.network.join(name)
            self.nodes[name] = SiteNode(folders[name], transport, _SITE, (handlers or {}).get(name, {}))
            self.engines[name] = FederatedEngine(folder / name, self.settings, self.nodes[name])
            transport.start_delivery()

    def turn(self) -> None:
        """Exchange messages once, and let searchers follow."""
        for name in self.made.names:
            self.nodes[name].step()
            self.engines[name].update()

    def close(self) -> None:
        """End all threads."""
        for node in self.nodes.values():
            node.close()
            node.transport.close()


def await_bounds(world: EngineWorld) -> None:
    """Return when each site has the bounds of the other."""
    limit = time.monotonic() + 120
    while True:
        world.turn()
        valid = [engine.federation.status()[0].valid for engine in world.engines.values() if engine.federation]
        if len(valid) == 2 and all(valid):
            break
        assert time.monotonic() < limit
    world.turn()
