"""What tests on a Ray cluster use of it."""

from typing import Any, NamedTuple

from periplus.settings import Settings


class RayTestCluster(NamedTuple):
    """A Ray cluster with a coordinator, whose units are `EchoWorker`s."""

    ray: Any
    settings: Settings
    client: Any
    local: Any
