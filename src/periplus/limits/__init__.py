"""Limits of what all processes of a command use together: disk space and memory.

In goes a data folder and `LimitSettings`; out comes whether work must pause, and why. Nothing here stops a process:
the crawl loop asks, and pauses; a build or a publication asks, and is refused before it writes.

    DiskLimit             the size of a data folder, and the free space of its file system
    MemoryLimit           the memory of a process and all that it started
    ResourceMonitor       both, once a second in a thread, reported as parts of `periplus.health`
    pressure              why a crawl in this data folder should pause, as any process of it has reported
    divide_memory         settings with a memory limit divided among the parts
"""

from periplus.limits.disk_limit import DiskLimit
from periplus.limits.folder_size import FolderSize, measure_folder
from periplus.limits.memory_limit import MemoryLimit
from periplus.limits.memory_shares import divide_memory
from periplus.limits.process_memory import process_tree, release_memory, tree_memory
from periplus.limits.resource_monitor import ResourceMonitor, pressure

__all__ = [
    "DiskLimit",
    "FolderSize",
    "MemoryLimit",
    "ResourceMonitor",
    "divide_memory",
    "measure_folder",
    "pressure",
    "process_tree",
    "release_memory",
    "tree_memory",
]
