"""The NATS server of a site and its configuration, for the processes that link the site with others."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.files import write_atomically
from periplus.settings import SiteSettings

if TYPE_CHECKING:
    from periplus.sites import JoinAccess, NatsServer, SiteConfig, SiteFolder

__all__ = ["start_nats", "write_config"]

_CONFIG: Final = "nats.json"


def write_config(site: "SiteFolder", settings: SiteSettings, joining: "JoinAccess | None" = None) -> "SiteConfig":
    """Write the configuration of the NATS server for the sites that there are now; return that of the site."""
    from periplus.sites import NatsPorts, write_nats_config

    topology = site.topology()
    config = site.complete_passwords(topology)
    text = write_nats_config(
        Path(site.path).resolve(),
        topology,
        topology.site(config.name),
        NatsPorts(config.client_port, config.leaf_host, config.leaf_port),
        config.passwords,
        site.key().seed(),
        settings.stream_mb << 20,
        config.routes,
        joining,
        config.open_secret(time.time()),
    )
    path = site.path / _CONFIG
    write_atomically(path, text.encode())
    path.chmod(0o600)
    return config


@contextlib.contextmanager
def start_nats(site: "SiteFolder", settings: SiteSettings) -> "Iterator[NatsServer | None]":
    """Within the block, run the NATS server of a site; None if `site.nats_url` names one that runs already."""
    from periplus.sites import NatsServer

    if settings.nats_url:
        yield None
        return
    with NatsServer(site.path / _CONFIG, site.path / "nats.log", site.config().client_port) as server:
        yield server
