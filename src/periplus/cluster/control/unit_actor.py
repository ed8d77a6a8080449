"""What runs inside an actor: a worker made by a factory, behind a few methods. It knows no Ray either."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from periplus import __version__
from periplus.cluster.control.placement import Unit
from periplus.errors import WrongVersion
from periplus.settings import Settings
from periplus.typed_decoding import parse_msgpack

__all__ = ["UnitActor", "UnitSpec", "Worker", "WorkerFactory"]


class UnitSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of a unit is told when it starts."""

    kind: str
    number: int
    copy: int = 0
    settings: Settings
    node_dir: str
    """Folder of the node, for the files of its units; they can be restored from storage."""
    node: str
    """Identifies the node in Ray."""
    address: str
    """The address at which other nodes reach this one."""
    bind: str = ""
    """The address to listen at; none is `address`."""
    term: int
    """The term of the coordinator that starts the unit."""
    periplus: str = __version__

    @property
    def unit(self) -> Unit:
        """The unit."""
        return Unit(self.kind, self.number, self.copy)

    @property
    def listen_address(self) -> str:
        """The address that servers of the unit listen at."""
        return self.bind or self.address

    @property
    def folder(self) -> Path:
        """The data folder of the shard on this node: crawl and build share one, each replica has its own."""
        name = f"shard-{self.number:02d}"
        return Path(self.node_dir) / (name if self.kind in ("crawl", "build") else f"{self.kind}-{name}-{self.copy}")


class Worker(Protocol):
    """The part of a unit that does its work."""

    def describe(self) -> dict[str, Any]:
        """Return the state of the worker: 'state', 'address' and figures. It returns quickly."""

    def call(self, command: str, argument: bytes) -> bytes:
        """Execute a command of the coordinator."""

    def close(self) -> None:
        """End the work in an orderly way."""


WorkerFactory = Callable[[UnitSpec], Worker]


class UnitActor:
    """A worker in a process of its own."""

    def __init__(self, factory: WorkerFactory, spec: bytes) -> None:
        self._spec = parse_msgpack(spec, UnitSpec)
        if self._spec.periplus != __version__:
            raise WrongVersion(f"The cluster runs Periplus {self._spec.periplus}, this node has {__version__}.")
        self._worker = factory(self._spec)

    def describe(self) -> dict[str, Any]:
        """Return the state of the worker, with process id and version."""
        return {"pid": os.getpid(), "node": self._spec.node, "periplus": __version__, **self._worker.describe()}

    def call(self, command: str, argument: bytes) -> bytes:
        """Execute a command."""
        return self._worker.call(command, argument)

    def close(self) -> None:
        """End the work in an orderly way."""
        self._worker.close()
