"""The owners of hosts on disk, so that hosts do not wander when a site is started again.

hosts     u8     names in UTF-8, one after the other, each with a newline
owners    u8     positions in the list of sites in the notes
reasons   u8     positions in `REASONS`
since     f64    when each was assigned, in seconds since 1970
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.sites.placement.geographic_partitioner import HostOwner

__all__ = ["HOST_OWNERS_KIND", "HOST_OWNERS_NAME", "read_host_owners", "write_host_owners"]

HOST_OWNERS_NAME: Final = "host-owners.arrays"
HOST_OWNERS_KIND: Final = "host-owners"
REASONS: Final = ("hash", "distance", "time", "sender")
_FORMAT: Final = 1


def write_host_owners(path: Path, owners: dict[str, HostOwner]) -> None:
    """Write the owners of hosts, durably."""
    names = [host for host in owners if "\n" not in host]
    sites = sorted({owner.site for owner in owners.values()})
    numbers = {site: number for number, site in enumerate(sites)}
    arrays: dict[str, npt.NDArray[Any]] = {
        "hosts": np.frombuffer("".join(f"{name}\n" for name in names).encode("utf-8", "replace"), np.uint8),
        "owners": np.array([numbers[owners[name].site] for name in names], np.uint8),
        "reasons": np.array([REASONS.index(owners[name].reason) for name in names], np.uint8),
        "since": np.array([owners[name].since for name in names], np.float64),
    }
    write_arrays(path, HOST_OWNERS_KIND, arrays, {"sites": sites}, format=_FORMAT)


def read_host_owners(path: Path) -> dict[str, HostOwner]:
    """Return the owners of hosts; none if there is no file. Raise `CorruptFile` if it is damaged."""
    if not path.exists():
        return {}
    file = ArrayFile(path, HOST_OWNERS_KIND, format=_FORMAT)
    file.check()
    names = file["hosts"].tobytes().decode("utf-8", "replace").split("\n")[:-1]
    columns = [file[name].tolist() for name in ("owners", "reasons", "since")]
    sites = file.notes.get("sites")
    if not isinstance(sites, list) or any(len(column) != len(names) for column in columns):
        raise CorruptFile(f"{path} is damaged: its columns differ in length.", "Remove it: hosts are assigned anew.")
    rows = zip(names, *columns, strict=True)
    return {
        name: HostOwner(str(sites[owner]), REASONS[reason], float(since))
        for name, owner, reason, since in rows
        if owner < len(sites) and reason < len(REASONS)
    }
