"""A worker that says who it is: for tests of actors."""

import os
from typing import Any

from periplus.cluster.control.unit_actor import UnitSpec
from periplus.errors import BadInput


class EchoWorker:
    """Returns what it is called with; the command 'refuse' raises."""

    def __init__(self, spec: UnitSpec) -> None:
        self._spec = spec
        spec.folder.mkdir(parents=True, exist_ok=True)

    def describe(self) -> dict[str, Any]:
        return {"state": "running", "folder": str(self._spec.folder)}

    def call(self, command: str, argument: bytes) -> bytes:
        if command == "refuse":
            raise BadInput("Nothing of this kind.")
        if command == "end":
            os._exit(1)
        return argument

    def close(self) -> None:
        (self._spec.folder / "closed").touch()


def no_duties(*arguments: object) -> tuple[()]:
    """Return no duties of the coordinator."""
    return ()
