"""Debian's documentation packages: downloaded by name and unpacked into a cache outside of the project.

The packages are those of the generators in generator_table.py. Nothing is installed: `apt-get download` fetches a
package, and `dpkg-deb` unpacks it. DOCS_FOLDER names another folder instead, such as /usr/share/doc.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from generator_table import GENERATORS

__all__ = ["docs_folder", "fetch_packages"]


def docs_folder() -> Path:
    """Return the folder of documentation, with all packages that can be fetched."""
    if chosen := os.environ.get("DOCS_FOLDER"):
        return Path(chosen)
    names = dict.fromkeys(name for generator in GENERATORS for name in generator.packages)
    return fetch_packages(names)


def fetch_packages(names: Iterable[str]) -> Path:
    """Return the cache with a folder for each package; say which packages could not be fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "periplus" / "documentation"
    cache.mkdir(parents=True, exist_ok=True)
    absent = [name for name in names if not (cache / name).is_dir()]
    if absent and not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        print(f"no apt here: {len(absent)} documentation packages are left out (DOCS_FOLDER=... names a folder)")
        return cache
    failed = [name for name in absent if not _fetch(name, cache)]
    if failed:
        print(f"not available from apt, and left out: {', '.join(failed)}")
    return cache


def _fetch(name: str, cache: Path) -> bool:
    """Download and unpack one package; return whether that succeeded."""
    print(f"fetching {name}", flush=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        subprocess.run(["apt-get", "download", name], cwd=folder, capture_output=True, check=False)
        archive = next(Path(folder).glob("*.deb"), None)
        if archive is None:
            return False
        unpacked = Path(folder) / "unpacked"
        done = subprocess.run(["dpkg-deb", "-x", archive, unpacked], capture_output=True, check=False)
        if done.returncode == 0:
            unpacked.rename(cache / name)
        return done.returncode == 0
