"""Build a new generation of the index on all shards of a cluster, and publish it.

Every step is executed by the build units of all shards at the same time. When one of them is lost, with its process or
its node, the build begins again once there is another: all steps can be repeated, and nobody sees a generation before
it is complete.
"""

import time
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from periplus.app.clusters.build_worker import BuildCommand
from periplus.app.observer import SILENT, Observer
from periplus.errors import ClusterError, NothingHere
from periplus.typed_decoding import parse_json, parse_msgpack

if TYPE_CHECKING:
    from periplus.cluster import ClusterClient, RayHost, Unit
    from periplus.storage import Storage

__all__ = ["GenerationBuild", "build_generation"]

_ATTEMPTS: Final = 20
_UNITS_SECONDS: Final = 600.0
_STEP_SECONDS: Final = 24 * 3600.0


class GenerationBuild(NamedTuple):
    """What a build of a cluster has made."""

    generation: int
    statistics_epoch: int
    shards: tuple[int, ...]
    documents: int
    bytes: int
    seconds: float
    attempts: int


def build_generation(
    client: "ClusterClient", host: "RayHost", storage: "Storage", observer: Observer = SILENT
) -> GenerationBuild:
    """Build an index of all pages of a cluster and publish it; return what was built."""
    began = time.monotonic()
    client.update(building=True)
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                build = _build_once(client, host, storage, observer)
                break
            except ClusterError as error:
                if attempt == _ATTEMPTS:
                    raise
                observer.message(f"The build begins again: {error.message}")
    finally:
        client.update(building=False)
    return build._replace(seconds=time.monotonic() - began, attempts=attempt)


def _build_once(client: "ClusterClient", host: "RayHost", storage: "Storage", observer: Observer) -> GenerationBuild:
    from periplus.cluster import (
        CollectedPublications,
        RoundStore,
        Unit,
        join_collected,
        list_generations,
        new_attempt,
        save_set,
    )
    from periplus.index import BuildStatistics, sum_build_statistics

    topology = client.topology()
    shards = topology.build_numbers
    generation = max([topology.generation, *list_generations(storage)]) + 1
    epoch = topology.statistics_epoch + 1
    units = [Unit("build", number) for number in shards]
    # Units are asked themselves: the coordinator may not have noticed yet that one has just died.
    client.wait(lambda status: _is_running(host, units), "ready to build", _UNITS_SECONDS)

    def run(step: str, commands: "dict[Unit, BuildCommand]") -> "dict[Unit, bytes]":
        observer.message(f"Generation {generation}: {step}.")
        arguments = {unit: msgspec.msgpack.encode(command) for unit, command in commands.items()}
        return host.call_all(arguments, step, _STEP_SECONDS)

    rounds = new_attempt(generation)
    command = BuildCommand(generation, epoch=epoch, shards=shards, rounds=rounds, base=topology.generation)
    everywhere = dict.fromkeys(units, command)
    answers = run("collect", everywhere).values()
    collected = join_collected(parse_msgpack(answer, CollectedPublications) for answer in answers)
    parts_of = collected.parts
    lists = run(
        "prepare",
        {unit: msgspec.structs.replace(command, publications=parts_of.get(unit.number, ())) for unit in units},
    )
    deleted = sorted({url for part in lists.values() for url in parse_msgpack(part, list[str])})
    if deleted:
        run("delete", dict.fromkeys(units, msgspec.structs.replace(command, deleted=tuple(deleted))))
    try:
        run("graph", everywhere)
    finally:
        RoundStore(storage, rounds).remove()
    parts = {unit: parse_json(part, BuildStatistics) for unit, part in run("statistics", everywhere).items()}
    statistics = sum_build_statistics(list(parts.values()), epoch)
    filled = [unit for unit, part in parts.items() if part.documents]
    if not statistics.documents:
        raise NothingHere("The cluster has no pages.", "Crawl some: periplus cluster crawl URL.")
    storage.put(f"statistics/{epoch:08d}/build-{generation:08d}.json", msgspec.json.encode(statistics))
    command = BuildCommand(generation, msgspec.json.encode(statistics), epoch, shards)
    run("index", dict.fromkeys(filled, command))
    sizes = run("store", dict.fromkeys(filled, command))
    save_set(storage, generation, collected)
    client.publish(generation, epoch, [unit.number for unit in filled], owners=shards, base=topology.generation)
    size = sum(int(text) for text in sizes.values())
    numbers = tuple(unit.number for unit in filled)
    return GenerationBuild(generation, epoch, numbers, statistics.documents, size, 0.0, 0)


def _is_running(host: "RayHost", units: "list[Unit]") -> bool:
    return all(probe.state == "running" for probe in host.probe(units).values())
