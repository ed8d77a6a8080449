"""Division of a memory limit among the parts that can be told how much to use."""

from typing import Final

import msgspec

from periplus.errors import SettingsError
from periplus.settings import Settings

__all__ = ["divide_memory"]

_MIN_MEMORY: Final = 256
"""Below this many MB nothing runs: Python with the compiled kernels takes about 150 for each process."""
_SHARES: Final = {"frontier": 0.15, "index": 0.25, "graph": 0.25, "cache": 0.05}
"""Parts of the whole. Indexing and ranking the graph take turns. The rest is for programs, pages and searches."""
_MIN_INDEX: Final = 64


def divide_memory(settings: Settings, processes: int = 1) -> Settings:
    """Return settings whose memory settings are lowered so that they fit into `limits.memory_mb`.

    `processes` serve, each with a cache of its own. Settings that are lower already remain.
    """
    total = settings.limits.memory_mb
    if not total:
        return settings
    if total < _MIN_MEMORY:
        raise SettingsError(f"limits.memory_mb is {total}: at least {_MIN_MEMORY} MB are needed.")
    share = {name: int(total * part) for name, part in _SHARES.items()}
    replace = msgspec.structs.replace
    graph_least = min(settings.graph.memory_mb, _MIN_INDEX)
    return replace(
        settings,
        frontier=replace(settings.frontier, memory_mb=max(1, min(settings.frontier.memory_mb, share["frontier"]))),
        index=replace(settings.index, memory_mb=max(_MIN_INDEX, min(settings.index.memory_mb, share["index"]))),
        graph=replace(settings.graph, memory_mb=max(graph_least, min(settings.graph.memory_mb, share["graph"]))),
        serve=replace(settings.serve, cache_mb=min(settings.serve.cache_mb, share["cache"] // max(1, processes))),
    )
